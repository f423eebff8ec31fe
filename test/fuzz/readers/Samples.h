// What the targets of data formats share: a file is opened as --data opens it,
// in every way that its format knows, and all of its samples are read.
#ifndef SHARDC_TEST_FUZZ_READERS_SAMPLES_H
#define SHARDC_TEST_FUZZ_READERS_SAMPLES_H

#include "runtime/data/OpenSource.h"
#include "test/fuzz/readers/Harness.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <vector>

namespace shardc::fuzz {

/// A file of one name in a folder of its own, in memory, which holds one input
/// after the other: what lies beside a file is looked for, and in
/// /proc/self/fd that takes longer than reading.
class SampleFile {
public:
  explicit SampleFile(const std::string &name) {
    std::string pattern = "/dev/shm/shardc-fuzz-XXXXXX";
    folder = mkdtemp(pattern.data());
    file = runtime::Descriptor(
        ::open((folder / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    all = (folder / name).string();
  }
  ~SampleFile() { std::filesystem::remove_all(folder); }

  void hold(std::span<const std::byte> bytes) { fuzz::hold(file, bytes); }
  const std::string &path() const { return all; }

  std::filesystem::path folder;

private:
  std::string all;
  runtime::Descriptor file;
};

/// Samples of four numbers.
inline plan::Input inputOf(plan::DType dtype) {
  plan::Input input;
  input.set_name("ids");
  input.mutable_tensor()->set_dtype(dtype);
  input.mutable_tensor()->add_shape(2);
  input.mutable_tensor()->add_shape(4);
  return input;
}

/// Reads all samples. `size`: bytes of the file, of which each sample takes at
/// least a bit.
inline void readSamples(const plan::Input &input, const std::string &path,
                        const runtime::SourceKeys &keys, size_t size) {
  read([&] {
    auto source = runtime::openSource(input, {"ids", path, keys});
    int64_t samples = source->samples();
    require(samples >= 0 && uint64_t(samples) <= 8 * size);
    constexpr int64_t atOnce = 64;
    std::vector<std::byte> values(atOnce * source->sampleType().bytes);
    for (int64_t at = 0; at < samples; at += atOnce)
      source->read(at, std::min(atOnce, samples - at), values.data());
    if (samples > 0)
      source->where(samples - 1, 3);
  });
}

/// The same in every way. `dtype`: of files of raw tokens.
inline void
readSamplesInEveryWay(const std::string &path, size_t size,
                      std::optional<runtime::TokenType> dtype = {}) {
  runtime::SourceKeys keys;
  keys.dtype = dtype;
  // What shardc-data inspect says.
  read([&] {
    for (const auto &content : runtime::contentsOf(path, keys, "ids"))
      if (content.tokens)
        require(content.tokens->size() >= 0);
  });
  for (plan::DType type : {plan::INT64, plan::FLOAT32, plan::BOOL})
    readSamples(inputOf(type), path, keys, size);
  keys.pad = 0;
  for (bool inside : {false, true}) {
    keys.storedDocuments = inside;
    readSamples(inputOf(plan::INT64), path, keys, size);
  }
  keys.storedDocuments = false;
  keys.documents = 7;
  keys.stride = 1;
  readSamples(inputOf(plan::INT64), path, keys, size);
}

} // namespace shardc::fuzz

#endif
