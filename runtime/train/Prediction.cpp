// Outputs of ranks, gathered and written.
#include "runtime/train/Prediction.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime {

namespace {

std::vector<const plan::Output *> outputsOf(const plan::Plan &plan) {
  std::vector<const plan::Output *> outputs;
  for (const plan::Entry &entry : plan.eval().entries())
    if (entry.has_output())
      outputs.push_back(&entry.output());
  return outputs;
}

const char *npyType(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT32:
    return "<f4";
  case plan::FLOAT64:
    return "<f8";
  case plan::INT64:
    return "<i8";
  case plan::INT32:
    return "<i4";
  case plan::INT16:
    return "<i2";
  case plan::INT8:
    return "|i1";
  case plan::UINT64:
    return "<u8";
  case plan::UINT32:
    return "<u4";
  case plan::UINT16:
    return "<u2";
  case plan::UINT8:
    return "|u1";
  case plan::BOOL:
    return "|b1";
  default:
    fail("numpy has no type for ", dtypeName(dtype));
  }
}

/// Of version 1.0; numpy lets data begin at a multiple of 64 bytes.
std::string npyHeader(const plan::Tensor &value, int64_t samples) {
  std::string text =
      concat("{'descr': '", npyType(widenedDtype(value.dtype())),
             "', 'fortran_order': False, 'shape': (", samples, ",");
  for (int dim = 1; dim < value.shape_size(); ++dim)
    text += concat(dim > 1 ? ", " : " ", value.shape(dim));
  text += "), }";
  constexpr size_t before = 10;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

} // namespace

/// One output, on its way from the ranks to the file.
class Gathering {
public:
  Gathering(const plan::Output &output, Rank &rank)
      : rank(rank), slice(rank.tensor(output.value())),
        stored(widenedDtype(slice.dtype)),
        read(slice.elements * elementSize(slice.dtype)),
        own(slice.elements * elementSize(stored)),
        all(own.size() * rank.ranks()),
        bytesOfSample(own.size() / output.value().shape(0)) {}

  /// Puts the ranks' samples, which are in their order, one behind the other.
  std::span<const std::byte> batch(int64_t samples) {
    rank.read(slice, 0, slice.elements, read.data());
    if (stored == slice.dtype)
      own = read;
    else
      convertElements(read.data(), slice.dtype, own.data(), stored,
                      slice.elements);
    Communicator &communicator = rank.communicator();
    communicator.finish(
        communicator.startAllGather(own.data(), all.data(), std::ssize(own)));
    return {all.data(), std::min(all.size(), samples * bytesOfSample)};
  }

private:
  Rank &rank;
  Slice slice;
  plan::DType stored;
  std::vector<std::byte> read, own, all;
  size_t bytesOfSample;
};

const plan::Output &findOutput(const plan::Plan &plan,
                               const PredictOption &option) {
  std::vector<const plan::Output *> outputs = outputsOf(plan);
  if (outputs.empty())
    fail("--predict needs a trainer that was compiled with shardc "
         "--output-values NAME");
  std::string names;
  for (const plan::Output *output : outputs) {
    if (output->name() == option.output ||
        (option.output.empty() && outputs.size() == 1))
      return *output;
    names += (names.empty() ? "" : ", ") + output->name();
  }
  if (option.output.empty())
    fail("--predict ", option.path, " does not say which output; there are ",
         names, ", as in --predict ", outputs[0]->name(), "=", option.path);
  fail("--predict: no output '", option.output,
       "' was compiled with --output-values; there are ", names);
}

PredictionFile::PredictionFile(const plan::Output &output,
                               const std::string &path, int64_t samples)
    : file(path) {
  const plan::Tensor &value = output.value();
  uint64_t bytes = samples * elementSize(widenedDtype(value.dtype()));
  for (int dim = 1; dim < value.shape_size(); ++dim)
    bytes *= value.shape(dim);
  std::string header = npyHeader(value, samples);
  file.checkSpace(header.size() + bytes);
  file.write(header.data(), header.size());
}

Predicting::Predicting(const plan::Plan &plan,
                       const std::vector<PredictOption> &options,
                       int64_t samples, Rank &rank,
                       std::vector<std::unique_ptr<PredictionFile>> &files)
    : samples(samples), files(files) {
  for (const PredictOption &option : options)
    outputs.emplace_back(findOutput(plan, option), rank);
}

Predicting::~Predicting() = default;

void Predicting::take(int64_t first) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::span<const std::byte> rows = outputs[i].batch(samples - first);
    if (i < files.size())
      files[i]->write(rows.data(), rows.size());
  }
}

void Predicting::finish() {
  for (auto &file : files)
    file->commit();
}

} // namespace shardc::runtime
