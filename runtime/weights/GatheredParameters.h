// Whole parameters, gradients or states of which every rank holds a slice, for
// the one rank that writes or compares them.
#ifndef SHARDC_RUNTIME_WEIGHTS_GATHEREDPARAMETERS_H
#define SHARDC_RUNTIME_WEIGHTS_GATHEREDPARAMETERS_H

#include "runtime/engine/Executor.h"
#include "runtime/weights/ParameterSource.h"

namespace shardc::runtime {

/// Exports gather and write so many bytes at a time.
inline constexpr int64_t chunkBytes = int64_t{4} << 20;

/// Made by all ranks together. One of them, the first, reads; the others serve.
/// A range that is asked for travels as a sum over the ranks, of integers: what
/// a rank does not hold is zeros. So nothing is asked of a communicator that it
/// does not have, and the bits stay as they are.
class GatheredParameters : public ParameterSource {
public:
  /// Parameters: the master weights of trained parameters; those that are not
  /// trained are read from `initial`, unrounded. Gradients: what the optimizer
  /// is about to read (Rank::gradientSlice), StepNumbers::gradientFactor not
  /// included; of trained parameters alone. States: the `state`-th of
  /// Optimizer.states, of parameters that have it.
  enum class Values { Parameters, Gradients, States };
  GatheredParameters(const plan::Plan &plan, Rank &rank, Values values,
                     const ParameterSource *initial, int state = 0);

  /// Of the reader: one thread at a time.
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;
  /// Of the reader, in the end: lets the others go.
  void finish() const;
  /// Of the others: returns when the reader has finished.
  void serve() const;

private:
  /// A range of a parameter's elements.
  struct Request {
    int64_t parameter = -1; // none: the reader has finished
    int64_t begin = 0, end = 0;
  };
  Request agree(const Request &asked) const;
  /// The elements of a range, padded to whole words.
  std::vector<int64_t> exchange(const Request &request) const;
  plan::DType typeOf(const plan::Unit &unit) const;
  Slice sliceOf(const plan::Unit &unit, uint32_t parameter) const;

  const plan::Plan &plan;
  Rank &rank;
  Values values;
  const ParameterSource *initial;
  int state;
};

} // namespace shardc::runtime

#endif
