// A planned step as plain data: what runs when, and which bytes are whose in
// between. What explains a plan reads this, and no IR.
#ifndef SHARDC_CODEGEN_RECORD_STEPRECORD_H
#define SHARDC_CODEGEN_RECORD_STEPRECORD_H

#include "passes/analyses/CostModel.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::record {

/// An entry of the program train, in its place.
struct Entry {
  std::string name; // as the plan has it: "layers.0/gemm.1"
  std::string kind, phase, unit;
  std::vector<std::string> nodes; // of ONNX
  double begin = 0, end = 0;      // seconds since the step began
};

struct Collective {
  std::string what; // "all_gather backward layers.3"
  std::string kind, phase, unit, group, stream;
  int64_t start = 0;         // its entry
  int64_t wait = -1;         // of the entry that waits for it; -1: none
  double begin = 0, end = 0; // seconds: while its stream has it
  double waited = 0;         // seconds that compute stood still for it, at both
};

/// Bytes of a pool. What outlives a step is alive from its first entry to its
/// last.
struct Buffer {
  std::string name, kind, pool;
  std::string unit;            // whose it is; empty: of none
  int64_t offset = 0;          // into the pool
  int64_t bytes = 0;           // as placed, alignment included
  int64_t first = 0, last = 0; // entries
  bool outlivesStep = false;
  /// Entries that write and that read it, ascending.
  std::vector<int64_t> writers, readers;

  bool isAlive(int64_t entry) const { return first <= entry && entry <= last; }
};

struct StepRecord {
  std::vector<Entry> entries;
  std::vector<Collective> collectives;
  std::vector<Buffer> buffers; // those that outlive the step first
  double seconds = 0;

  /// Bytes that are alive while each entry runs. What lies in the pool
  /// accumulation is left out: a step of one micro-batch does without.
  std::vector<int64_t> aliveBytes() const;
  /// The entry at which most bytes are alive, the first of several.
  int64_t peakEntry() const;
};

/// Of a module behind step-plan-memory. Times are those of `costs`
/// (codegen/timeline/ReadProgram.h).
StepRecord recordStep(mlir::ModuleOp module, const CostModel &costs);

} // namespace shardc::record

#endif
