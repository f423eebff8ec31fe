// The samples of several sources, by weights.
#ifndef SHARDC_RUNTIME_DATA_MIXEDSOURCE_H
#define SHARDC_RUNTIME_DATA_MIXEDSOURCE_H

#include "runtime/data/Source.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Which part a place of a mixture is from, and which of its samples stands
/// there. At each place stands the part that lacks most of its share of the
/// places before, the first of these where they lack as much; so Megatron's
/// blended datasets choose. After `period` places the choice is that of the
/// first ones again.
class Mixture {
public:
  /// Throws for a part without samples, or whose weight is too small to have a
  /// place. `name`: of the input, for errors.
  Mixture(const std::string &name, std::vector<int64_t> sizes,
          std::vector<double> weights);

  static constexpr int64_t period = 65536;
  /// The places until every part has been gone through: what an epoch has. A
  /// part that is over before begins anew.
  int64_t samples() const { return places; }
  /// The part, and the sample of it.
  std::pair<size_t, int64_t> at(int64_t place) const;
  bool operator==(const Mixture &other) const {
    return sizes == other.sizes && weights == other.weights;
  }

private:
  std::vector<int64_t> sizes;
  std::vector<double> weights; // their sum is 1
  /// Of the first `period` places: the part, and how many of it come before.
  std::vector<uint16_t> parts;
  std::vector<uint32_t> before;
  std::vector<int64_t> perPeriod; // by part
  int64_t places = 0;
};

class MixedSource final : public Source {
public:
  MixedSource(std::string name, std::vector<std::unique_ptr<Source>> parts,
              std::vector<double> weights);

  const std::string &name() const override { return path; }
  int64_t samples() const override { return places.samples(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::string where(int64_t sample, int64_t element) const override;
  std::vector<std::string> paths() const override;
  const Mixture *mixture() const override { return &places; }

private:
  std::string path;
  std::vector<std::unique_ptr<Source>> parts;
  Mixture places;
};

} // namespace shardc::runtime

#endif
