// --init random: initial values drawn as PyTorch's own layers draw them.
#ifndef SHARDC_RUNTIME_WEIGHTS_RANDOMPARAMETERS_H
#define SHARDC_RUNTIME_WEIGHTS_RANDOMPARAMETERS_H

#include "runtime/base/Random.h"
#include "runtime/weights/ParameterSource.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What `Parameter.init` says: normal:MEAN,STD, uniform:LOW,HIGH,
/// constant:VALUE, or rotary_cos and rotary_sin:BASE,HEAD_DIM,PAIRS, the table
/// of nn.rope (pairs: columns 2i and 2i+1 turn together). The truncated normal
/// one comes from --init-group alone.
struct Distribution {
  enum class Kind {
    Normal,
    Uniform,
    TruncatedNormal,
    Constant,
    RotaryCos,
    RotarySin
  };
  Kind kind;
  double first = 0;  // mean, low, value, base
  double second = 0; // standard deviation, high, head dim
  double third = 0;  // pairs, lowest
  double fourth = 0; // highest

  bool isRotary() const {
    return kind == Kind::RotaryCos || kind == Kind::RotarySin;
  }
};

/// Throws an Error that names the parameter.
Distribution parseDistribution(const plan::Parameter &parameter);

/// Parameters without a known distribution (buffers) come from `stored`;
/// without one they are an error. Rotary tables come from `stored` where it has
/// them. Element i of a parameter depends on seed,
/// name and i alone. Values are float32 first, so that a float64 run
/// starts from the same ones.
class RandomParameters : public ParameterSource {
public:
  /// `given`: by parameter, what is to hold instead of the plan's.
  RandomParameters(const plan::Plan &plan, uint64_t seed,
                   const ParameterSource *stored = nullptr,
                   std::vector<std::optional<Distribution>> given = {});
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;

private:
  /// Elements begin, begin + 1, ... of a parameter that has a distribution.
  void fill(int parameter, int64_t begin, std::span<float> values) const;

  void fillTruncated(int parameter, int64_t begin,
                     std::span<float> values) const;

  const ParameterSource *stored;
  uint64_t seed;
  std::vector<std::optional<Distribution>> distributions; // by parameter
  std::vector<std::string> names;
  std::vector<RandomStream> streams;
  std::vector<int64_t> widths; // size of the last dim, by parameter
};

} // namespace shardc::runtime

#endif
