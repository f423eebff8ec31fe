// The phases of a compilation, and the passes of each.
#ifndef SHARDC_TOOLS_SHARDC_PHASES_H
#define SHARDC_TOOLS_SHARDC_PHASES_H

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
class OpPassManager;
template <typename OpTy> class OwningOpRef;
} // namespace mlir
namespace shardc {

struct Options;
namespace onnx {
struct ImportOptions;
struct ImportedModel;
} // namespace onnx

/// In order. Import and Trainer have no passes; passes/Pipelines.h and
/// codegen/Pipelines.h have those of the others, under the names that
/// shardc-opt knows: --phase-raise and so on.
enum class Phase { Import, Raise, Train, Shard, Kernels, Plan, Trainer };

struct PhaseInfo {
  const char *name;
  /// What the IR is after it.
  const char *summary;
};
constexpr PhaseInfo phases[] = {
    {"import", "the model as nn ops, with its parameters"},
    {"raise", "ops that say what they mean; loss, units and precision"},
    {"train", "forward and backward"},
    {"shard", "units and collectives on the mesh"},
    {"kernels", "generated code in functions of @kernels"},
    {"plan", "entries on planned memory"},
    {"trainer", "the executable"}};
constexpr const PhaseInfo &infoOf(Phase phase) { return phases[int(phase)]; }

/// How the model is imported, with what the loss and --output-values need of it.
onnx::ImportOptions importOptions(const Options &options);
/// Imports `model` with batches so many times as large, that is the dims that
/// inputs begin with. Null where the file says how large those are, and after an
/// error, which has been emitted; warnings were said of the model itself.
mlir::OwningOpRef<mlir::ModuleOp> importLarger(mlir::MLIRContext *context,
                                               const Options &options,
                                               const onnx::ImportedModel &model,
                                               int64_t times);

/// What a pipeline takes besides the command line.
struct PhaseSettings {
  std::string cluster, target, prefetch;
  long workers = 1;
  /// Elements of flat buffers.
  int64_t flatAlignment = 1;
  bool mergesProducts = false;
};

/// Adds a phase's passes.
void buildPhase(mlir::OpPassManager &passes, Phase phase,
                const Options &options, const PhaseSettings &settings);

/// The names of all passes, in order, each once.
std::vector<std::string> passNames(const Options &options);

} // namespace shardc

#endif
