// Deviations of results, and the bounds that follow from a function's types.
#include "Deviation.h"

#include <cmath>

using namespace mlir;

namespace shardc::test {

Deviation deviation(const nn::HostTensor &got, const nn::HostTensor &expected) {
  double largest = 1e-30, worst = 0;
  int64_t unequal = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    double a = got.isFloat() ? got.floatAt(i) : double(got.intAt(i));
    double b = got.isFloat() ? expected.floatAt(i) : double(expected.intAt(i));
    if (std::isfinite(b))
      largest = std::max(largest, std::abs(b));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    ++unequal;
    worst =
        std::max(worst, std::isfinite(a) && std::isfinite(b) ? std::abs(a - b)
                                                             : INFINITY);
  }
  return {got.isFloat() ? worst / largest : worst, unequal};
}

Deviation boundOf(func::FuncOp function, const nn::HostTensor &result) {
  auto isOf = [&](auto is) {
    return llvm::any_of(function.getArgumentTypes(), [&](Type type) {
      return is(getElementTypeOrSelf(type));
    });
  };
  Deviation bound;
  bound.elements = result.elements();
  if (isOf([](Type type) { return type.isBF16() || type.isF16(); })) {
    bound.largest =
        isOf([](Type type) { return type.isBF16(); }) ? 0x1p-7 : 0x1p-10;
    if (result.elementType().getIntOrFloatBitWidth() == 16)
      bound.elements = 1 + result.elements() / 50;
  } else {
    bound.largest = isOf([](Type type) { return type.isF32(); }) ? 2e-5 : 1e-11;
  }
  return bound;
}

} // namespace shardc::test
