// A plan made by hand: a linear classifier with cross entropy, sharded as one
// unit. Small enough to check by hand, and all of it is library calls: no
// kernels.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_LINEARPLAN_H
#define SHARDC_TEST_RUNTIME_ENGINE_LINEARPLAN_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <initializer_list>
#include <string>

/// logits = x weight^T + bias, x [batch, 3], weight [4, 3], bias [4], labels
/// [batch], float64.
class LinearPlan {
public:
  static constexpr int64_t inputs = 3, classes = 4;

  LinearPlan(int64_t ranks, int64_t batch);

  shardc::plan::Plan plan;

private:
  uint32_t buffer(const std::string &name, uint32_t pool, int64_t bytes);
  static shardc::plan::Tensor
  tensor(uint32_t buffer, std::initializer_list<int64_t> shape,
         shardc::plan::DType dtype = shardc::plan::FLOAT64, int64_t offset = 0);
  void addParameter(const std::string &name,
                    std::initializer_list<int64_t> shape, int64_t offset);
  void addUnit();
  void addInputs();
  /// Gathers, computes the loss (and gradients), and starts what comes after.
  void addCompute(shardc::plan::Program *program, bool trains);
  void buildPrograms();

  /// An entry that runs once per step, in the last micro-batch.
  static shardc::plan::Entry *atEnd(shardc::plan::Program *program);
  void addAccumulate(shardc::plan::Program *program,
                     const shardc::plan::Tensor &value);
  void addFill(shardc::plan::Program *program, uint32_t destination);
  void addMetric(shardc::plan::Program *program, const char *name,
                 uint32_t value);

  int64_t ranks, batch, elements;
  shardc::plan::Tensor x, labels;
  uint32_t gathered, gradient, loss, workspace;
};

#endif
