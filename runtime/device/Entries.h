// The entries of a program as a device gets them: one for each of plan.proto,
// with operands that are resolved to addresses of the device's memory, and
// checked. An operand that an entry lacks is an empty Tensor.
#ifndef SHARDC_RUNTIME_DEVICE_ENTRIES_H
#define SHARDC_RUNTIME_DEVICE_ENTRIES_H

#include "runtime/base/Tensor.h"
#include "runtime/device/CollectiveEntries.h"
#include "runtime/device/Optimizers.h"
#include "runtime/device/StepNumbers.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace shardc::runtime::entry {

// Each kind lists its operands: visitOperands calls visit(tensor, access, name),
// also for those that the entry lacks. A collective's are those that it has
// from its start until it has ended.

struct Launch {
  uint32_t kernel;
  /// Contiguous; outputs may be inputs' bytes.
  std::vector<Tensor> inputs, outputs;

  static void visitOperands(auto &self, const auto &visit) {
    for (auto &input : self.inputs)
      visit(input, Access::Read, "input");
    for (auto &output : self.outputs)
      visit(output, Access::Write, "output");
  }
};

/// A 2-d or batched operand of a product, as it is after op().
struct Matrix {
  Tensor tensor;
  int64_t batch = 1, batchStride = 0, rows = 0, columns = 0;
  int64_t stride = 0; // elements between rows as stored
};
struct Gemm {
  Matrix a, b, c;
  Matrix residual; // without a tensor: none
  Tensor bias, biasGradient, workspace;
  bool transposeA = false, transposeB = false, accumulate = false;
  bool gradientOfA = false;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.a.tensor, Access::Read, "a");
    visit(self.b.tensor, Access::Read, "b");
    visit(self.bias, Access::Read, "bias");
    visit(self.residual.tensor, Access::Read, "residual");
    visit(self.c.tensor, self.accumulate ? Access::Update : Access::Write, "c");
    visit(self.biasGradient, Access::Write, "bias_gradient");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};

struct AttentionOperands {
  Tensor query, key, value, bias, keyMask;
  Tensor sinks; // [H], query's type or float32
  double scale = 1, softcap = 0;
  /// Keys before and behind a query's own, i + Sk - Sq, that it sees; -1: all.
  int64_t left = -1, right = -1;
  Tensor words; // int32 [8]: what drops probabilities, if anything does
  /// Row i of the scores [B, H, Sq] belongs to sample i / rowStride % samples;
  /// samples = 0: all samples are dropped alike.
  int64_t samples = 0, rowStride = 0;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.query, Access::Read, "query");
    visit(self.key, Access::Read, "key");
    visit(self.value, Access::Read, "value");
    visit(self.bias, Access::Read, "bias");
    visit(self.keyMask, Access::Read, "key_mask");
    visit(self.sinks, Access::Read, "sinks");
    visit(self.words, Access::Read, "words");
  }
};
struct Attention {
  AttentionOperands operands;
  Tensor output, logSumExp, workspace;

  static void visitOperands(auto &self, const auto &visit) {
    AttentionOperands::visitOperands(self.operands, visit);
    visit(self.output, Access::Write, "output");
    visit(self.logSumExp, Access::Write, "log_sum_exp");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};
struct AttentionGrad {
  AttentionOperands operands;
  Tensor gradient, output, logSumExp;
  Tensor queryGradient, keyGradient, valueGradient, workspace;

