// Arrow's streams and files, which are the longest way from bytes to samples.
#include "runtime/data/ArrowColumn.h"
#include "test/fuzz/readers/Samples.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Metadata has no checksum, but an input without this is no Arrow file.
  bool isFile = size % 2 == 0;
  std::string bytes(isFile ? runtime::arrowFileMagic
                           : runtime::arrowStreamMagic);
  bytes.append(reinterpret_cast<const char *>(data), size);
  static fuzz::SampleFile file("input");
  file.hold(std::as_bytes(std::span(bytes)));
  fuzz::readSamplesInEveryWay(file.path(), bytes.size());
  fuzz::read([&] {
    runtime::ArrowColumn column(
        file.path(), runtime::Descriptor::openForReading(file.path()), "ids");
    fuzz::require(column.rows() >= 0 && column.values() >= 0 &&
                  uint64_t(column.values()) <= 8 * bytes.size());
    std::vector<int64_t> ends = column.rowEnds();
    fuzz::require(int64_t(ends.size()) == column.rows() &&
                  std::ranges::is_sorted(ends) &&
                  (ends.empty() || ends.back() == column.values()));
  });
  return 0;
}
