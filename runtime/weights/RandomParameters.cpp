// --init random: initial values drawn as PyTorch's own layers draw them.
#include "runtime/weights/RandomParameters.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace shardc::runtime {

/// The numbers of "a,b"; none where it is no such list of `count` numbers.
static std::optional<std::array<double, 3>> parseNumbers(std::string_view text,
                                                         int count) {
  std::array<double, 3> numbers{};
  const char *at = text.data(), *end = at + text.size();
  for (int i = 0; i < count; ++i) {
    if (i > 0 && (at == end || *at++ != ','))
      return std::nullopt;
    auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc())
      return std::nullopt;
    at = stop;
  }
  if (at != end)
    return std::nullopt;
  return numbers;
}

Distribution parseDistribution(const plan::Parameter &parameter) {
  static constexpr struct {
    std::string_view name;
    Distribution::Kind kind;
    int count;
  } kinds[] = {{"normal:", Distribution::Kind::Normal, 2},
               {"uniform:", Distribution::Kind::Uniform, 2},
               {"constant:", Distribution::Kind::Constant, 1},
               {"rotary_cos:", Distribution::Kind::RotaryCos, 3},
               {"rotary_sin:", Distribution::Kind::RotarySin, 3}};
  std::string_view text = parameter.init();
  if (text.empty())
    fail("parameter ", parameter.name(),
         " has no known initial distribution, so --init random cannot draw "
         "it; give --weights");
  for (const auto &[name, kind, count] : kinds)
    if (text.starts_with(name))
      if (auto numbers = parseNumbers(text.substr(name.size()), count))
        return {kind, (*numbers)[0], (*numbers)[1], (*numbers)[2]};
  fail("parameter ", parameter.name(),
       " has the unknown initial distribution '", text, "'");
}

RandomParameters::RandomParameters(
    const plan::Plan &plan, uint64_t seed, const ParameterSource *stored,
    std::vector<std::optional<Distribution>> given)
    : stored(stored), seed(seed) {
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    std::optional<Distribution> &distribution = distributions.emplace_back();
    if (i < std::ssize(given) && given[i])
      distribution = given[i];
    else if (!parameter.init().empty() || !stored)
      distribution = parseDistribution(parameter);
    if (distribution && distribution->isRotary() && stored && stored->has(i))
      distribution.reset();
    names.push_back(parameter.name());
    streams.emplace_back(seed, parameter.name());
    const auto &shape = parameter.shape();
    widths.push_back(shape.empty() ? 1 : shape[shape.size() - 1]);
  }
}

/// Element of a table of nn.rope: Su et al., arXiv:2104.09864, equation 15.
static double rotaryElement(const Distribution &table, int64_t position,
                            int64_t column) {
  double base = table.first, headDim = table.second;
  int64_t frequency =
      table.third != 0 ? column / 2 : column % (int64_t(headDim) / 2);
  double angle = position * std::pow(base, -2.0 * frequency / headDim);
  return table.kind == Distribution::Kind::RotaryCos ? std::cos(angle)
                                                     : std::sin(angle);
}

void RandomParameters::read(int parameter, int64_t begin, int64_t end,
                            plan::DType dtype, std::byte *destination) const {
  if (!distributions[parameter])
    return stored->read(parameter, begin, end, dtype, destination);
  if (dtype == plan::FLOAT32)
    return fill(parameter, begin,
                {reinterpret_cast<float *>(destination), size_t(end - begin)});
  float values[1024];
  while (begin < end) {
    int64_t count = std::min<int64_t>(end - begin, std::size(values));
    fill(parameter, begin, {values, size_t(count)});
    convertElements(values, plan::FLOAT32, destination, dtype, count);
    destination += count * elementSize(dtype);
    begin += count;
  }
}

/// Draws that fall outside are drawn again, from a stream of their own: where
/// they come from does not depend on what else is drawn.
void RandomParameters::fillTruncated(int parameter, int64_t begin,
                                     std::span<float> values) const {
  const Distribution &distribution = *distributions[parameter];
  auto mean = static_cast<float>(distribution.first),
       deviation = static_cast<float>(distribution.second),
       low = static_cast<float>(distribution.third),
       high = static_cast<float>(distribution.fourth);
  // With the tenth part of the draws inside, which is the least that is
  // allowed, one in 10^11 elements comes to its end.
  constexpr int mostDraws = 256;
  streams[parameter].normal(mean, deviation, begin, values);
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    float &value = values[i];
    for (int draw = 1; draw < mostDraws && (value < low || value > high);
         ++draw)
      RandomStream(seed, concat(names[parameter], "#", draw))
          .normal(mean, deviation, begin + i, {&value, 1});
    value = std::clamp(value, low, high);
  }
}

void RandomParameters::fill(int parameter, int64_t begin,
                            std::span<float> values) const {
  const Distribution &distribution = *distributions[parameter];
  auto first = static_cast<float>(distribution.first),
       second = static_cast<float>(distribution.second);
  switch (distribution.kind) {
  case Distribution::Kind::Normal:
    return streams[parameter].normal(first, second, begin, values);
  case Distribution::Kind::Uniform:
    return streams[parameter].uniform(first, second, begin, values);
  case Distribution::Kind::TruncatedNormal:
    return fillTruncated(parameter, begin, values);
  case Distribution::Kind::Constant:
    std::ranges::fill(values, first);
    return;
  case Distribution::Kind::RotaryCos:
  case Distribution::Kind::RotarySin:
    for (int64_t i = 0; i < std::ssize(values); ++i)
      values[i] = static_cast<float>(
          rotaryElement(distribution, (begin + i) / widths[parameter],
                        (begin + i) % widths[parameter]));
  }
}

} // namespace shardc::runtime
