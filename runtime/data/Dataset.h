// The samples that a program trains on or is evaluated with: a source for each
// of the plan's inputs.
#ifndef SHARDC_RUNTIME_DATA_DATASET_H
#define SHARDC_RUNTIME_DATA_DATASET_H

#include "runtime/data/NamedFile.h"
#include "runtime/data/Source.h"
#include "runtime/plan.pb.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Whether the run gives this input's values: the plan may list inputs that the
/// program does not read, and the loss scale.
bool isGiven(const plan::Input &input);

/// The batch of one rank: the first axis of every input. Throws where the
/// inputs disagree.
int64_t batchPerRank(const plan::Plan &plan);

class Dataset {
public:
  /// Binds every input of the plan to its file. Throws for a name, a dtype, a
  /// shape or a number of samples that does not fit, naming the file, and for
  /// values outside an input's bounds in files of up to `checkedBytes`; larger
  /// ones are checked batch by batch. `flag` is the one that gave the files.
  /// `limit`: samples behind the first so many are left out. `mayLackLabels`:
  /// they need not be given, for predictions, which do not depend on them.
  Dataset(const plan::Plan &plan, const std::vector<NamedFile> &files,
          const std::string &flag, std::optional<int64_t> limit = {},
          bool mayLackLabels = false);

  int64_t samples() const { return sampleCount; }
  /// Whether the labels were left out: there is no loss.
  bool lacksLabels() const { return isWithoutLabels; }
  /// How the samples are mixed; null: they are not.
  const Mixture *mixture() const;
  /// What the user should know of values that are in no sample.
  std::vector<std::string> leftOutTexts() const;
  /// The files that are read, by input.
  std::vector<NamedFile> files() const;

  /// Copies samples into an input's batch, in the input's own dtype. Throws for
  /// a value outside the bounds. A sample of `padding` gives the labels'
  /// ignored value, and sample 0 of other inputs.
  void load(int input, std::span<const int64_t> samples,
            std::byte *destination) const;

  /// Looks at every value that has bounds and was not looked at yet, in files
  /// of whatever size. Throws as load() does.
  void checkValues() const;

  /// "x.npy: sample 3 at [2]: nan is no float32 to train on, of input x" of the
  /// first value of these samples that is not finite; empty where all are.
  std::string notFiniteText(std::span<const int64_t> samples) const;

  struct LabelCount {
    int64_t valid = 0, all = 0;
  };
  /// The labels of all samples, without those that a shift leaves out: how many
  /// the loss counts. Only for plans whose loss counts labels.
  LabelCount countLabels() const;

  /// Throws an Error where the loss counts no label of any sample: it would be
  /// that of nothing. Reads up to the first that is counted.
  void checkLabels(const char *flag) const;

  static constexpr int64_t padding = -1;
  /// How many there are where all are drawn, and nothing says how many.
  static constexpr int64_t syntheticSamples = 65536;
  static constexpr int64_t checkedBytes = int64_t{256} << 20;

private:
  /// Throws for a value outside the bounds among `values`, those of samples
  /// [first, first + count) of a bounded input.
  void checkBounds(int input, int64_t first, int64_t count,
                   const std::byte *values) const;
  /// The same for all samples of an input.
  void checkAll(int input) const;
  /// Whether an input has values to look at.
  bool hasBounds(int input) const {
    return inputs[input] && plan.inputs(input).bounded() &&
           !inputs[input]->isWithinBounds();
  }
  /// Whether they are looked at as soon as it is opened.
  bool isChecked(int input) const;
  /// Reads an input a part at a time, while use(first, count, values) is true.
  template <typename Use> void readAll(int input, Use use) const;
  /// What an input is given: one file, or the parts of what is mixed; none of
  /// labels that may be left out, and are.
  std::vector<NamedFile> findFiles(const std::vector<NamedFile> &files,
                                   const plan::Input &input) const;
  void open(const std::vector<NamedFile> &files);
  /// Makes the source of an input that takes what another one has.
  std::unique_ptr<Source> refer(int input, const NamedFile &file) const;
  /// Throws where a sample of an input would not belong to that of another.
  void checkMixtures() const;
  void checkNames(const std::vector<NamedFile> &files) const;

  const plan::Plan &plan;
  std::string flag;
  /// None where the program does not read the input.
  std::vector<std::unique_ptr<Source>> inputs;
  int64_t sampleCount = 0;
  bool mayLackLabels, isWithoutLabels = false;
};

} // namespace shardc::runtime

#endif
