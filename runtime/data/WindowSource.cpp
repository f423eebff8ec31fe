// Windows over token ids.
#include "runtime/data/WindowSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <limits>

namespace shardc::runtime {

WindowSource::WindowSource(SampleType sampleType, std::string path,
                           std::vector<std::unique_ptr<Tokens>> tokens,
                           const SourceKeys &keys)
    : Source(std::move(sampleType)), path(std::move(path)),
      files(std::move(tokens)), window(keys.window.value_or(type.elements)),
      stride(keys.stride.value_or(window)), pad(keys.pad),
      hasDocuments(keys.documents || keys.storedDocuments) {
  if (type.dtype != plan::INT64 && type.dtype != plan::INT32)
    fail(name(), ": holds token ids, and input ", type.input, " takes ",
         dtypeName(type.dtype));
  if (type.shape.size() != 1)
    fail(name(),
         ": holds token ids, for inputs of one axis behind that of "
         "samples; input ",
         type.input, " has the shape ", shapeText(type.shape), " behind it");
  if (window > type.elements)
    fail(name(), ": window=", window, " is more than the ", type.elements,
         " tokens that input ", type.input, " takes");
  if (window < type.elements && !pad)
    fail(name(), ": window=", window, " is less than the ", type.elements,
         " tokens that input ", type.input,
         " takes; give pad=ID for those behind it");
  for (size_t file = 0; file < files.size(); ++file)
    addSegments(file, keys);
  if (keys.documents && ends == 0)
    fail(name(), ": documents=", *keys.documents,
         " is to end documents, and no token is ", *keys.documents);
}

std::vector<std::string> WindowSource::leftOutTexts() const {
  int64_t all = 0, taken = 0;
  for (const std::unique_ptr<Tokens> &file : files)
    all += file->size();
  for (size_t i = 0; i < segments.size(); ++i) {
    int64_t next =
        i + 1 < segments.size() ? segments[i + 1].firstWindow : windows;
    int64_t begin = (next - segments[i].firstWindow - 1) * stride;
    taken += std::min(segments[i].length,
                      std::min(stride, window) *
                              (next - segments[i].firstWindow - 1) +
                          std::min(window, segments[i].length - begin));
  }
  if (10 * (all - taken) < all)
    return {};
  return {concat(
      name(), ": ", all - taken, " of ", all, " tokens are in no ",
      "sample of ", window,
      stride > window ? concat(", of which one begins every ", stride) : "",
      pad ? ""
          : concat("; what is left at the end of a ",
                   hasDocuments ? "document" : "file",
                   " is dropped without pad=ID"))};
}

void WindowSource::addSegments(size_t file, const SourceKeys &keys) {
  const Tokens &tokens = *files[file];
  int64_t begin = 0;
  auto endAt = [&](int64_t end) {
    addSegment(file, begin, end);
    begin = end;
  };
  if (keys.storedDocuments)
    for (int64_t end : tokens.documentEnds())
      endAt(end);
  if (keys.documents) {
    constexpr int64_t most = 1 << 20;
    std::vector<int64_t> ids(std::min(most, tokens.size()));
    for (int64_t first = 0; first < tokens.size(); first += most) {
      int64_t some = std::min(most, tokens.size() - first);
      tokens.read(first, some, ids.data());
      for (int64_t i = 0; i < some; ++i)
        if (ids[i] == *keys.documents) {
          endAt(first + i + 1);
          ++ends;
        }
    }
  }
  endAt(tokens.size());
}

void WindowSource::addSegment(size_t file, int64_t begin, int64_t end) {
  int64_t length = end - begin;
  int64_t count = length < window ? 0 : (length - window) / stride + 1;
  int64_t covered = count ? (count - 1) * stride + window : 0;
  // The short one at the end.
  if (pad && covered < length && count * stride < length)
    ++count;
  if (count)
    segments.push_back({file, begin, length, windows});
  windows += count;
}

const WindowSource::Segment &WindowSource::segmentOf(int64_t sample) const {
  return *std::prev(
      std::ranges::upper_bound(segments, sample, {}, &Segment::firstWindow));
}

void WindowSource::read(int64_t first, int64_t count,
                        std::byte *destination) const {
  std::vector<int64_t> ids(type.elements);
  for (int64_t sample = first; sample < first + count; ++sample) {
    const Segment &segment = segmentOf(sample);
    int64_t begin = (sample - segment.firstWindow) * stride;
    int64_t taken = std::min(window, segment.length - begin);
    files[segment.file]->read(segment.begin + begin, taken, ids.data());
    std::fill(ids.begin() + taken, ids.end(), pad.value_or(0));
    store(ids, sample, destination);
    destination += type.bytes;
  }
}

std::string WindowSource::where(int64_t sample, int64_t element) const {
  const Segment &segment = segmentOf(sample);
  int64_t token = (sample - segment.firstWindow) * stride + element;
  bool isPad = element >= window || token >= segment.length;
  return concat(files[segment.file]->name(), ": ",
                isPad ? "pad" : concat("token ", segment.begin + token), ", ",
                sampleText(type, sample, element));
}

} // namespace shardc::runtime
