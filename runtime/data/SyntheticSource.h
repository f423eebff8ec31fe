// Samples that are drawn, for runs without data.
#ifndef SHARDC_RUNTIME_DATA_SYNTHETICSOURCE_H
#define SHARDC_RUNTIME_DATA_SYNTHETICSOURCE_H

#include "runtime/base/Random.h"
#include "runtime/data/Source.h"

namespace shardc::runtime {

/// Integers are uniform within the input's bounds (0 and 1 where it has none),
/// floats of the standard normal distribution. A value is a function of seed,
/// input, sample and element, so that it is the same on every mesh.
class SyntheticSource final : public Source {
public:
  SyntheticSource(const plan::Input &input, uint64_t seed);

  const std::string &name() const override { return text; }
  int64_t samples() const override { return anyNumber; }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::vector<std::string> paths() const override { return {}; }
  bool isWithinBounds() const override { return true; }

private:
  std::string text;
  RandomStream stream;
  int64_t low;
  uint64_t choices; // values from `low` on
};

} // namespace shardc::runtime

#endif
