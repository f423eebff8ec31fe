// One number for all elements of all samples.
#ifndef SHARDC_RUNTIME_DATA_CONSTANTSOURCE_H
#define SHARDC_RUNTIME_DATA_CONSTANTSOURCE_H

#include "runtime/data/Source.h"

namespace shardc::runtime {

/// What stands for labels that nobody knows: predictions do not depend on them.
class ConstantSource final : public Source {
public:
  /// `value` must be one of the input's dtype.
  ConstantSource(const plan::Input &input, int64_t value);

  const std::string &name() const override { return text; }
  int64_t samples() const override { return anyNumber; }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::vector<std::string> paths() const override { return {}; }
  bool isWithinBounds() const override { return true; }

private:
  std::string text;
  std::vector<std::byte> element;
};

} // namespace shardc::runtime

#endif
