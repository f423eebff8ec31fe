// A tensor on the host, for compile-time evaluation and as the tests' reference.
//
// Broadcast dims cost nothing: a dim may have stride 0, so a causal mask expanded over batch and heads, or an index
// grid built by Expand, holds one copy of its elements.
#ifndef SHARDC_FRONTEND_NN_HOSTTENSOR_H
#define SHARDC_FRONTEND_NN_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <variant>
#include <vector>

namespace shardc::nn {

/// Values of a ranked tensor: floats as double, integers and booleans as int64_t. Copies share storage; storage is
/// immutable once shared.
class HostTensor {
public:
  using Floats = std::vector<double>;
  using Ints = std::vector<int64_t>;

  HostTensor() = default;
  /// Dense, row-major values of `type`.
  static HostTensor floats(mlir::RankedTensorType type, Floats values);
  static HostTensor ints(mlir::RankedTensorType type, Ints values);
  static HostTensor splat(mlir::RankedTensorType type, double value);
  /// From an attribute of an nn.constant.
  static HostTensor fromAttribute(mlir::ElementsAttr attribute);

  mlir::RankedTensorType type() const { return tensorType; }
  llvm::ArrayRef<int64_t> shape() const { return tensorType.getShape(); }
  int64_t elements() const { return tensorType.getNumElements(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(tensorType.getElementType()); }
  explicit operator bool() const { return static_cast<bool>(tensorType); }

  /// Element at a multi-dimensional index.
  double floatAt(llvm::ArrayRef<int64_t> index) const;
  int64_t intAt(llvm::ArrayRef<int64_t> index) const;
  /// Element at a row-major position.
  double floatAt(int64_t linear) const;
  int64_t intAt(int64_t linear) const;

  /// Strides in elements; 0 for a broadcast dim.
  llvm::ArrayRef<int64_t> strides() const { return elementStrides; }
  /// Whether the values do not change along `dim`.
  bool isBroadcastAlong(int64_t dim) const { return elementStrides[dim] == 0 || shape()[dim] == 1; }
  /// The same tensor with every broadcast dim cut to size 1.
  HostTensor compact() const;

  /// Views that share the storage.
  HostTensor broadcastTo(mlir::RankedTensorType type) const;
  HostTensor transposed(llvm::ArrayRef<int64_t> permutation) const;
  HostTensor sliced(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps) const;
  /// The same elements in row-major order under another shape; copies where strides do not allow a view.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// As the value of an nn.constant, dense (splat where all values agree).
  mlir::DenseElementsAttr toAttribute() const;

private:
  mlir::RankedTensorType tensorType;
  llvm::SmallVector<int64_t> elementStrides;
  int64_t start = 0;
  std::shared_ptr<const std::variant<Floats, Ints>> storage;
};

} // namespace shardc::nn

#endif
