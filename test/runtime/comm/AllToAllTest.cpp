// All-to-alls: every rank sends every other some parcels, of sizes that depend
// on both, and itself.
#include "runtime/base/Error.h"
#include "test/runtime/comm/CommSuite.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// The bytes of parcel k from one rank to another: none, few, or many.
int64_t bytesOf(int from, int to, int k) {
  return (from * 7 + to * 3 + k) % 5 == 0 ? 0
         : (from + to + k) % 4 == 0       ? 70001 + from
                                          : 1 + from * 11 + to * 5 + k;
}
std::byte byteOf(int from, int to, int k, int64_t i) {
  return std::byte(from * 101 + to * 31 + k * 17 + i * 7);
}
int parcelsOf(int from, int to) { return (from + 2 * to) % 3; }

class AllToAll : public testing::TestWithParam<CommSetting> {};

INSTANTIATE_TEST_SUITE_P(All, AllToAll, testing::ValuesIn(commSettings()),
                         [](const auto &info) { return info.param.name(); });

TEST_P(AllToAll, BringsEveryParcelToItsPlace) {
  GroupShape shape = GetParam().shape;
  GetParam().implementation.run(shape.ranks, [&](Communicator &world) {
    Communicator &group = world.group(shape.stride, shape.size);
    int own = group.rank();
    std::vector<std::vector<std::byte>> sent, got;
    std::vector<Parcel> sends, receives;
    // Of several peers at once: the last rank first.
    for (int peer = group.size(); peer-- > 0;)
      for (int k = 0; k < parcelsOf(own, peer); ++k) {
        std::vector<std::byte> &data = sent.emplace_back(bytesOf(own, peer, k));
        for (size_t i = 0; i < data.size(); ++i)
          data[i] = byteOf(own, peer, k, int64_t(i));
        sends.push_back({peer, data.data(), std::ssize(data)});
      }
    for (int peer = 0; peer < group.size(); ++peer)
      for (int k = 0; k < parcelsOf(peer, own); ++k) {
        std::vector<std::byte> &data = got.emplace_back(bytesOf(peer, own, k));
        receives.push_back({peer, data.data(), std::ssize(data)});
      }
    // Several are on their way at once, and other collectives with them.
    Communicator::Ticket first = group.startAllToAll(sends, receives);
    Communicator::Ticket barrier = group.startBarrier();
    group.wait(first);
    size_t at = 0;
    for (int peer = 0; peer < group.size(); ++peer)
      for (int k = 0; k < parcelsOf(peer, own); ++k, ++at)
        for (size_t i = 0; i < got[at].size(); ++i)
          if (got[at][i] != byteOf(peer, own, k, int64_t(i)))
            fail("byte ", i, " of parcel ", k, " from ", peer, " to ", own,
                 " is wrong");
    group.finish(barrier);
    group.finish(first);
  });
}

TEST(AllToAllMismatch, RefusesWhatDoesNotMatch) {
  for (const Implementation &each : implementations()) {
    if (!isOneProcess(each) || each.mostRanks < 2)
      continue;
    std::string error;
    try {
      each.run(2, [&](Communicator &world) {
        std::byte sent[8] = {}, got[8];
        int other = 1 - world.rank();
        Parcel send{other, sent, 8}, receive{other, got, world.rank() ? 8 : 4};
        world.finish(world.startAllToAll({&send, 1}, {&receive, 1}));
      });
    } catch (const Error &caught) {
      error = caught.what();
    }
    EXPECT_NE(error, "") << each.name;
  }
}

} // namespace
