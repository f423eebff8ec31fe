// Which sample of which part stands at a place of a mixture.
#include "runtime/data/Mixture.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <numeric>

namespace shardc::runtime {

std::string mixtureText(std::span<const MixturePart> parts) {
  std::string text;
  for (const MixturePart &part : parts)
    text += concat(text.empty() ? "" : ", ", part.samples,
                   text.empty() ? " samples" : "", " of weight ", part.weight);
  return text;
}

Mixture::Mixture(const std::string &name, std::vector<int64_t> given,
                 std::vector<double> givenWeights)
    : sizes(std::move(given)), weights(std::move(givenWeights)), parts(period),
      before(period), perPeriod(sizes.size()) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares = weights; // their sum is 1
  for (double &share : shares)
    share /= sum;
  std::vector<std::vector<uint32_t>> placesOf(sizes.size());
  for (int64_t place = 0; place < period; ++place) {
    double places = static_cast<double>(std::max<int64_t>(place, 1));
    size_t chosen = 0;
    double most = 0;
    for (size_t part = 0; part < sizes.size(); ++part) {
      double lacks =
          shares[part] * places - static_cast<double>(perPeriod[part]);
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
    if (shares[part] * double(period) < 1 || perPeriod[part] == 0)
      fail("part ", part + 1, " of the mixture of ", name, " has a weight of ",
           shares[part], " of all; expects at least ",
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

std::vector<MixturePart> Mixture::made() const {
  std::vector<MixturePart> all;
  for (size_t part = 0; part < sizes.size(); ++part)
    all.push_back({sizes[part], weights[part]});
  return all;
}

} // namespace shardc::runtime
