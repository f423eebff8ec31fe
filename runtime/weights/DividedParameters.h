// Initial values of which some come from one source, the rest from another.
#ifndef SHARDC_RUNTIME_WEIGHTS_DIVIDEDPARAMETERS_H
#define SHARDC_RUNTIME_WEIGHTS_DIVIDEDPARAMETERS_H

#include "runtime/weights/ParameterSource.h"

#include <utility>
#include <vector>

namespace shardc::runtime {

class DividedParameters final : public ParameterSource {
public:
  /// `isOfFirst`: by parameter.
  DividedParameters(const ParameterSource &first, const ParameterSource &rest,
                    std::vector<bool> isOfFirst)
      : first(first), rest(rest), isOfFirst(std::move(isOfFirst)) {}

  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    of(parameter).read(parameter, begin, end, dtype, destination);
  }
  bool has(int parameter) const override {
    return of(parameter).has(parameter);
  }

private:
  const ParameterSource &of(int parameter) const {
    return isOfFirst[parameter] ? first : rest;
  }

  const ParameterSource &first, &rest;
  std::vector<bool> isOfFirst;
};

} // namespace shardc::runtime

#endif
