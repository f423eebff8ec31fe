// The samples of several sources, by weights.
#include "runtime/data/MixedSource.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <numeric>

namespace shardc::runtime {

Mixture::Mixture(const std::string &name, std::vector<int64_t> given,
                 std::vector<double> givenWeights)
    : sizes(std::move(given)), weights(std::move(givenWeights)), parts(period),
      before(period), perPeriod(sizes.size()) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double &weight : weights)
    weight /= sum;
  std::vector<std::vector<uint32_t>> placesOf(sizes.size());
  for (int64_t place = 0; place < period; ++place) {
    double shares = static_cast<double>(std::max<int64_t>(place, 1));
    size_t chosen = 0;
    double most = 0;
    for (size_t part = 0; part < sizes.size(); ++part) {
      double lacks =
          weights[part] * shares - static_cast<double>(perPeriod[part]);
      if (part == 0 || lacks > most) {
        chosen = part;
        most = lacks;
      }
    }
    parts[place] = static_cast<uint16_t>(chosen);
    before[place] = static_cast<uint32_t>(perPeriod[chosen]++);
    placesOf[chosen].push_back(static_cast<uint32_t>(place));
  }
  for (size_t part = 0; part < sizes.size(); ++part) {
    if (sizes[part] == 0)
      fail("part ", part + 1, " of the mixture of ", name, " has no samples");
    if (weights[part] * double(period) < 1 || perPeriod[part] == 0)
      fail("part ", part + 1, " of the mixture of ", name, " has a weight of ",
           weights[part], " of all; expects at least ",
           1.0 / static_cast<double>(period));
    // Its last sample stands in this period, at that place of it.
    int64_t whole = (sizes[part] - 1) / perPeriod[part];
    int64_t rest = (sizes[part] - 1) % perPeriod[part];
    places = std::max(places, whole * period + placesOf[part][rest] + 1);
  }
}

std::pair<size_t, int64_t> Mixture::at(int64_t place) const {
  size_t part = parts[place % period];
  int64_t number = place / period * perPeriod[part] + before[place % period];
  return {part, number % sizes[part]};
}

static std::vector<int64_t>
sizesOf(const std::vector<std::unique_ptr<Source>> &parts) {
  std::vector<int64_t> sizes;
  for (const auto &part : parts)
    sizes.push_back(part->samples());
  return sizes;
}

MixedSource::MixedSource(std::string name,
                         std::vector<std::unique_ptr<Source>> given,
                         std::vector<double> weights)
    : Source(given.front()->sampleType()), path(std::move(name)),
      parts(std::move(given)),
      places(type.input, sizesOf(parts), std::move(weights)) {}

void MixedSource::read(int64_t first, int64_t count,
                       std::byte *destination) const {
  for (int64_t place = first; place < first + count; ++place) {
    auto [part, sample] = places.at(place);
    parts[part]->read(sample, 1, destination);
    destination += type.bytes;
  }
}

std::string MixedSource::where(int64_t sample, int64_t element) const {
  auto [part, own] = places.at(sample);
  return parts[part]->where(own, element);
}

std::vector<std::string> MixedSource::paths() const {
  std::vector<std::string> all;
  for (const auto &part : parts)
    for (std::string &each : part->paths())
      all.push_back(std::move(each));
  return all;
}

} // namespace shardc::runtime
