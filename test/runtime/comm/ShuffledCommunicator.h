// A communicator that adds in an order of its own, which changes from call to
// call, and whose ranks have no memory in common: what SumOrder::Any and a null
// hostRanks() allow. Made of another's all-gathers.
#ifndef SHARDC_TEST_RUNTIME_COMM_SHUFFLEDCOMMUNICATOR_H
#define SHARDC_TEST_RUNTIME_COMM_SHUFFLEDCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// Collective `n` of a group adds from rank n % size downwards, and round.
class ShuffledCommunicator final : public Communicator {
public:
  /// `ranks` outlives it.
  explicit ShuffledCommunicator(Communicator &ranks) : ranks(ranks) {}
  ~ShuffledCommunicator() override { leave(); }

  int rank() const override { return ranks.rank(); }
  int size() const override { return ranks.size(); }
  SumOrder sumOrder() const override { return SumOrder::Any; }
  Communicator &group(int64_t stride, int64_t size) override;
  Ticket startAllGather(const void *shard, void *gathered,
                        int64_t bytes) override;
  Ticket startReduceScatter(const void *flat, void *shard, int64_t count,
                            plan::DType dtype, RunningSum running,
                            ResultReader *reader) override;
  Ticket startAllReduce(std::span<const Segment> segments) override;
  /// Nothing is added: as the ranks have it.
  Ticket startAllToAll(std::span<const Parcel> sends,
                       std::span<const Parcel> receives) override {
    return ranks.startAllToAll(sends, receives);
  }
  void wait(Ticket ticket) override;
  void finish(Ticket ticket) override;
  void barrier() override { ranks.barrier(); }
  void abort(const std::string &reason) override { ranks.abort(reason); }
  void throwIfAborted() override { ranks.throwIfAborted(); }
  void leave() override { ranks.leave(); }

private:
  /// A reduction on its way: what each rank brings is a word that says what is
  /// reduced, and its elements one after the other.
  struct Reduction {
    std::vector<std::byte> own, all;
    /// Where results go, and from which byte of what a rank brings on.
    struct Result {
      Segment segment;
      size_t from;
      ResultReader *reader = nullptr;
    };
    std::vector<Result> results;
    bool isDone = false;
  };
  /// `own` is what this rank brings.
  Ticket start(Reduction reduction);
  void combine(Ticket ticket, Reduction &reduction) const;

  Communicator &ranks;
  std::map<Ticket, std::unique_ptr<Reduction>> reductions; // not finished
  std::map<Communicator *, std::unique_ptr<ShuffledCommunicator>> groups;
};

/// As runRanksAsThreads.
void runShuffledRanks(int ranks,
                      const std::function<void(Communicator &)> &body);

} // namespace shardc::runtime

#endif
