// What a compilation resolved: how the mesh shards the model, and what a step
// communicates, holds and computes. As text for people, as JSON for programs.
#ifndef SHARDC_PASSES_REPORT_REPORT_H
#define SHARDC_PASSES_REPORT_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

/// Sizes are in bytes and per rank unless said otherwise.
struct CompileReport {
  struct Dim {
    std::string name; // replicate, shard
    int64_t size = 1;
  };
  struct Unit {
    std::string name;
    std::vector<std::string>
        parameters;       // names, in the order of the flat buffer
    int64_t elements = 0; // of the flat buffer, padding included
    int64_t padding = 0;
    int64_t bytes =
        0; // of the flat buffer: what a rank holds while it is gathered
    std::string dtype, gradientDtype, masterDtype;
    bool trained = true, splitsMaster = false;
    bool stays = false; // gathered over all micro-batches
    int64_t reshard =
        1; // ranks over which it lies between forward and backward
    std::string reason;
    // What a rank keeps between steps, and of the reduced gradient. `master` is
    // 0 where the parameters are the masters.
    int64_t parameterBytes = 0, masterBytes = 0, optimizerBytes = 0,
            gradientBytes = 0;
  };
  struct Collective {
    std::string kind;  // all_gather, reduce_scatter, all_reduce
    std::string phase; // forward, backward, optimizer
    std::string unit;  // empty: of no unit (loss and norm)
    std::string dtype; // float32, float64, ...
    int64_t bytes = 0; // of the gathered buffer, or of what is reduced
    std::string group; // world, shard, replicate, reshard.N
    int64_t groupSize = 1;
    bool last = false;  // in the last micro-batch of a step only
    bool first = false; // in the first only
  };
  struct Kind {
    std::string name;
    int64_t bytes = 0; // most that is alive at once
  };
  struct Pool {
    std::string name;
    int64_t bytes = 0;
    std::vector<Kind> kinds; // of buffers in it
  };
  /// What nn-remat decided.
  struct Remat {
    std::string policy;
    int64_t readBytes = 0; // of forward's values that backward reads
    int64_t keptBytes = 0; // alive between the two
    int64_t recomputedBytes = 0, recomputedFlops = 0;
    // Estimated by the cluster's rates: of that, beside the step's arithmetic.
    double recomputedSeconds = 0, stepSeconds = 0;
    int64_t regatheredUnits = 0; // that backward gathers for that alone
  };
  struct Memory {
    std::vector<Pool> pools;
    std::optional<Remat> remat;
    int64_t peakBytes = 0;
    int64_t liveBoundBytes = 0; // most bytes alive at once: no plan needs less
    int64_t accumulationBytes = 0; // besides, with several micro-batches a step
  };

  /// A training step as its cost model plays it.
  struct Timeline {
    struct Wait {
      std::string what; // all_gather backward layers.3
      int64_t count = 0;
      double seconds = 0;
    };
    std::string cluster;
    double seconds = 0;        // of the step
    double exposedSeconds = 0; // of that, waiting for collectives
    std::vector<Wait> waits;   // the longest first
  };

  std::vector<Dim> mesh; // its dimensions, outermost first
  std::string strategy;
  int64_t ranks = 1;
  int64_t shards = 1;          // slices of parameters
  int64_t optimizerShards = 1; // slices of master weights and optimizer state
  std::vector<int64_t> shardDims, optimizerDims;
  std::string accumulate; // sharded, unsharded
  std::string update;     // step, backward: see fsdp-shard
  std::vector<Unit> units;
  std::vector<Collective> collectives; // of one training step, in order

  /// As nn-attach-loss says it.
  struct Loss {
    std::string kind;      // cross_entropy, mse, output
    std::string reduction; // mean, sum
    std::string labels;    // input; empty: none
    bool isWeighted;       // by class
  };
  std::optional<Loss> loss;

  // Known once code is generated; filled by the driver.
  std::optional<Memory> memory;
  std::optional<Timeline> timeline;
  std::optional<double> flopsPerStep; // of one rank
  std::optional<int64_t> kernels;
  std::optional<double> compileSeconds;

  /// "2x8": its sizes, outermost first.
  std::string meshText() const;
};

/// Fills all but what is optional from a module in the phase `shard`.
void collectSharding(mlir::ModuleOp module, CompileReport &report);

/// What the strategy means on this mesh, in words.
std::string meaningOf(const CompileReport &report);

/// Prints the report as text.
void printReport(llvm::raw_ostream &os, const CompileReport &report);

/// Returns the contents of --report=FILE.json. `mesh` is the text of the flag ("2x8");
/// a collective of no unit has unit null; what is not known is left out.
llvm::json::Value toJson(const CompileReport &report);

} // namespace shardc

#endif
