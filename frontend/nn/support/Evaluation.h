// Plain evaluation on host tensors: what the ops' reference evaluations and
// folders share.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_EVALUATION_H
#define SHARDC_FRONTEND_NN_SUPPORT_EVALUATION_H

#include "frontend/nn/HostTensor.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace shardc::nn {

/// Whether a folded operand is a constant with `value` everywhere; null
/// attributes are not.
bool isSplatOf(mlir::Attribute attribute, double value);

/// Folds an op that moves or converts the elements of one constant; null where
/// the constant is neither a splat nor small. Large constants stay where they
/// are: a second copy of one is worth more than an op.
mlir::Attribute
foldMove(mlir::Attribute input, mlir::Value result,
         llvm::function_ref<HostTensor(const HostTensor &)> move);

/// Conversion of element type: floats to integers truncate towards zero
/// (saturating, NaN to 0), to i1 is x != 0.
HostTensor castTo(const HostTensor &input, mlir::Type elementType);

/// Elementwise evaluation of each distinct element once: the result is
/// broadcast along dims along which no operand varies, and shares the elements
/// of diagonals that the operands share. All operands have the result's shape.
HostTensor
mapFloats(mlir::RankedTensorType type, llvm::ArrayRef<HostTensor> operands,
          llvm::function_ref<double(llvm::ArrayRef<double>)> function);
HostTensor
mapInts(mlir::RankedTensorType type, llvm::ArrayRef<HostTensor> operands,
        llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> function);
/// From float operands to integers or booleans.
HostTensor
mapFloatsToInts(mlir::RankedTensorType type,
                llvm::ArrayRef<HostTensor> operands,
                llvm::function_ref<int64_t(llvm::ArrayRef<double>)> function);

/// Elementwise evaluation of an op on floats or integers.
llvm::LogicalResult
evaluateNumbers(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                llvm::SmallVectorImpl<HostTensor> &results,
                llvm::function_ref<double(llvm::ArrayRef<double>)> onFloats,
                llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> onInts);

/// Elements that these evaluations write: dims along which no operand varies
/// count once, and two dims of which only the difference or the sum of the
/// indices matters as one diagonal.
int64_t distinctElements(llvm::ArrayRef<HostTensor> operands);

/// For a sum, a difference or a comparison whose operands are both arithmetic
/// progressions of the indices: replaces them by their sum or difference, held
/// in as few elements as it has values, and 0. The result is the same. A causal
/// mask compares positions of keys with positions of queries: as key - query
/// against 0 it needs no S x S elements.
void combineProgressions(mlir::Operation *op,
                         llvm::SmallVectorImpl<HostTensor> &operands);

} // namespace shardc::nn

#endif
