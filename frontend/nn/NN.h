// The nn dialect: includes everything that a user of its ops needs.
#ifndef SHARDC_FRONTEND_NN_NN_H
#define SHARDC_FRONTEND_NN_NN_H

#include "frontend/nn/Attributes.h"
#include "frontend/nn/HostTensor.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cstdint>
#include <optional>

namespace shardc {
class EntryBuilder; // codegen/lower/EntryBuilder.h
} // namespace shardc

namespace shardc::nn {

/// What integers that are positions may be, both included.
struct PositionRange {
  int64_t min, max;
};

/// Which type an operand of floats has, where an op may have several.
enum class OperandType {
  Computed,          // the one that the op computes in
  ComputedOrFloat32, // that, or the float32 that it is made in
  Float32,
  Any, // the one that it is made in
};

/// Traits of ops whose float types may differ; NN.td says what they promise.
template <typename ConcreteOp>
class MixedTypes : public mlir::OpTrait::TraitBase<ConcreteOp, MixedTypes> {};
template <typename ConcreteOp>
class WideResult : public mlir::OpTrait::TraitBase<ConcreteOp, WideResult> {};
template <typename ConcreteOp>
class HasLibraryCall
    : public mlir::OpTrait::TraitBase<ConcreteOp, HasLibraryCall> {};
template <typename ConcreteOp>
class IsMove : public mlir::OpTrait::TraitBase<ConcreteOp, IsMove> {};
template <typename ConcreteOp>
class IsView : public mlir::OpTrait::TraitBase<ConcreteOp, IsView> {};
template <typename ConcreteOp>
class IsNorm : public mlir::OpTrait::TraitBase<ConcreteOp, IsNorm> {};
template <typename ConcreteOp>
class IsSoftmax : public mlir::OpTrait::TraitBase<ConcreteOp, IsSoftmax> {};
template <typename ConcreteOp>
class IsActivation : public mlir::OpTrait::TraitBase<ConcreteOp, IsActivation> {
};
template <typename ConcreteOp>
class IsReduction : public mlir::OpTrait::TraitBase<ConcreteOp, IsReduction> {};
template <typename ConcreteOp>
class IsLoss : public mlir::OpTrait::TraitBase<ConcreteOp, IsLoss> {};
template <typename ConcreteOp>
class IsProduct : public mlir::OpTrait::TraitBase<ConcreteOp, IsProduct> {};
template <typename ConcreteOp>
class IsGradientRule
    : public mlir::OpTrait::TraitBase<ConcreteOp, IsGradientRule> {};

} // namespace shardc::nn

#include "frontend/nn/NNDialect.h.inc"
#include "frontend/nn/NNEnums.h.inc"
#include "frontend/nn/NNInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "frontend/nn/NNAttributes.h.inc"
#define GET_OP_CLASSES
#include "frontend/nn/NNOps.h.inc"

#endif