  static void visitOperands(auto &self, const auto &visit) {
    AttentionOperands::visitOperands(self.operands, visit);
    visit(self.gradient, Access::Read, "gradient");
    visit(self.output, Access::Read, "output");
    visit(self.logSumExp, Access::Read, "log_sum_exp");
    visit(self.queryGradient, Access::Write, "query_gradient");
    visit(self.keyGradient, Access::Write, "key_gradient");
    visit(self.valueGradient, Access::Write, "value_gradient");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};

struct Labels {
  Tensor labels;
  int64_t ignoreIndex = -100, shift = 0;
  double smoothing = 0; // how much of a label is of all classes alike
  Tensor classWeights;  // [classes]; optional
};
struct CrossEntropy {
  Tensor logits;
  Labels labels;
  Tensor scale, loss, correct, workspace;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.logits, Access::Read, "logits");
    visit(self.labels.labels, Access::Read, "labels");
    visit(self.labels.classWeights, Access::Read, "class_weights");
    visit(self.scale, Access::Read, "scale");
    visit(self.loss, Access::Write, "loss");
    visit(self.correct, Access::Write, "correct");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};
struct CrossEntropyGrad {
  Tensor gradient, logits;
  Labels labels;
  Tensor scale, logitsGradient;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.gradient, Access::Read, "gradient");
    visit(self.logits, Access::Read, "logits");
    visit(self.labels.labels, Access::Read, "labels");
    visit(self.labels.classWeights, Access::Read, "class_weights");
    visit(self.scale, Access::Read, "scale");
    visit(self.logitsGradient, Access::Write, "logits_gradient");
  }
};
struct LinearCrossEntropy {
  Tensor input, weight, bias;
  Labels labels;
  Tensor scale;
  bool transposeWeight = false;
  Tensor loss, inputGradient, weightGradient, biasGradient, correct, workspace;
  int64_t chunkRows = 0;
  double softcap = 0; // of logits; 0: none

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.input, Access::Read, "input");
    visit(self.weight, Access::Read, "weight");
    visit(self.bias, Access::Read, "bias");
    visit(self.labels.labels, Access::Read, "labels");
    visit(self.labels.classWeights, Access::Read, "class_weights");
    visit(self.scale, Access::Read, "scale");
    visit(self.loss, Access::Write, "loss");
    visit(self.inputGradient, Access::Write, "input_gradient");
    visit(self.weightGradient, Access::Write, "weight_gradient");
    visit(self.biasGradient, Access::Write, "bias_gradient");
    visit(self.correct, Access::Write, "correct");
    visit(self.workspace, Access::Scratch, "workspace");
  }
};

struct Embedding {
  Tensor table, ids, output;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.table, Access::Read, "table");
    visit(self.ids, Access::Read, "ids");
    visit(self.output, Access::Write, "output");
  }
};
/// With `parts` > 1 the positions are as many equal parts, as of several ranks:
/// each is added up on its own, and then to the table, in their order. A table
/// that is `running` holds what earlier micro-batches of the step added up.
struct EmbeddingGrad {
  Tensor gradient, ids, tableGradient;
  bool accumulate = false;
  int64_t parts = 1;
  bool running = false;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.gradient, Access::Read, "gradient");
    visit(self.ids, Access::Read, "ids");
    visit(self.tableGradient,
          self.running      ? Access::MayWrite
          : self.accumulate ? Access::Update
                            : Access::Write,
          "table_gradient");
  }
};
/// Of each row, values.shape.back() elements and their places.
struct TopK {
  Tensor input, values, indices; // contiguous
  bool smallest = false;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.input, Access::Read, "input");
    visit(self.values, Access::Write, "values");
    visit(self.indices, Access::Write, "indices");
  }
};
struct Copy {
  Tensor source, destination; // any strides

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.source, Access::Read, "source");
    visit(self.destination, Access::Write, "destination");
  }
};
struct Fill {
  Tensor destination;
  double value;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.destination, Access::Write, "destination");
  }
};
struct IndexCall {
  std::string function;
  std::vector<Tensor> inputs, outputs; // contiguous
  std::map<std::string, int64_t> numbers;

  static void visitOperands(auto &self, const auto &visit) {
    for (auto &input : self.inputs)
      visit(input, Access::Read, "input");
    for (auto &output : self.outputs)
      visit(output, Access::Write, "output");
  }
};

/// Rows of a parameter in a flat gradient: `count` rows of `width` elements from
/// `begin` on. No mesh cuts one.
struct Rows {
  int64_t begin, count, width;
};
/// Each row is added up on its own; the rows, and what is previous, exactly.
struct GradientNorm {
  std::vector<Tensor> gradients;
  std::vector<std::vector<Rows>> rows; // of each gradient
  Tensor previous, result;             // int64, as ExactSum::store has it

