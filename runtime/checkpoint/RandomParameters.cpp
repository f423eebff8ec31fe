// --init random: initial values drawn as PyTorch's own layers draw them.
#include "runtime/checkpoint/RandomParameters.h"

#include "runtime/DType.h"
#include "runtime/Error.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace shardc::runtime {

/// The numbers of "a,b"; none where it is no such list of `count` numbers.
static std::optional<std::array<double, 2>> parseNumbers(std::string_view text,
                                                         int count) {
  std::array<double, 2> numbers{};
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
               {"constant:", Distribution::Kind::Constant, 1}};
  std::string_view text = parameter.init();
  if (text.empty())
    fail("parameter ", parameter.name(),
         " has no known initial distribution, so --init random cannot draw "
         "it; give --weights");
  for (const auto &[name, kind, count] : kinds)
    if (text.starts_with(name))
      if (auto numbers = parseNumbers(text.substr(name.size()), count))
        return {kind, (*numbers)[0], (*numbers)[1]};
  fail("parameter ", parameter.name(),
       " has the unknown initial distribution '", text, "'");
}

RandomParameters::RandomParameters(const plan::Plan &plan, uint64_t seed,
                                   const ParameterSource *stored)
    : stored(stored) {
  for (const plan::Parameter &parameter : plan.parameters()) {
    bool drawn = !parameter.init().empty() || !stored;
    distributions.push_back(drawn ? std::optional(parseDistribution(parameter))
                                  : std::nullopt);
    streams.emplace_back(seed, parameter.name());
  }
}

void RandomParameters::read(int parameter, int64_t begin, int64_t end,
                            plan::DType dtype, std::byte *destination) const {
  if (!distributions[parameter])
    return stored->read(parameter, begin, end, dtype, destination);
  const Distribution &distribution = *distributions[parameter];
  const RandomStream &stream = streams[parameter];
  float values[1024];
  while (begin < end) {
    int64_t count = std::min<int64_t>(end - begin, std::size(values));
    for (int64_t i = 0; i < count; ++i) {
      double value = distribution.first;
      if (distribution.kind == Distribution::Kind::Normal)
        value += distribution.second * stream.normal(begin + i);
      else if (distribution.kind == Distribution::Kind::Uniform)
        value += (distribution.second - distribution.first) *
                 stream.uniform(begin + i);
      values[i] = static_cast<float>(value);
    }
    convertElements(values, plan::FLOAT32, destination, dtype, count);
    destination += count * elementSize(dtype);
    begin += count;
  }
}

} // namespace shardc::runtime
