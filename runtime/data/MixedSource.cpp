// The samples of several sources, by weights.
#include "runtime/data/MixedSource.h"

namespace shardc::runtime {

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

std::vector<std::string> MixedSource::leftOutTexts() const {
  std::vector<std::string> all;
  for (const std::unique_ptr<Source> &part : parts)
    for (std::string &text : part->leftOutTexts())
      all.push_back(std::move(text));
  return all;
}

std::string MixedSource::where(int64_t sample, int64_t element) const {
  auto [part, own] = places.at(sample);
  return parts[part]->where(own, element);
}

} // namespace shardc::runtime
