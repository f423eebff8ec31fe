// The samples of a run: binding of sources to inputs, and the copy of a batch.
#include "runtime/data/Dataset.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Text.h"
#include "runtime/data/ConstantSource.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/MixedSource.h"
#include "runtime/data/OpenSource.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace shardc::runtime {

bool isGiven(const plan::Input &input) {
  return input.has_tensor() && input.role() != "loss_scale";
}

int64_t batchPerRank(const plan::Plan &plan) {
  const plan::Input *first = nullptr;
  for (const plan::Input &input : plan.inputs()) {
    if (!isGiven(input))
      continue;
    if (input.tensor().shape().empty() || input.tensor().shape(0) < 1)
      fail("input ", input.name(), " of the plan has no axis of samples");
    if (!first)
      first = &input;
    if (input.tensor().shape(0) != first->tensor().shape(0))
      fail("inputs disagree about the batch: ", first->name(), " has ",
           first->tensor().shape(0), " samples, ", input.name(), " has ",
           input.tensor().shape(0));
  }
  if (!first)
    fail("the plan has no inputs to train on");
  return first->tensor().shape(0);
}

void Dataset::checkNames(const std::vector<NamedFile> &files) const {
  std::vector<std::string> names;
  for (const plan::Input &input : plan.inputs())
    if (input.role() != "loss_scale")
      names.push_back(input.name());
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string &name = files[i].name;
    if (!name.empty() &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      std::string all;
      for (const std::string &known : names)
        all += (all.empty() ? "" : ", ") + known;
      fail(flag, " ", name, ": the model has no such input",
           suggestion(name, names), "; its inputs are ", all);
    }
    for (size_t j = 0; j < i; ++j)
      if (files[j].name == name &&
          (name.empty() || files[i].isReference() || files[j].isReference() ||
           (files[i].path == files[j].path &&
            files[i].keys.given == files[j].keys.given)))
        fail(flag, name.empty() ? "" : " ", name,
             " is given twice: ", files[j].path, " and ", files[i].path);
  }
}

std::vector<NamedFile> Dataset::findFiles(const std::vector<NamedFile> &files,
                                          const plan::Input &input) const {
  std::vector<NamedFile> found;
  for (const NamedFile &file : files)
    if (file.name == input.name())
      found.push_back(file);
  if (!found.empty())
    return found;
  for (const NamedFile &file : files)
    if (file.syntheticSeed)
      return {file};
  if (mayLackLabels && &input == labelsOf(plan))
    return {};
  std::string shape = "samples";
  for (int axis = 1; axis < input.tensor().shape_size(); ++axis)
    shape += concat(", ", input.tensor().shape(axis));
  fail("input ", input.name(), " has no values; give ", flag, " ", input.name(),
       "=FILE.npy, ", dtypeName(input.tensor().dtype()), " [", shape, "]");
}

std::unique_ptr<Source> Dataset::refer(int index, const NamedFile &file) const {
  const plan::Input &input = plan.inputs(index);
  std::string name = file.path.substr(1);
  std::vector<std::string> names;
  for (int i = 0; i < plan.inputs_size(); ++i) {
    if (i == index || !isGiven(plan.inputs(i)))
      continue;
    names.push_back(plan.inputs(i).name());
    if (names.back() != name)
      continue;
    if (!inputs[i])
      fail(flag, " ", file.name, "=", file.path, ": input ", name,
           " takes what another one has, too; name that one");
    return openReference(plan, input, file, *inputs[i]);
  }
  fail(flag, " ", file.name, "=", file.path, ": the model has no other input ",
       name, suggestion(name, names));
}

Dataset::Dataset(const plan::Plan &plan, const std::vector<NamedFile> &files,
                 const std::string &flag, std::optional<int64_t> limit,
                 bool mayLackLabels)
    : plan(plan), flag(flag), mayLackLabels(mayLackLabels) {
  checkNames(files);
  open(files);
  const Source *first = nullptr;
  for (const std::unique_ptr<Source> &source : inputs) {
    if (!source || source->samples() == Source::anyNumber)
      continue;
    if (!first)
      first = source.get();
    if (source->samples() != first->samples())
      fail(source->name(), ": has ", source->samples(), " samples, and ",
           first->name(), " has ", first->samples());
  }
  sampleCount = first ? first->samples() : limit.value_or(syntheticSamples);
  sampleCount = std::min(sampleCount, limit.value_or(sampleCount));
  for (int i = 0; i < plan.inputs_size(); ++i)
    if (hasBounds(i) && isChecked(i))
      checkAll(i);
}

