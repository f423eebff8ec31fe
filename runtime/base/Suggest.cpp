// The known word nearest to a mistyped one.
#include "runtime/base/Suggest.h"

#include <algorithm>

namespace shardc::runtime {

size_t editDistance(std::string_view from, std::string_view to) {
  // Three rows of the table of optimal string alignment.
  std::vector<size_t> before(to.size() + 1), previous(to.size() + 1),
      current(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j)
    previous[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1,
                             previous[j - 1] + (from[i - 1] != to[j - 1])});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] &&
          from[i - 2] == to[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[to.size()];
}

std::string nearest(std::string_view word,
                    const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // A word that was broken off, or a part of a longer one.
    if (word.size() >= 4 &&
        (candidate.starts_with(word) || word.starts_with(candidate)))
      distance = std::min<size_t>(distance, 2);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word,
                       const std::vector<std::string> &candidates) {
  std::string best = nearest(word, candidates);
  return best.empty() ? "" : ", did you mean '" + best + "'?";
}

} // namespace shardc::runtime
