// The entries of a program as a device gets them: one for each of plan.proto,
// with operands that are resolved to addresses of the device's memory, and
// checked. An operand that an entry lacks is an empty Tensor.
#ifndef SHARDC_RUNTIME_DEVICE_ENTRIES_H
#define SHARDC_RUNTIME_DEVICE_ENTRIES_H

#include "runtime/base/Tensor.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Optimizers.h"
#include "runtime/device/StepNumbers.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace shardc::runtime::entry {

struct Launch {
  uint32_t kernel;
  /// Contiguous; outputs may be inputs' bytes.
  std::vector<Tensor> inputs, outputs;
};

/// A 2-d or batched operand of a product, as it is after op().
struct Matrix {
  Tensor tensor;
  int64_t batch = 1, batchStride = 0, rows = 0, columns = 0;
  int64_t stride = 0; // elements between rows as stored
};
struct Gemm {
  Matrix a, b, c;
  Tensor bias, workspace;
  bool transposeA = false, transposeB = false, accumulate = false;
};

struct AttentionOperands {
  Tensor query, key, value, bias, keyMask;
  double scale = 1;
  bool causal = false;
};
struct Attention {
  AttentionOperands operands;
  Tensor output, logSumExp, workspace;
};
struct AttentionGrad {
  AttentionOperands operands;
  Tensor gradient, output, logSumExp;
  Tensor queryGradient, keyGradient, valueGradient, workspace;
};

struct Labels {
  Tensor labels;
  int64_t ignoreIndex = -100, shift = 0;
};
struct CrossEntropy {
  Tensor logits;
  Labels labels;
  Tensor scale, loss, workspace;
};
struct CrossEntropyGrad {
  Tensor gradient, logits;
  Labels labels;
  Tensor scale, logitsGradient;
};
struct LinearCrossEntropy {
  Tensor input, weight, bias;
  Labels labels;
  Tensor scale;
  bool transposeWeight = false;
  Tensor loss, inputGradient, weightGradient, biasGradient, workspace;
  int64_t chunkRows = 0;
};

struct Embedding {
  Tensor table, ids, output;
};
struct EmbeddingGrad {
  Tensor gradient, ids, tableGradient;
  bool accumulate = false;
};
struct Copy {
  Tensor source, destination; // any strides
};
struct Fill {
  Tensor destination;
  double value;
};
struct IndexCall {
  std::string function;
  std::vector<Tensor> inputs, outputs; // contiguous
  std::map<std::string, int64_t> numbers;
};

struct GradientNorm {
  std::vector<Tensor> gradients;
  std::vector<int64_t> slices;
  Tensor result;
};
struct Accumulate {
  Tensor value, accumulator;
};
/// [begin, end) of an optimizer slice: trained elements with equal numbers.
struct Range {
  int64_t begin, end;
  ParameterNumbers numbers = {};
};
/// Writes nothing, and a number other than 0 to `skipped`, where the norm or
/// the loss is not finite: both are sums over all ranks, so all write, or none.
struct OptimizerStep {
  OptimizerKind kind;
  Tensor master, gradient;
  std::vector<Tensor> states; // of the master's type
  std::vector<Range> ranges;
  Tensor copy;    // where the master is written a second time, rounded
  Tensor norm;    // the sum of powers, float64
  Tensor loss;    // a metric's slot, float64
  Tensor skipped; // float64
};
/// Keeps a value, as float64.
struct Metric {
  Tensor value, slot;
};

// Collectives: begun under an id, waited for by it. An id is free again behind
// its wait, and for what is finished apart behind that.

struct StartAllGather {
  uint32_t id;
  Communicator *group;
  Tensor shard, gathered;
};
struct StartReduceScatter {
  uint32_t id;
  Communicator *group;
  Tensor flat, shard;
};
struct StartAllReduce {
  uint32_t id;
  Communicator *group;
  std::vector<Tensor> values;
  std::vector<bool> norms; // combined as the run's norm asks for
};
/// All ranks of the group have come here, when it is waited for.
struct StartBarrier {
  uint32_t id;
  Communicator *group;
};
/// The results are there; with `finishes`, no other rank reads this one's
/// buffers any more.
struct Wait {
  uint32_t id;
  bool finishes;
};
/// The same of collectives that were waited for without it: those of `ids`
/// that are open.
struct Finish {
  std::vector<uint32_t> ids;
};

/// The kinds that become one entry of the same name, once their operands are
/// resolved and checked.
#define SHARDC_COMPUTE_ENTRIES(KIND)                                           \
  KIND(Launch)                                                                 \
  KIND(Gemm)                                                                   \
  KIND(Attention)                                                              \
  KIND(AttentionGrad)                                                          \
  KIND(CrossEntropy)                                                           \
  KIND(CrossEntropyGrad)                                                       \
  KIND(LinearCrossEntropy)                                                     \
  KIND(Embedding)                                                              \
  KIND(EmbeddingGrad)                                                          \
  KIND(Copy)                                                                   \
  KIND(Fill)                                                                   \
  KIND(IndexCall)                                                              \
  KIND(GradientNorm)
/// Those for which the program has more to do.
#define SHARDC_PROGRAM_ENTRIES(KIND)                                           \
  KIND(Accumulate)                                                             \
  KIND(OptimizerStep)                                                          \
  KIND(Metric)                                                                 \
  KIND(StartAllGather)                                                         \
  KIND(StartReduceScatter)                                                     \
  KIND(StartAllReduce)                                                         \
  KIND(StartBarrier)                                                           \
  KIND(Wait)                                                                   \
  KIND(Finish)

template <typename, typename... Kinds> struct VariantOf {
  using type = std::variant<Kinds...>;
};
#define SHARDC_ALTERNATIVE(Kind) , Kind
using Any = VariantOf<void SHARDC_COMPUTE_ENTRIES(SHARDC_ALTERNATIVE)
                          SHARDC_PROGRAM_ENTRIES(SHARDC_ALTERNATIVE)>::type;
#undef SHARDC_ALTERNATIVE

} // namespace shardc::runtime::entry

#endif
