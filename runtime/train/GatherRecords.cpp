// The longest record says how many bytes each rank sends.
#include "runtime/train/GatherRecords.h"

namespace shardc::runtime {

std::vector<RankRecord> gatherRecords(Rank &rank, const Traffic &traffic) {
  RankRecord own;
  own.rank = rank.rank();
  own.train = rank.trainProfile();
  own.events = rank.events();
  own.poolBytes = rank.allocatedBytes();
  Communicator &communicator = rank.communicator();
  HostRanks *host = communicator.hostRanks();
  LocalMembers here = host ? host->localMembers() : LocalMembers{own.rank, 1};
  if (here.first == own.rank) {
    own.ranksOfProcess = here.count;
    own.memory = ProcessMemory::now();
    own.traffic = traffic;
  }
  std::vector<std::byte> bytes = own.encode();
  int64_t longest = static_cast<int64_t>(bytes.size());
  Segment segment{&longest, 1, plan::INT64, Combine::Max};
  communicator.allReduce({&segment, 1});
  bytes.resize(longest);
  std::vector<std::byte> all(longest * rank.ranks());
  communicator.finish(
      communicator.startAllGather(bytes.data(), all.data(), longest));

  std::vector<RankRecord> records;
  for (int i = 0; i < rank.ranks(); ++i)
    records.push_back(RankRecord::decode(
        std::span<const std::byte>(all).subspan(i * longest, longest)));
  return records;
}

} // namespace shardc::runtime
