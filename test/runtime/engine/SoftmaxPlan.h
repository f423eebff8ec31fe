// A whole small plan, written by hand: a linear layer with cross entropy,
// trained by AdamW on meshes of 1, 2 and 3 ranks.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_SOFTMAXPLAN_H
#define SHARDC_TEST_RUNTIME_ENGINE_SOFTMAXPLAN_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime::softmax {

inline constexpr int64_t features = 3, classes = 4, globalBatch = 6;
inline constexpr int64_t weights = classes * features;
inline constexpr int64_t flatElements =
    24; // 16 and padding, divisible by 1, 2 and 3
inline constexpr int64_t steps = 4;

/// sums[j] = sum of column j: a stand-in for a generated kernel whose work
/// items are columns.
template <typename T>
void columnSums(void *const *arguments, int64_t begin, int64_t end) {
  const T *rows = static_cast<const T *>(arguments[0]);
  int64_t count = *static_cast<const int64_t *>(arguments[1]);
  T *sums = static_cast<T *>(arguments[2]);
  for (int64_t j = begin; j < end; ++j) {
    sums[j] = 0;
    for (int64_t i = 0; i < count; ++i)
      sums[j] += rows[i * classes + j];
  }
}

/// Builds the plan for `ranks` ranks, sharded or not.
template <typename T> class SoftmaxPlan {
public:
  SoftmaxPlan(int64_t ranks, bool sharded);

  plan::Plan plan;
  int64_t batch, shards;
  bool sharded;
  uint32_t parameters, input, labels, scale, one, rowCount, gathered, logits,
      loss, norm, exact, flat, gradient, workspace;

  plan::Tensor tensor(uint32_t id, std::vector<int64_t> shape,
                      plan::DType type = dtype, int64_t offset = 0);

private:
  static constexpr plan::DType dtype =
      sizeof(T) == 4 ? plan::FLOAT32 : plan::FLOAT64;

  uint32_t buffer(const char *name, uint32_t pool, int64_t bytes);
  void addParameter(const char *name, std::vector<int64_t> shape,
                    int64_t offset);
  plan::Entry *entry(plan::Program *program, const char *name,
                     const char *phase);

  void gatherAndPredict(plan::Program *program, const char *phase);
  void lossAndReport(plan::Program *program, bool withGradient);
  void backward(plan::Program *program);
  void train();
};

} // namespace shardc::runtime::softmax

#endif
