// The seam between a run's samples and the formats that hold them.
#ifndef SHARDC_RUNTIME_DATA_SOURCE_H
#define SHARDC_RUNTIME_DATA_SOURCE_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What an input takes of each sample: its shape without the axis of samples.
struct SampleType {
  explicit SampleType(const plan::Input &input);

  std::string input; // its name, for errors
  plan::DType dtype;
  std::vector<int64_t> shape;
  int64_t elements; // of one sample
  int64_t bytes;    // of one sample
};

class Mixture;

/// The samples of one input. A format is a class of its own, which converts
/// what it stores to the input's dtype and shape, and refuses what does not
/// fit when it is made.
class Source {
public:
  virtual ~Source() = default;

  /// What errors call it: its path, as given.
  virtual const std::string &name() const = 0;
  virtual int64_t samples() const = 0;
  /// As many as are asked for.
  static constexpr int64_t anyNumber = std::numeric_limits<int64_t>::max();
  /// Copies samples [first, first + count), in the input's dtype. Safe to call
  /// from several threads. Throws an Error where what is stored has changed
  /// since it was opened and is no sample any more.
  virtual void read(int64_t first, int64_t count,
                    std::byte *destination) const = 0;
  /// Where an element of a sample lies: "x.npy: sample 3 at [2]".
  virtual std::string where(int64_t sample, int64_t element) const;
  /// The files that are read.
  virtual std::vector<std::string> paths() const { return {name()}; }
  const SampleType &sampleType() const { return type; }
  /// Whether it makes its values itself, within the input's bounds.
  virtual bool isWithinBounds() const { return false; }
  /// What the user should know of values that are in no sample.
  virtual std::vector<std::string> leftOutTexts() const { return {}; }
  /// How its parts are mixed; null: it has none with weights.
  virtual const Mixture *mixture() const { return nullptr; }

protected:
  explicit Source(SampleType type) : type(std::move(type)) {}
  /// Writes integers, samples from `first` on, in the input's dtype: int64,
  /// int32 or bool. Throws for one that the dtype does not have.
  void store(std::span<const int64_t> ids, int64_t first,
             std::byte *destination) const;
  const SampleType type;
};

/// The files of all parts, which are sources or tokens, in their order.
template <typename Parts> std::vector<std::string> pathsOf(const Parts &parts) {
  std::vector<std::string> all;
  for (const auto &part : parts)
    for (std::string &each : part->paths())
      all.push_back(std::move(each));
  return all;
}

/// "sample 3 at [2]"
std::string sampleText(const SampleType &type, int64_t sample, int64_t element);

} // namespace shardc::runtime

#endif
