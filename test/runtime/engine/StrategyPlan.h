// Plans made by hand for all strategies: what happens to parameters and flat
// gradients in a step, without a model. The test writes the gradients.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_STRATEGYPLAN_H
#define SHARDC_TEST_RUNTIME_ENGINE_STRATEGYPLAN_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// Where gradients are added over micro-batches, if at all.
enum class Accumulated { Never, Flat, Reduced };

struct Strategy {
  const char *name;
  std::vector<int64_t> dims, shardDims, optimizerDims;

  int64_t product(const std::vector<int64_t> &over) const {
    int64_t count = 1;
    for (int64_t dim : over)
      count *= dims[dim];
    return count;
  }
  int64_t ranks() const {
    int64_t count = 1;
    for (int64_t size : dims)
      count *= size;
    return count;
  }
};
struct Types {
  const char *name;
  plan::DType parameters, gradients, master;
};

/// A trained unit of "weight" [5, 3] and "bias" [4], and a frozen one of
/// "table" [7]; SGD without momentum.
class StrategyPlan {
public:
  static constexpr int64_t elements = 24, trained = 19, weights = 15,
                           frozen = 8, frozenValues = 7;
  enum Group { World, Replicate, Shard, Pairs };

  StrategyPlan(const Strategy &strategy, const Types &types,
               Accumulated accumulated);

  plan::Plan plan;
  /// The unit as gathered for forward, again for backward from what was kept,
  /// the frozen unit as gathered, the flat gradient that the test writes, and
  /// the loss, as if it had been added over the ranks.
  uint32_t gathered, gatheredAgain, gatheredFrozen, flat, loss;

private:
  uint32_t buffer(const char *name, uint32_t pool, int64_t bytes);
  uint32_t buffer(const char *name, uint32_t pool, int64_t count,
                  plan::DType dtype);
  static plan::Tensor vector(uint32_t buffer, int64_t size, plan::DType dtype,
                             int64_t first = 0);
  plan::Entry *entry(const char *name, const char *phase, bool last = false);
  void wait(const char *phase, bool last = false);

  void addMesh();
  void addParameter(const char *name, std::vector<int64_t> shape,
                    int64_t offset, uint32_t unit);
  void addUnits();

  /// The group that a unit's parameters are gathered in.
  uint32_t shardGroup() const;
  void gather(uint32_t unit, uint32_t into, uint32_t group,
              const plan::Tensor *kept = nullptr);
  void gatherUnits();
  plan::Tensor scatter(const plan::Tensor &from, uint32_t group, bool last);
  void allReduce(const plan::Tensor &value, uint32_t group, const char *phase,
                 bool last, bool norm = false);
  void accumulate(const plan::Tensor &value);
  /// Where the sum of what becomes `value` is kept between micro-batches.
  plan::Tensor accumulatorOf(const plan::Tensor &value, plan::DType dtype);
  void reduceGradients();
  void updateParameters();

  Strategy strategy;
  Types types;
  Accumulated accumulated;
  int64_t shards = 1, optimizerShards = 1;
  uint32_t next = 0;
  plan::Tensor gradient;
};

} // namespace shardc::runtime

#endif
