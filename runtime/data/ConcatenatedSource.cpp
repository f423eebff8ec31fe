// The samples of several files, one after the other.
#include "runtime/data/ConcatenatedSource.h"

#include <algorithm>

namespace shardc::runtime {

ConcatenatedSource::ConcatenatedSource(
    std::string path, std::vector<std::unique_ptr<Source>> given)
    : Source(given.front()->sampleType()), path(std::move(path)),
      parts(std::move(given)), begins{0} {
  for (const auto &part : parts)
    begins.push_back(begins.back() + part->samples());
}

size_t ConcatenatedSource::partOf(int64_t sample) const {
  return std::ranges::upper_bound(begins, sample) - begins.begin() - 1;
}

void ConcatenatedSource::read(int64_t first, int64_t count,
                              std::byte *destination) const {
  while (count > 0) {
    size_t part = partOf(first);
    int64_t some = std::min(count, begins[part + 1] - first);
    parts[part]->read(first - begins[part], some, destination);
    destination += some * type.bytes;
    first += some;
    count -= some;
  }
}

std::string ConcatenatedSource::where(int64_t sample, int64_t element) const {
  size_t part = partOf(sample);
  return parts[part]->where(sample - begins[part], element);
}

} // namespace shardc::runtime
