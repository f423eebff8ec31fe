// Which sample of which part stands at a place of a mixture.
#ifndef SHARDC_RUNTIME_DATA_MIXTURE_H
#define SHARDC_RUNTIME_DATA_MIXTURE_H

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

struct MixturePart {
  int64_t samples;
  double weight; // as given
};

/// "9 samples of weight 0.7, 3 of weight 0.3"
std::string mixtureText(std::span<const MixturePart> parts);

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
  /// Whether the same sample stands at every place.
  bool operator==(const Mixture &other) const {
    return sizes == other.sizes && parts == other.parts;
  }
  /// What it was made of.
  std::vector<MixturePart> made() const;

private:
  std::vector<int64_t> sizes;
  std::vector<double> weights; // as given
  /// Of the first `period` places: the part, and how many of it come before.
  std::vector<uint16_t> parts;
  std::vector<uint32_t> before;
  std::vector<int64_t> perPeriod; // by part
  int64_t places = 0;
};

} // namespace shardc::runtime

#endif
