// The words that ops that draw have from a run, for their verifiers and
// reference evaluations: frontend/nn/ops/Random.td.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_DRAWNWORDS_H
#define SHARDC_FRONTEND_NN_SUPPORT_DRAWNWORDS_H

#include "frontend/nn/HostTensor.h"
#include "runtime/base/Threefry.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace shardc::nn {

using runtime::DrawnWord;
using enum runtime::DrawnWord;

/// Which sample an element belongs to, and which number it has there. Where
/// all samples have the same numbers, there is one, and its number is 0.
struct Placement {
  bool isPerSample;
  int64_t samples, stride, outer;

  Placement(int64_t samples, int64_t stride, int64_t elements);

  int64_t sampleOf(int64_t element) const { return element / stride % samples; }
  int64_t numberOf(int64_t element) const {
    return element / (stride * samples) * stride + element % stride;
  }
};

/// The words of a site as a run writes them.
struct RunWords {
  HostTensor::Ints words;

  runtime::Bits32 operator[](DrawnWord place) const {
    return {static_cast<uint32_t>(words[place])};
  }
  /// The second word of an element's counter.
  runtime::Bits32 sampleOf(const Placement &of, int64_t element) const;
  double scale() const;
  int32_t threshold() const {
    return static_cast<int32_t>((*this)[Threshold].value);
  }
};

/// The operand and the attributes that nn-place-draws gives an op that draws for
/// so many elements.
llvm::LogicalResult expectPlaced(mlir::Operation *op, mlir::Value words,
                                 int64_t samples, int64_t stride,
                                 int64_t elements);

// Of each of 20 rounds an addition, a rotation (two shifts and an or) and an
// exclusive or, and a few ops around them.
inline constexpr int64_t flopsOfWords = 110;

} // namespace shardc::nn

#endif
