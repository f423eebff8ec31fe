// Entries that communicate, or copy between host and device, as a device gets
// them: begun under an id, and waited for by it. Entries.h has the others.
#ifndef SHARDC_RUNTIME_DEVICE_COLLECTIVEENTRIES_H
#define SHARDC_RUNTIME_DEVICE_COLLECTIVEENTRIES_H

#include "runtime/base/Tensor.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Access.h"

#include <vector>

namespace shardc::runtime::entry {

// An id is free again behind its wait, and for what is finished apart behind
// that. A collective has its operands from its start until it has ended.

struct StartAllGather {
  uint32_t id;
  Communicator *group;
  Tensor shard, gathered;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.shard, Access::Read, "shard");
    visit(self.gathered, Access::Write, "gathered");
  }
};
// An accumulator holds what earlier micro-batches of the step added up, not
// rounded; where there is one, the result is there in the last.

struct StartReduceScatter {
  uint32_t id;
  Communicator *group;
  Tensor flat, shard;
  Tensor accumulator; // of the shard's elements, in the type of its sum
  Tensor workspace;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.flat, Access::Read, "flat");
    visit(self.shard, self.accumulator ? Access::MayWrite : Access::Write,
          "shard");
    visit(self.accumulator, Access::MayWrite, "accumulator");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};
struct StartAllReduce {
  uint32_t id;
  Communicator *group;
  std::vector<Tensor> values;
  std::vector<bool> norms;               // combined as the run's norm asks for
  std::vector<Tensor> accumulators = {}; // none, or one for each value
  Tensor workspace = {};

  static void visitOperands(auto &self, const auto &visit) {
    for (auto &value : self.values)
      visit(value, Access::Update, "value");
    for (auto &accumulator : self.accumulators)
      visit(accumulator, Access::MayWrite, "accumulator");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};
/// Elements of a tensor that go to a rank of the group, or come from it.
struct Route {
  int peer;
  size_t tensor; // of the entry's sources, or destinations
  int64_t begin, elements;
};
struct StartAllToAll {
  uint32_t id;
  Communicator *group;
  std::vector<Tensor> sources, destinations; // contiguous
  std::vector<Route> sends, receives;        // see Communicator

  static void visitOperands(auto &self, const auto &visit) {
    for (auto &source : self.sources)
      visit(source, Access::Read, "source");
    for (auto &destination : self.destinations)
      visit(destination, Access::MayWrite, "destination");
  }
};
/// All ranks of the group have come here, when it is waited for.
struct StartBarrier {
  uint32_t id;
  Communicator *group;

  static void visitOperands(auto &, const auto &) {}
};
/// The results are there; with `finishes`, no other rank reads this one's
/// buffers any more.
struct Wait {
  uint32_t id;
  bool finishes;

  static void visitOperands(auto &, const auto &) {}
};
/// The same of collectives that were waited for without it: those of `ids`
/// that are open.
struct Finish {
  std::vector<uint32_t> ids;

  static void visitOperands(auto &, const auto &) {}
};

/// Between the pool host and the device's memory, under an id as collectives.
struct StartTransfer {
  uint32_t id;
  Tensor source, destination; // contiguous, of one type

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.source, Access::Read, "source");
    visit(self.destination, Access::Write, "destination");
  }
};
struct AwaitTransfer {
  uint32_t id;

  static void visitOperands(auto &, const auto &) {}
};

} // namespace shardc::runtime::entry

#endif
