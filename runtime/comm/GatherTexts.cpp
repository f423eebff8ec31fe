// The longest text says how many bytes each rank sends.
#include "runtime/comm/GatherTexts.h"

#include <algorithm>

namespace shardc::runtime {

std::vector<std::string> gatherTexts(Communicator &communicator,
                                     std::string_view own) {
  std::vector<int64_t> lengths(communicator.size());
  lengths[communicator.rank()] = int64_t(own.size());
  Segment segment{lengths.data(), int64_t(lengths.size()), plan::INT64};
  communicator.allReduce({&segment, 1});
  int64_t longest = *std::ranges::max_element(lengths);
  std::vector<std::string> texts(lengths.size());
  if (longest == 0)
    return texts;
  std::string padded(own);
  padded.resize(longest);
  std::string all(longest * lengths.size(), '\0');
  communicator.finish(
      communicator.startAllGather(padded.data(), all.data(), longest));
  for (size_t rank = 0; rank < texts.size(); ++rank)
    texts[rank] = all.substr(rank * longest, lengths[rank]);
  return texts;
}

} // namespace shardc::runtime
