// A tensor on the host, for compile-time evaluation and as the tests'
// reference.
//
// Broadcast dims cost nothing: a dim may have stride 0, so a causal mask
// expanded over batch and heads, or an index grid built by Expand, holds one
// copy of its elements. Nor do diagonals: rows and columns of a mask that
// depends on key - query have the strides -1 and 1, so S + S - 1 elements are
// held for S x S.
#ifndef SHARDC_FRONTEND_NN_HOSTTENSOR_H
#define SHARDC_FRONTEND_NN_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <variant>
#include <vector>

namespace shardc::nn {

/// Values of a ranked tensor: floats as double, integers and booleans as
/// int64_t, those of uint64 by their bits. Copies share storage; storage is
/// immutable once shared. Values are always ones that the element type can hold:
/// construction rounds floats to it and wraps integers, so that a chain of
/// float32 ops gives what a float32 machine gives.
class HostTensor {
public:
  using Floats = std::vector<double>;
  using Ints = std::vector<int64_t>;

  HostTensor() = default;
  /// Dense, row-major values of `type`.
  static HostTensor floats(mlir::RankedTensorType type, Floats values);
  static HostTensor ints(mlir::RankedTensorType type, Ints values);
  /// One value everywhere; of any element type. `splatInt` keeps integers
  /// beyond 2^53 exact.
  static HostTensor splat(mlir::RankedTensorType type, double value);
  static HostTensor splatInt(mlir::RankedTensorType type, int64_t value);
  /// From an attribute of an nn.constant; null where the attribute is neither
  /// dense nor #nn.strided (a resource, a sparse one).
  static HostTensor fromAttribute(mlir::ElementsAttr attribute);

  mlir::RankedTensorType type() const { return tensorType; }
  mlir::Type elementType() const { return tensorType.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return tensorType.getShape(); }
  int64_t rank() const { return tensorType.getRank(); }
  int64_t elements() const { return tensorType.getNumElements(); }
  bool isFloat() const {
    return mlir::isa<mlir::FloatType>(tensorType.getElementType());
  }
  explicit operator bool() const { return static_cast<bool>(tensorType); }

  /// Element at a multi-dimensional index.
  double floatAt(llvm::ArrayRef<int64_t> index) const;
  int64_t intAt(llvm::ArrayRef<int64_t> index) const;
  /// Element at a row-major position.
  double floatAt(int64_t linear) const;
  int64_t intAt(int64_t linear) const;
  /// All elements in row-major order, broadcast dims written out. Floats
  /// truncate to integers in `toInts`.
  Floats toFloats() const;
  Ints toInts() const;

  /// Strides in elements; 0 for a broadcast dim.
  llvm::ArrayRef<int64_t> strides() const { return elementStrides; }
  /// Whether the values do not change along `dim`.
  bool isBroadcastAlong(int64_t dim) const {
    return elementStrides[dim] == 0 || shape()[dim] == 1;
  }
  /// Whether all dims are broadcast: one value everywhere.
  bool isSplat() const;
  /// The same tensor with every broadcast dim cut to size 1.
  HostTensor compact() const;

  /// Views that share the storage. `broadcastTo` aligns dims at the right, as
  /// numpy does; the element type stays.
  HostTensor broadcastTo(mlir::RankedTensorType type) const;
  HostTensor transposed(llvm::ArrayRef<int64_t> permutation) const;
  /// Element i of dim d is element starts[d] + i * steps[d]; steps may be
  /// negative.
  HostTensor sliced(llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> steps) const;
  /// Element `offset` + sum of index[d] * strides[d] behind this tensor's first
  /// one, which must lie within `reach`.
  HostTensor strided(mlir::RankedTensorType type,
                     llvm::ArrayRef<int64_t> strides, int64_t offset) const;
  /// The stored elements that this tensor may show, lowest and highest, counted
  /// from its first one. Empty tensors have none.
  std::pair<int64_t, int64_t> reach() const;
  /// All of `reach`, as one dim.
  HostTensor reached() const;
  /// Whether positions share elements otherwise than by broadcast, so that a
  /// dense copy would be larger.
  bool isOverlapping() const;
  /// The same elements in row-major order under another shape; copies only the
  /// dims whose strides do not allow a view.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// As the value of an nn.constant, dense (splat where all values agree).
  mlir::DenseElementsAttr toAttribute() const;
  /// The same; #nn.strided where positions share elements and there are more
  /// than a few of them.
  mlir::ElementsAttr toCompactAttribute() const;

private:
  using Storage = std::variant<Floats, Ints>;

  HostTensor(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> strides,
             int64_t start, std::shared_ptr<const Storage> storage)
      : tensorType(type), elementStrides(strides), start(start),
        storage(std::move(storage)) {}
  mlir::RankedTensorType withShape(llvm::ArrayRef<int64_t> shape) const;
  int64_t offsetOf(llvm::ArrayRef<int64_t> index) const;
  int64_t offsetOf(int64_t linear) const;
  /// Row-major copy in which the dims that are broadcast and not in `written`
  /// stay broadcast.
  HostTensor copied(llvm::ArrayRef<bool> written) const;
  /// A view of another shape, or null where strides do not allow one; then
  /// `blocked[d]` marks the dims in the way.
  HostTensor tryReshape(llvm::ArrayRef<int64_t> shape,
                        llvm::SmallVectorImpl<bool> &blocked) const;

  mlir::RankedTensorType tensorType;
  llvm::SmallVector<int64_t> elementStrides;
  int64_t start = 0;
  std::shared_ptr<const Storage> storage;
};

/// `value` as the float type holds it (round to nearest even), and `value`
/// wrapped to the integer type's width.
double roundToType(mlir::Type type, double value);
int64_t wrapToType(mlir::Type type, int64_t value);
/// The smallest and the largest integer of a type, that of uint64 by its bits.
int64_t lowestInteger(mlir::Type type);
int64_t highestInteger(mlir::Type type);

} // namespace shardc::nn

#endif