bool Dataset::isChecked(int index) const {
  return sampleCount <=
         checkedBytes /
             std::max<int64_t>(1, SampleType(plan.inputs(index)).bytes);
}

void Dataset::checkValues() const {
  for (int i = 0; i < plan.inputs_size(); ++i)
    if (hasBounds(i) && !isChecked(i))
      checkAll(i);
}

void Dataset::open(const std::vector<NamedFile> &files) {
  inputs.resize(plan.inputs_size());
  // What others refer to is opened before them.
  std::vector<std::unique_ptr<Source>> references(inputs.size());
  for (bool isReference : {false, true}) {
    for (int i = 0; i < plan.inputs_size(); ++i) {
      const plan::Input &input = plan.inputs(i);
      if (!isGiven(input))
        continue;
      std::vector<NamedFile> found = findFiles(files, input);
      if (found.empty()) {
        isWithoutLabels = true;
        bool isIgnored = plan.loss().kind() == "cross_entropy";
        inputs[i] = std::make_unique<ConstantSource>(
            input, isIgnored ? plan.loss().ignore_index() : 0);
        continue;
      }
      if (found.front().isReference() != isReference)
        continue;
      if (isReference)
        references[i] = refer(i, found.front());
      else
        inputs[i] = openSources(input, found);
    }
  }
  checkMixtures();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (references[i])
      inputs[i] = std::move(references[i]);
}

void Dataset::checkMixtures() const {
  const Source *mixed = nullptr;
  for (const auto &source : inputs)
    if (source && source->mixture())
      mixed = source.get();
  for (const auto &source : inputs) {
    if (!mixed || !source || source->samples() == Source::anyNumber ||
        (source->mixture() && *source->mixture() == *mixed->mixture()))
      continue;
    fail(flag, " ", mixed->sampleType().input, " is a mixture, and ",
         source->sampleType().input,
         " is not of as many parts with the same weights and numbers of "
         "samples; give it so, or as @",
         mixed->sampleType().input);
  }
}

const Mixture *Dataset::mixture() const {
  for (const auto &source : inputs)
    if (source && source->mixture())
      return source->mixture();
  return nullptr;
}

std::vector<std::string> Dataset::leftOutTexts() const {
  std::vector<std::string> all;
  for (int i = 0; i < plan.inputs_size(); ++i)
    if (inputs[i])
      for (const std::string &text : inputs[i]->leftOutTexts())
        all.push_back(concat(plan.inputs(i).name(), ": ", text));
  return all;
}

std::vector<NamedFile> Dataset::files() const {
  std::vector<NamedFile> all;
  for (int i = 0; i < plan.inputs_size(); ++i)
    if (inputs[i])
      for (const std::string &path : inputs[i]->paths())
        all.push_back({plan.inputs(i).name(), path});
  return all;
}

/// The first element outside of the input's bounds; negative for none.
template <typename Integer>
static int64_t firstOutside(const plan::Input &input,
                            std::optional<int64_t> ignored,
                            const std::byte *values, int64_t count) {
  int64_t low = input.min_value(), high = input.max_value();
  for (int64_t i = 0; i < count; ++i) {
    Integer value;
    std::memcpy(&value, values + i * sizeof(Integer), sizeof(Integer));
    if ((value < low || value > high) && value != ignored)
      return i;
  }
  return -1;
}

template <typename Use> void Dataset::readAll(int index, Use use) const {
  constexpr int64_t chunkBytes = 1 << 20;
  SampleType type(plan.inputs(index));
  int64_t most =
      std::max<int64_t>(1, chunkBytes / std::max<int64_t>(1, type.bytes));
  most = std::min(most, sampleCount);
  std::vector<std::byte> values(most * type.bytes);
  for (int64_t first = 0; first < sampleCount; first += most) {
    int64_t count = std::min(most, sampleCount - first);
    inputs[index]->read(first, count, values.data());
    if (!use(first, count, values.data()))
      return;
  }
}

void Dataset::checkAll(int index) const {
  readAll(index, [&](int64_t first, int64_t count, const std::byte *values) {
    checkBounds(index, first, count, values);
    return true;
  });
}