  static void visitOperands(auto &self, const auto &visit) {
    for (auto &gradient : self.gradients)
      visit(gradient, Access::Read, "gradient");
    visit(self.previous, Access::Read, "previous");
    visit(self.result, Access::Write, "result");
  }
};
/// A float64 as an ExactSum.
struct ExactSum {
  Tensor value, sum;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.value, Access::Read, "value");
    visit(self.sum, Access::Write, "sum");
  }
};
/// The float64 next to an ExactSum, or to what the run's norm makes of a norm.
struct RoundSum {
  Tensor sum, value;
  bool norm = false;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.sum, Access::Read, "sum");
    visit(self.value, Access::Write, "value");
  }
};
struct Accumulate {
  Tensor value, accumulator;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.value, Access::Update, "value");
    visit(self.accumulator, Access::MayWrite, "accumulator");
  }
};
/// Trained elements of an optimizer slice, which one formula updates.
struct Range {
  int64_t begin, end;
  ParameterNumbers numbers = {};
  /// Rows of whole matrices, which go along the direction. They have the first
  /// state alone.
  bool isMatrix = false;
  bool isRunning = false; // statistics, without a state: they lose gradients
  /// Where other elements begin in the states behind the first.
  int64_t laterStates = begin;
};
/// Writes nothing, and a number other than 0 to `skipped`, where the norm or
/// the loss is not finite: both are sums over all ranks, so all write, or none.
struct OptimizerStep {
  OptimizerKind kind;
  Tensor master, gradient;
  /// Of split float32 masters, whose `master` is the bf16 part: the rest, as
  /// SplitMaster.h has it. There is no copy then.
  Tensor remainder;
  /// Where whole matrices go, float32 or float64; empty where there are none.
  Tensor direction;
  std::vector<Tensor> states; // of the master's type; float32 where it is split
  std::vector<Range> ranges;
  Tensor copy;    // where the master is written a second time, rounded
  Tensor norm;    // the sum of powers, float64
  Tensor loss;    // a metric's slot, float64
  Tensor skipped; // float64

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.gradient, Access::Read, "gradient");
    visit(self.norm, Access::Read, "norm");
    visit(self.loss, Access::Read, "loss");
    visit(self.direction, Access::Read, "direction");
    visit(self.master, Access::Update, "master");
    visit(self.remainder, Access::Update, "remainder");
    for (auto &state : self.states)
      visit(state, Access::Update, "state");
    visit(self.copy, Access::MayWrite, "parameters");
    visit(self.skipped, Access::MayWrite, "skipped");
  }
};
/// What an optimizer of whole matrices makes of its gradient and state, element
/// by element, for the ranges that are of such. A step that is skipped
/// (OptimizerStep) leaves the state as it is, and the direction is 0.
struct MatrixDirection {
  OptimizerKind kind;
  Tensor gradient, state, norm, loss;
  Tensor direction; // float64 where the state is, else float32
  std::vector<Range> ranges;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.gradient, Access::Read, "gradient");
    visit(self.norm, Access::Read, "norm");
    visit(self.loss, Access::Read, "loss");
    visit(self.state, Access::Update, "state");
    visit(self.direction, Access::MayWrite, "direction");
  }
};
/// Keeps a value, as float64.
struct Metric {
  Tensor value, slot;

  static void visitOperands(auto &self, const auto &visit) {
    visit(self.value, Access::Read, "value");
    visit(self.slot, Access::Write, "slot");
  }
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
  KIND(TopK)                                                                   \
  KIND(Copy)                                                                   \
  KIND(Fill)                                                                   \
  KIND(IndexCall)                                                              \
  KIND(GradientNorm)                                                           \
  KIND(ExactSum)                                                               \
  KIND(RoundSum)
/// Those for which the program has more to do.
#define SHARDC_PROGRAM_ENTRIES(KIND)                                           \
  KIND(Accumulate)                                                             \
  KIND(MatrixDirection)                                                        \
  KIND(OptimizerStep)                                                          \
  KIND(Metric)                                                                 \
  KIND(StartAllGather)                                                         \
  KIND(StartReduceScatter)                                                     \
  KIND(StartAllReduce)                                                         \
  KIND(StartAllToAll)                                                          \
  KIND(StartBarrier)                                                           \
  KIND(Wait)                                                                   \
  KIND(Finish)                                                                 \
  KIND(StartTransfer)                                                          \
  KIND(AwaitTransfer)

template <typename, typename... Kinds> struct VariantOf {
  using type = std::variant<Kinds...>;
};
#define SHARDC_ALTERNATIVE(Kind) , Kind
using Any = VariantOf<void SHARDC_COMPUTE_ENTRIES(SHARDC_ALTERNATIVE)
                          SHARDC_PROGRAM_ENTRIES(SHARDC_ALTERNATIVE)>::type;
#undef SHARDC_ALTERNATIVE

/// Calls visit(tensor, access, name) for every tensor that an entry has. Entry:
/// one of Any's kinds, const or not.
template <typename Entry, typename Visit>
void forOperands(Entry &entry, const Visit &visit) {
  Entry::visitOperands(entry,
                       [&](auto &tensor, Access access, const char *name) {
                         if (tensor)
                           visit(tensor, access, name);
                       });
}

} // namespace shardc::runtime::entry

#endif
