// The samples of a run: binding of files to inputs, and the copy of a batch.
#include "runtime/data/Dataset.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Suggest.h"
#include "runtime/data/LossNormalization.h"

#include <algorithm>
#include <cstring>

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

/// Integers widen where no value is lost; floats become the program's compute
/// type.
static bool accepts(plan::DType expected, plan::DType got) {
  if (expected == got)
    return true;
  if (expected == plan::INT64)
    return got == plan::INT32;
  if (expected == plan::BOOL)
    return got == plan::UINT8;
  return isFloat(expected) && isFloat(got);
}

void Dataset::checkNames(const std::vector<NamedFile> &files) const {
  std::vector<std::string> names;
  for (const plan::Input &input : plan.inputs())
    if (input.role() != "loss_scale")
      names.push_back(input.name());
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string &name = files[i].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string all;
      for (const std::string &known : names)
        all += (all.empty() ? "" : ", ") + known;
      fail(flag, " ", name, ": the model has no such input",
           suggestion(name, names), "; its inputs are ", all);
    }
    for (size_t j = 0; j < i; ++j)
      if (files[j].name == name)
        fail(flag, " ", name, " is given twice: ", files[j].path, " and ",
             files[i].path);
  }
}

const NamedFile &Dataset::findFile(const std::vector<NamedFile> &files,
                                   const plan::Input &input) const {
  for (const NamedFile &file : files)
    if (file.name == input.name())
      return file;
  std::string shape = "samples";
  for (int axis = 1; axis < input.tensor().shape_size(); ++axis)
    shape += concat(", ", input.tensor().shape(axis));
  fail("input ", input.name(), " has no values; give ", flag, " ", input.name(),
       "=FILE.npy, ", dtypeName(input.tensor().dtype()), " [", shape, "]");
}

static void checkArray(const plan::Input &input, const NpyArray &array) {
  const plan::Tensor &tensor = input.tensor();
  std::vector<int64_t> expected(tensor.shape().begin(), tensor.shape().end());
  std::vector<int64_t> got = array.shape();
  expected[0] = got[0];
  if (expected != got)
    fail(array.path(), ": expects shape ", shapeText(expected), " for input ",
         input.name(), ", got ", shapeText(got));
  if (!accepts(tensor.dtype(), array.dtype()))
    fail(array.path(), ": expects ", dtypeName(tensor.dtype()), " for input ",
         input.name(), ", got ", dtypeName(array.dtype()));
}

Dataset::Dataset(const plan::Plan &plan, const std::vector<NamedFile> &files,
                 const std::string &flag)
    : plan(plan), flag(flag) {
  checkNames(files);
  inputs.resize(plan.inputs_size());
  const NpyArray *first = nullptr;
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const plan::Input &input = plan.inputs(i);
    if (!isGiven(input))
      continue;
    inputs[i].emplace(findFile(files, input).path);
    const NpyArray &array = *inputs[i];
    checkArray(input, array);
    if (!first)
      first = &array;
    if (array.samples() != first->samples())
      fail(array.path(), ": has ", array.samples(), " samples, and ",
           first->path(), " has ", first->samples());
  }
  sampleCount = first ? first->samples() : 0;
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const auto &array = inputs[i];
    if (!array || !plan.inputs(i).bounded() ||
        sampleCount * array->sampleBytes() > checkedBytes)
      continue;
    checkAll(i);
  }
}

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

void Dataset::checkAll(int index) const {
  constexpr int64_t chunkBytes = 1 << 20;
  const NpyArray &array = *inputs[index];
  int64_t most = std::max<int64_t>(
      1, chunkBytes / std::max<int64_t>(1, array.sampleBytes()));
  most = std::min(most, sampleCount);
  std::vector<std::byte> values(most * array.sampleBytes());
  for (int64_t first = 0; first < sampleCount; first += most) {
    int64_t count = std::min(most, sampleCount - first);
    array.read(first, count, values.data());
    checkBounds(index, first, count, values.data());
  }
}

void Dataset::checkBounds(int index, int64_t first, int64_t samples,
                          const std::byte *values) const {
  const plan::Input &input = plan.inputs(index);
  const NpyArray &array = *inputs[index];
  std::optional<int64_t> ignored;
  if (&input == labelsOf(plan))
    ignored = plan.loss().ignore_index();
  int64_t count = samples * array.sampleElements();
  int64_t at = array.dtype() == plan::INT32
                   ? firstOutside<int32_t>(input, ignored, values, count)
               : array.dtype() == plan::INT64
                   ? firstOutside<int64_t>(input, ignored, values, count)
                   : -1;
  if (at < 0)
    return;
  int64_t value = 0;
  convertElements(values + at * elementSize(array.dtype()), array.dtype(),
                  &value, plan::INT64, 1);
  int64_t sample = first + at / array.sampleElements();
  at %= array.sampleElements();
  // The position by axis, without the axis of samples.
  std::vector<int64_t> position(array.shape().begin() + 1, array.shape().end());
  for (size_t axis = position.size(); axis-- > 0;) {
    int64_t dim = position[axis];
    position[axis] = at % dim;
    at /= dim;
  }
  fail(array.path(), ": sample ", sample,
       position.empty() ? "" : " at " + shapeText(position), ": ", value,
       " is not one of the values ", input.min_value(), " to ",
       input.max_value(), ignored ? concat(" or ", *ignored) : "", " of input ",
       input.name());
}

void Dataset::load(int index, std::span<const int64_t> samples,
                   std::byte *destination) const {
  const plan::Input &input = plan.inputs(index);
  const NpyArray &array = *inputs[index];
  plan::DType dtype = input.tensor().dtype();
  size_t stride = array.sampleElements() * elementSize(dtype);
  bool converts = array.dtype() != dtype;
  std::vector<std::byte> stored; // values that are still to be converted
  for (size_t i = 0; i < samples.size();) {
    if (samples[i] == padding && &input == labelsOf(plan) && !isFloat(dtype)) {
      int64_t ignored = plan.loss().ignore_index();
      for (int64_t j = 0; j < array.sampleElements(); ++j)
        convertElements(&ignored, plan::INT64,
                        destination + j * elementSize(dtype), dtype, 1);
      destination += stride;
      ++i;
      continue;
    }
    int64_t first = samples[i] == padding ? 0 : samples[i];
    // Samples that follow one another are read at once.
    int64_t count = 1;
    while (i + count < samples.size() && samples[i + count] == first + count)
      ++count;
    std::byte *values = destination;
    if (converts) {
      stored.resize(count * array.sampleBytes());
      values = stored.data();
    }
    // What is checked is what is used, also where the file is overwritten.
    array.read(first, count, values);
    if (input.bounded())
      checkBounds(index, first, count, values);
    if (converts)
      convertElements(values, array.dtype(), destination, dtype,
                      count * array.sampleElements());
    destination += count * stride;
    i += count;
  }
}

} // namespace shardc::runtime