void Dataset::checkLabels(const char *flag) const {
  if (!countsLabels(plan.loss()) || !labelsOf(plan) || sampleCount == 0 ||
      isWithoutLabels)
    return;
  int index = labelsIndex(plan);
  plan::Tensor labels = plan.inputs(index).tensor();
  double weight = 0;
  readAll(index, [&](int64_t, int64_t count, const std::byte *values) {
    labels.set_shape(0, count);
    weight = runtime::countLabels(plan.loss(), labels, values).weight;
    return weight == 0;
  });
  if (weight == 0)
    fail(flag, ": none of the ", sampleCount,
         " samples has a label that is counted: all of them are ",
         plan.loss().ignore_index(), ", which the loss ignores",
         plan.loss().class_weights_size() ? ", or of classes whose weight is 0"
                                          : "");
}

Dataset::LabelCount Dataset::countLabels() const {
  int index = labelsIndex(plan);
  plan::Tensor labels = plan.inputs(index).tensor();
  LabelCount result;
  readAll(index, [&](int64_t, int64_t count, const std::byte *values) {
    labels.set_shape(0, count);
    result.valid += runtime::countLabels(plan.loss(), labels, values).count;
    return true;
  });
  SampleType type(plan.inputs(index));
  int64_t length = labels.shape(labels.shape_size() - 1);
  if (labels.shape_size() == 1)
    result.all = sampleCount;
  else if (length > 0)
    result.all = sampleCount * (type.elements / length) *
                 std::max<int64_t>(0, length - plan.loss().shift());
  return result;
}

void Dataset::checkBounds(int index, int64_t first, int64_t samples,
                          const std::byte *values) const {
  const plan::Input &input = plan.inputs(index);
  SampleType type(input);
  std::optional<int64_t> ignored;
  if (&input == labelsOf(plan))
    ignored = plan.loss().ignore_index();
  int64_t count = samples * type.elements;
  int64_t at = type.dtype == plan::INT32
                   ? firstOutside<int32_t>(input, ignored, values, count)
               : type.dtype == plan::INT64
                   ? firstOutside<int64_t>(input, ignored, values, count)
                   : -1;
  if (at < 0)
    return;
  int64_t value = 0;
  convertElements(values + at * elementSize(type.dtype), type.dtype, &value,
                  plan::INT64, 1);
  fail(inputs[index]->where(first + at / type.elements, at % type.elements),
       ": ", value, " is not one of the values ", input.min_value(), " to ",
       input.max_value(), ignored ? concat(" or ", *ignored) : "", " of input ",
       input.name());
}

std::string Dataset::notFiniteText(std::span<const int64_t> samples) const {
  for (int index = 0; index < plan.inputs_size(); ++index) {
    SampleType type(plan.inputs(index));
    if (!inputs[index] || !isFloat(type.dtype))
      continue;
    std::vector<std::byte> stored(type.bytes);
    std::vector<double> values(type.elements);
    for (int64_t sample : samples) {
      inputs[index]->read(sample, 1, stored.data());
      convertElements(stored.data(), type.dtype, values.data(), plan::FLOAT64,
                      type.elements);
      auto wrong = std::ranges::find_if_not(
          values, [](double value) { return std::isfinite(value); });
      if (wrong != values.end())
        return concat(inputs[index]->where(sample, wrong - values.begin()),
                      ": ", numberText(*wrong), " is no ",
                      dtypeName(type.dtype), " to train on, of input ",
                      plan.inputs(index).name());
    }
  }
  return "";
}

void Dataset::load(int index, std::span<const int64_t> samples,
                   std::byte *destination) const {
  const plan::Input &input = plan.inputs(index);
  SampleType type(input);
  for (size_t i = 0; i < samples.size();) {
    if (samples[i] == padding && &input == labelsOf(plan) &&
        !isFloat(type.dtype)) {
      int64_t ignored = plan.loss().ignore_index();
      for (int64_t j = 0; j < type.elements; ++j)
        convertElements(&ignored, plan::INT64,
                        destination + j * elementSize(type.dtype), type.dtype,
                        1);
      destination += type.bytes;
      ++i;
      continue;
    }
    int64_t first = samples[i] == padding ? 0 : samples[i];
    // Samples that follow one another are read at once.
    int64_t count = 1;
    while (i + count < samples.size() && samples[i + count] == first + count)
      ++count;
    // What is checked is what is used, also where the file is overwritten.
    inputs[index]->read(first, count, destination);
    if (input.bounded() && !inputs[index]->isWithinBounds())
      checkBounds(index, first, count, destination);
    destination += count * type.bytes;
    i += count;
  }
}

} // namespace shardc::runtime
