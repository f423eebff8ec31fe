// --init random: initial values drawn as PyTorch's own layers draw them.
#ifndef SHARDC_RUNTIME_CHECKPOINT_RANDOMPARAMETERS_H
#define SHARDC_RUNTIME_CHECKPOINT_RANDOMPARAMETERS_H

#include "runtime/Random.h"
#include "runtime/checkpoint/ParameterSource.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What `Parameter.init` says: normal:MEAN,STD, uniform:LOW,HIGH or
/// constant:VALUE.
struct Distribution {
  enum class Kind { Normal, Uniform, Constant };
  Kind kind;
  double first = 0;  // mean, low, value
  double second = 0; // standard deviation, high
};

/// Throws an Error that names the parameter.
Distribution parseDistribution(const plan::Parameter &parameter);

/// Parameters without a known distribution (buffers) come from `stored`;
/// without one they are an error. Element i of a parameter depends on seed,
/// name and i alone. Values are rounded to float32 first, so that a float64 run
/// starts from the same ones.
class RandomParameters : public ParameterSource {
public:
  RandomParameters(const plan::Plan &plan, uint64_t seed,
                   const ParameterSource *stored = nullptr);
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;

private:
  const ParameterSource *stored;
  std::vector<std::optional<Distribution>> distributions; // by parameter
  std::vector<RandomStream> streams;
};

} // namespace shardc::runtime

#endif
