// Words and where they are used.
#include "frontend/nn/support/DrawnWords.h"
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace shardc::nn {

Placement::Placement(int64_t samples, int64_t stride, int64_t elements)
    : isPerSample(samples > 0), samples(isPerSample ? samples : 1),
      stride(std::max<int64_t>(isPerSample ? stride : elements, 1)),
      outer(elements / (this->samples * this->stride)) {}

runtime::Bits32 RunWords::sampleOf(const Placement &of, int64_t element) const {
  if (!of.isPerSample)
    return {0};
  return (*this)[FirstSample] +
         runtime::Bits32{static_cast<uint32_t>(of.sampleOf(element))};
}

double RunWords::scale() const {
  return std::bit_cast<double>(uint64_t((*this)[ScaleHigh].value) << 32 |
                               (*this)[ScaleLow].value);
}

LogicalResult expectPlaced(Operation *op, Value words, int64_t samples,
                           int64_t stride, int64_t elements) {
  if (failed(expectShape(op, "words", words, {DropoutOp::wordCount})))
    return failure();
  if (samples < 0 || stride < 0 || (samples == 0) != (stride == 0))
    return op->emitOpError("expects samples and their stride, or neither, got ")
           << samples << " and " << stride;
  if (samples > 0 && elements % (samples * stride) != 0)
    return op->emitOpError("expects elements that ")
           << samples << " samples of stride " << stride << " divide, got "
           << elements;
  return success();
}

} // namespace shardc::nn
