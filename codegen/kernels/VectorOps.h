// Scalar ops of linalg bodies as ops on vectors of a few elements. A target
// overrides what it does in its own way.
//
// 16-bit floats (half precision) are held as i16 between ops, and rounded once
// where a body rounds: no target computes in them, or keeps excess precision
// between ops.
#ifndef SHARDC_CODEGEN_KERNELS_VECTOROPS_H
#define SHARDC_CODEGEN_KERNELS_VECTOROPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::kernels {

/// Whether `element` is bfloat16 or float16.
bool isHalfFloat(mlir::Type element);
/// The type that emitted code holds elements in: i16 for the 16-bit floats,
/// integers of no sign for unsigned ones, else `element` itself.
mlir::Type heldType(mlir::Type element);
/// A constant of such a type.
mlir::TypedAttr heldConstant(mlir::TypedAttr constant);

/// The form of emitted vectors.
struct VectorShape {
  /// The number of elements of a vector; 1 makes everything scalar.
  int64_t lanes = 1;
  /// The number of bits of a position in a tensor.
  unsigned indexBits = 64;
  /// Vectors begin at lanes that are multiples of `lanes`, and arguments at
  /// multiples of 16 bytes.
  bool aligned = false;
  /// Whether x * y + z may be rounded once.
  bool fusesMultiplyAdd = false;
};

class VectorOps {
public:
  VectorOps(mlir::OpBuilder &builder, const VectorShape &shape)
      : builder(builder), shape(shape) {}
  virtual ~VectorOps() = default;

  int64_t lanes() const { return shape.lanes; }
  bool aligned() const { return shape.aligned; }
  /// The number of lanes at whose multiples vectors begin.
  int64_t alignedLanes() const { return shape.aligned ? shape.lanes : 1; }
  bool fusesMultiplyAdd() const { return shape.fusesMultiplyAdd; }

  /// The type of a vector of elements as they are held (heldType); a scalar
  /// type where there is one lane.
  mlir::Type vectorType(mlir::Type element) const;
  bool isVector(mlir::Value value) const {
    return mlir::isa<mlir::VectorType>(value.getType());
  }
  /// Copies a scalar into every lane; leaves a vector as it is.
  mlir::Value broadcast(mlir::Location loc, mlir::Value value);
  /// The integer type of positions.
  mlir::Type indexType() const {
    return builder.getIntegerType(shape.indexBits);
  }
  /// Emit 0, 1, 2, ... of that type, and one number.
  mlir::Value laneNumbers(mlir::Location loc);
  mlir::Value constant(mlir::Location loc, int64_t value);

  /// Emits an arith or math op on new operands, on vectors where one of them
  /// is. Returns null where the op is not known.
  mlir::Value clone(mlir::Operation *op, mlir::ValueRange operands);
  /// Emits x * y + z, rounded once.
  mlir::Value multiplyAdd(mlir::Location loc, mlir::Value x, mlir::Value y,
                          mlir::Value z);

protected:
  /// Converts `bits` (i16) of the type `from` to `to`, float32 or float64,
  /// exactly.
  virtual mlir::Value widen(mlir::Location loc, mlir::Value bits,
                            mlir::Type from, mlir::Type to) = 0;
  /// Rounds a float32 or float64 once to `to`, held as i16.
  virtual mlir::Value round(mlir::Location loc, mlir::Value value,
                            mlir::Type to) = 0;
  /// Emits an op that the target does in its own way; null stands for the op
  /// itself, on vectors. `operands` are all scalars or all vectors.
  virtual mlir::Value cloneSpecial(mlir::Operation *op,
                                   mlir::ValueRange operands) = 0;

  mlir::OpBuilder &builder;
  VectorShape shape;
};

} // namespace shardc::kernels

#endif
