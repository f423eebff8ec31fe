// Lowers one function of nn, fsdp and step.call on tensors to a step.program:
// every tensor becomes a view of a buffer, every op at most a few entries.
#ifndef SHARDC_CODEGEN_LOWER_PROGRAMLOWERING_H
#define SHARDC_CODEGEN_LOWER_PROGRAMLOWERING_H

#include "codegen/lower/PlanBuilder.h"

namespace shardc {

class ProgramLowering {
public:
  ProgramLowering(PlanBuilder &plan, mlir::func::FuncOp function);
  mlir::LogicalResult run();

private:
  using View = step::View;

  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerView(mlir::Operation *op);
  mlir::LogicalResult lowerLibraryCall(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);

  // Library calls.
  void linear(nn::LinearOp op);
  void linearWeightGrad(nn::LinearWeightGradOp op);
  void matmul(nn::MatMulOp op);
  void attention(nn::AttentionOp op);
  void attentionGrad(nn::AttentionGradOp op);
  void crossEntropy(nn::CrossEntropyOp op);
  void crossEntropyGrad(nn::CrossEntropyGradOp op);
  template <typename OpTy> void linearCrossEntropy(OpTy op);
  void embeddingGrad(nn::EmbeddingGradOp op);
  void concat(nn::ConcatOp op);
  void pad(nn::PadOp op);
  void indexCall(mlir::Operation *op, llvm::StringRef function,
                 llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers);
  void launch(step::CallOp op);
  /// c = op(a) op(b) (+ bias), with the scratch memory that their type asks
  /// for.
  void gemm(const View &a, bool transposeA, const View &b, bool transposeB,
            const std::optional<View> &bias, const View &c);

  // Collectives.
  mlir::LogicalResult resident(fsdp::ResidentOp op);
  mlir::LogicalResult allGatherStart(fsdp::AllGatherStartOp op);
  mlir::LogicalResult allGatherWait(fsdp::AllGatherWaitOp op);
  mlir::LogicalResult keep(fsdp::KeepOp op);
  void reduceScatterStart(fsdp::ReduceScatterStartOp op);
  void allReduceGradientsStart(fsdp::AllReduceGradientsStartOp op);
  void accumulate(fsdp::AccumulateOp op);
  void allReduceStart(fsdp::AllReduceStartOp op);
  void gradientNorm(fsdp::GradientNormOp op);
  void optimizerStep(fsdp::OptimizerStepOp op);

  /// Gives every gradient its place in the unit's flat gradient buffer, before
  /// anything is lowered: its producer then writes there.
  mlir::LogicalResult placeGradients();
  mlir::LogicalResult placeGradients(fsdp::FlatGradientsOp op);
  /// Where a value that `op` changes in place is written: where its result is.
  void placeBase(nn::EmbeddingGradOp op);
  /// Copies the gradients that are not in their place yet, and zeroes what no
  /// gradient covers. Returns the flat buffer.
  mlir::Value completeGradients(fsdp::FlatGradientsOp op);

  // Views.
  View view(mlir::Value tensor) { return views.lookup(tensor); }
  void set(mlir::Value tensor, const View &view) { views[tensor] = view; }
  /// Where the producer of `result` writes it: its place in a gradient buffer,
  /// or a new buffer.
  View allocate(mlir::OpResult result);
  View allocate(const View &like, llvm::StringRef name);
  mlir::Value newBuffer(step::Kind kind, int64_t bytes, llvm::StringRef name);
  View newWorkspace(int64_t bytes);
  /// The tensor in row-major contiguous form; copied at most once per phase.
  View contiguous(mlir::Value tensor);
  View copied(const View &source);
  /// The value in memory that may be written over.
  View changeable(mlir::Value value);
  /// Heads [B, S, H, D] as attention's products read them: a last dim of
  /// stride 1, and positions at least a row apart.
  View heads(mlir::Value tensor);
  /// The tensor as a (batched) matrix for gemm; `transposed` flips where the
  /// memory holds the transpose.
  View matrix(mlir::Value tensor, llvm::ArrayRef<int64_t> shape,
              bool &transposed);
  /// The memref of a view.
  mlir::Value ref(const View &view);
  mlir::Value ref(std::optional<View> view);

  template <typename OpTy, typename... Args> OpTy emit(Args &&...args) {
    return OpTy::create(builder, location, std::forward<Args>(args)...);
  }
  mlir::Type tokenType() { return step::TokenType::get(builder.getContext()); }
  /// Notes unit, phase and cost on the entries that `op` became.
  void annotate(mlir::Operation *op, mlir::Operation *before);
  llvm::StringRef unitOf(mlir::Operation *op);
  void findPhases();

  PlanBuilder &plan;
  mlir::func::FuncOp function;
  step::ProgramOp program;
  mlir::OpBuilder builder;
  mlir::Location location;

  llvm::DenseMap<mlir::Value, View> views;
  /// Where a value shall be written.
  llvm::DenseMap<mlir::Value, View> places;
  llvm::DenseMap<mlir::Value, View> copies;
  struct Collective {
    mlir::Value token;
    mlir::Value buffer; // gathered, shard or flat
    llvm::StringRef unit;
    llvm::SmallVector<View> values;
  };
  llvm::DenseMap<mlir::Value, Collective> collectives;
  llvm::DenseMap<mlir::Operation *, mlir::Value> flatGradients;

  /// The forward phase ends behind this op.
  mlir::Operation *lastForward = nullptr;
  llvm::StringRef phase = "forward";
  llvm::StringRef currentUnit;
};

} // namespace shardc

#endif
