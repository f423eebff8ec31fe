// From a planned step to runtime/plan.proto, byte for byte the same for the
// same input.
#ifndef SHARDC_CODEGEN_EMIT_EMITPLAN_H
#define SHARDC_CODEGEN_EMIT_EMITPLAN_H

#include "runtime/plan.pb.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc {

/// Where an initializer's stored values lie, as the frontend found them.
struct StoredValues {
  std::string file; // relative to the model's folder; empty: the model itself
  int64_t offset = 0, length = 0; // bytes
  mlir::Type type;                // of an element, as stored
  bool transposed = false;
};

/// An initializer of the graph that --export-onnx writes.
struct ExportedInitializer {
  std::string name;
  std::string parameter; // symbol of the nn.parameter whose values it takes;
                         // empty: copied from `source`
  bool transposed = false;
  StoredValues source;
  std::vector<int64_t> dims;
  int32_t onnxType = 0; // TensorProto.DataType
};

/// Bytes of a file that go into the trainer's weights section, at a multiple of
/// `weightAlignment` of it.
struct EmbeddedRange {
  std::string file; // as StoredValues::file
  int64_t offset = 0, length = 0;
  int64_t sectionOffset = 0;
};
constexpr int64_t weightAlignment = 64;

struct EmitOptions {
  std::string compiler; // "shardc 0.1.0"
  std::string model;    // path of the ONNX file
  uint64_t modelHash = 0;
  /// Where a run's initial values come from by default: file or random.
  std::string init = "file";
  /// Parameters' values are shipped inside the trainer; those of buffers that no
  /// `init` draws are anyway where it is random.
  bool embedWeights = false;
  std::vector<ExportedInitializer> exported;
  /// What the trainer's weights section holds already, for another target; the
  /// plan's own ranges begin with these.
  std::vector<EmbeddedRange> embedded;
};

struct EmittedPlan {
  plan::Plan plan;
  std::vector<EmbeddedRange> weights; // in order of sectionOffset

  /// The plan's bytes, map fields in order of their keys.
  std::string serialize() const;
};

/// Writes out the step.plan of `module` (after step-plan-memory), its
/// nn.parameter, fsdp.mesh and fsdp.unit symbols, its nn.loss, and its kernels
/// in the order of the functions in @kernels. The target's part is left to who
/// compiles them. Fails on types that the plan cannot name.
llvm::Expected<EmittedPlan> emitPlan(mlir::ModuleOp module,
                                     const EmitOptions &options);

} // namespace shardc

#endif
