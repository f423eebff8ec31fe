// An index form is a position in a tensor as a function of the loop variables,
// which are mixed-radix numbers: their digits are added with coefficients. So
// reshapes, slices and transposes between the loops and memory cancel at
// compile time.
//
// A form is constant + sum of coefficient * ((variable / divisor) % modulus).
// Delinearizing a flat position into dims and linearizing it again gives the
// variable back, so a [B, S, C] view of [B*S, C] costs nothing. What does not
// come out even is kept as an opaque term and computed at run time.
#ifndef SHARDC_CODEGEN_KERNELS_INDEXFORM_H
#define SHARDC_CODEGEN_KERNELS_INDEXFORM_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>
#include <string>

namespace shardc::kernels {

/// The loops of a kernel: over independent work items, a serial one over
/// reduction steps, and the innermost vectorized one over lanes.
enum class Loop : uint8_t { Item, Step, Lane };

/// The extents of the loops. The lane loop may be restricted to [laneBegin,
/// laneEnd).
struct LoopExtents {
  int64_t items = 1, steps = 1, lanes = 1;
  int64_t laneBegin = 0, laneEnd = 1;

  int64_t extent(Loop loop) const {
    return loop == Loop::Item ? items : loop == Loop::Step ? steps : lanes;
  }
};

struct OpaqueIndex;

class IndexForm {
public:
  /// A digit: coefficient * ((loop / divisor) % modulus).
  struct Term {
    int64_t coefficient;
    Loop loop;
    int64_t divisor, modulus;
  };
  /// An opaque index times a coefficient.
  struct OpaqueTerm {
    int64_t coefficient;
    std::shared_ptr<const OpaqueIndex> index;
  };

  IndexForm() = default;
  static IndexForm constant(int64_t value);
  static IndexForm loop(Loop loop, const LoopExtents &extents);
  static IndexForm opaque(OpaqueIndex index);

  int64_t constant() const { return constantPart; }
  llvm::ArrayRef<Term> terms() const { return digitTerms; }
  llvm::ArrayRef<OpaqueTerm> opaqueTerms() const { return opaques; }
  bool isConstant() const { return digitTerms.empty() && opaques.empty(); }

  IndexForm plus(const IndexForm &other, const LoopExtents &extents) const;
  IndexForm times(int64_t factor) const;
  /// Divide by a positive number, rounding down.
  IndexForm floorDivide(int64_t divisor, const LoopExtents &extents) const {
    return divide(divisor, extents).first;
  }
  IndexForm modulo(int64_t divisor, const LoopExtents &extents) const {
    return divide(divisor, extents).second;
  }

  /// The smallest and the largest value, where no opaque term hides it.
  std::optional<std::pair<int64_t, int64_t>>
  range(const LoopExtents &extents) const;
  bool dependsOn(Loop loop) const;
  /// The stride from one lane to the next, if it is the same everywhere; within
  /// vectors that begin at multiples of `vectorLanes`, if there are such
  /// vectors.
  std::optional<int64_t> laneStride(const LoopExtents &extents,
                                    int64_t vectorLanes = 1) const;
  /// The largest power of two, up to `most`, that divides the form at the first
  /// lane of every vector of `vectorLanes` lanes.
  int64_t alignment(int64_t most, int64_t vectorLanes,
                    const LoopExtents &extents) const;
  /// Simplifies digits that are constant, or need no division, within
  /// [laneBegin, laneEnd).
  IndexForm restricted(const LoopExtents &extents) const;
  bool operator==(const IndexForm &other) const { return str() == other.str(); }
  /// A key, which is equal for equal forms.
  std::string str() const;

private:
  std::pair<IndexForm, IndexForm> divide(int64_t divisor,
                                         const LoopExtents &extents) const;
  void addTerm(Term term, const LoopExtents &extents);
  void merge(const LoopExtents &extents);

  int64_t constantPart = 0;
  llvm::SmallVector<Term, 3> digitTerms;
  llvm::SmallVector<OpaqueTerm, 0> opaques;
};

/// A position that is known only at run time: a value of the kernel, or a
/// division that does not come out even.
struct OpaqueIndex {
  enum class Kind { Value, FloorDivide, Modulo } kind = Kind::Value;
  /// With Value: an emitted index (scalar or one per lane). It is null while
  /// the kernel is only analysed.
  mlir::Value value;
  bool perLane = true;
  /// With FloorDivide and Modulo: what is divided, and by what.
  IndexForm operand;
  int64_t by = 1;

  /// As IndexForm::laneStride.
  std::optional<int64_t> laneStride(const LoopExtents &extents,
                                    int64_t vectorLanes) const;
};

using IndexForms = llvm::SmallVector<IndexForm, 4>;

/// The row-major position of `index` in a tensor of `shape`.
IndexForm linearize(llvm::ArrayRef<IndexForm> index,
                    llvm::ArrayRef<int64_t> shape, const LoopExtents &extents);
/// The index of the row-major position `position` in a tensor of `shape`.
IndexForms delinearize(const IndexForm &position, llvm::ArrayRef<int64_t> shape,
                       const LoopExtents &extents);
/// The value of an affine expression whose dims are `dims`.
IndexForm apply(mlir::AffineExpr expression, llvm::ArrayRef<IndexForm> dims,
                const LoopExtents &extents);

} // namespace shardc::kernels

#endif
