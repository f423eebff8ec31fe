#include "test/runtime/engine/StrategyPlan.h"
#include "runtime/base/DType.h"
#include "runtime/comm/Communicator.h"

#include <utility>

namespace shardc::runtime {

StrategyPlan::StrategyPlan(const Strategy &strategy, const Types &types,
                           Accumulated accumulated)
    : strategy(strategy), types(types), accumulated(accumulated) {
  for (const char *name : {"persistent", "activation", "gather", "gradient",
                           "workspace", "accumulation"})
    plan.add_pools()->set_name(name);
  addMesh();
  addUnits();
  gatherUnits();
  reduceGradients();
  updateParameters();
}

uint32_t StrategyPlan::buffer(const char *name, uint32_t pool, int64_t bytes) {
  plan::Buffer *buffer = plan.add_buffers();
  plan::Pool *owner = plan.mutable_pools(int(pool));
  buffer->set_name(name);
  buffer->set_pool(pool);
  buffer->set_offset(owner->bytes());
  buffer->set_bytes(bytes);
  owner->set_bytes((owner->bytes() + bytes + 63) / 64 * 64);
  return uint32_t(plan.buffers_size() - 1);
}

uint32_t StrategyPlan::buffer(const char *name, uint32_t pool, int64_t count,
                              plan::DType dtype) {
  return buffer(name, pool, count * int64_t(elementSize(dtype)));
}

plan::Tensor StrategyPlan::vector(uint32_t buffer, int64_t size,
                                  plan::DType dtype, int64_t first) {
  plan::Tensor tensor;
  tensor.set_buffer(buffer);
  tensor.set_dtype(dtype);
  tensor.add_shape(size);
  tensor.set_offset(first * int64_t(elementSize(dtype)));
  return tensor;
}

plan::Entry *StrategyPlan::entry(const char *name, const char *phase,
                                 bool last) {
  plan::Entry *entry = plan.mutable_train()->add_entries();
  entry->set_name(name);
  entry->set_phase(phase);
  entry->set_last(last);
  return entry;
}

void StrategyPlan::wait(const char *phase, bool last) {
  entry("wait", phase, last)->mutable_wait()->set_token(next++);
}

void StrategyPlan::addMesh() {
  plan::Mesh *mesh = plan.mutable_mesh();
  for (int64_t size : strategy.dims)
    mesh->add_dims(size);
  for (int64_t dim : strategy.shardDims)
    mesh->add_shard_dims(dim);
  for (int64_t dim : strategy.optimizerDims)
    mesh->add_optimizer_dims(dim);
  mesh->set_ranks(strategy.ranks());
  mesh->set_shards(strategy.product(strategy.shardDims));
  mesh->set_optimizer_shards(strategy.product(strategy.optimizerDims));
  int64_t inner = strategy.dims.back();
  for (auto [stride, size] : {std::pair<int64_t, int64_t>{1, strategy.ranks()},
                              {inner, strategy.ranks() / inner},
                              {1, inner},
                              {1, 2}}) {
    plan::Group *group = plan.add_groups();
    group->set_stride(stride);
    group->set_size(size);
  }
}

void StrategyPlan::addParameter(const char *name, std::vector<int64_t> shape,
                                int64_t offset, uint32_t unit) {
  plan.mutable_units(int(unit))->add_parameters(plan.parameters_size());
  plan::Parameter *parameter = plan.add_parameters();
  parameter->set_name(name);
  for (int64_t size : shape)
    parameter->add_shape(size);
  parameter->set_flat_offset(offset);
  parameter->set_dtype(types.parameters);
  parameter->set_trainable(unit == 0);
  parameter->set_unit(unit);
}

void StrategyPlan::addUnits() {
  plan.mutable_optimizer()->set_kind("sgd");
  shards = plan.mesh().shards();
  optimizerShards = plan.mesh().optimizer_shards();
  for (int64_t size : {elements, frozen}) {
    plan::Unit *unit = plan.add_units();
    unit->set_elements(size);
    unit->set_shards(shards);
    unit->set_dtype(types.parameters);
    unit->set_parameter_buffer(
        buffer("parameters", 0, size / shards, types.parameters));
  }
  plan::Unit *unit = plan.mutable_units(0);
  unit->set_name("trained");
  unit->set_optimizer_shards(optimizerShards);
  unit->set_master_dtype(types.master);
  unit->set_gradient_dtype(types.gradients);
  int64_t own = elements / optimizerShards;
  if (types.master != types.parameters)
    unit->set_master_buffer(buffer("master", 0, own, types.master));
  unit->add_state_buffers(buffer("momentum", 0, own, types.master));
  plan.mutable_units(1)->set_name("frozen");
  addParameter("weight", {5, 3}, 0, 0);
  addParameter("bias", {4}, weights, 0);
  addParameter("table", {7}, 0, 1);
}

uint32_t StrategyPlan::shardGroup() const {
  return shards == strategy.ranks() ? World : Shard;
}

void StrategyPlan::gather(uint32_t unit, uint32_t into, uint32_t group,
                          const plan::Tensor *kept) {
  auto *start = entry("gather", "forward")->mutable_all_gather_start();
  start->set_token(next);
  start->set_unit(unit);
  start->set_gathered(into);
  start->set_group(group);
  if (kept)
    *start->mutable_kept() = *kept;
  wait("forward");
}

void StrategyPlan::gatherUnits() {
  gathered = plan.units(0).parameter_buffer();
  gatheredFrozen = plan.units(1).parameter_buffer();
  if (shards > 1) {
    gathered = buffer("gathered", 2, elements, types.parameters);
    gatheredFrozen = buffer("gathered frozen", 2, frozen, types.parameters);
    gather(0, gathered, shardGroup());
    gather(1, gatheredFrozen, shardGroup());
  }
  gatheredAgain = buffer("gathered again", 2, elements, types.parameters);
  uint32_t keptBuffer = buffer("kept", 1, elements / 2, types.parameters);
  plan::Tensor kept = vector(keptBuffer, elements / 2, types.parameters);
  auto *keep = entry("keep", "forward")->mutable_keep();
  keep->set_gathered(gathered);
  keep->set_group(Pairs);
  *keep->mutable_kept() = kept;
  gather(0, gatheredAgain, Pairs, &kept);
  // Used again at once: the gather must be through with it.
  auto *fill = entry("reuse", "forward")->mutable_fill();
  *fill->mutable_destination() = kept;
  fill->set_value(-1);
}

plan::Tensor StrategyPlan::scatter(const plan::Tensor &from, uint32_t group,
                                   bool last) {
  int64_t size = from.shape(0) / plan.groups(int(group)).size();
  plan::Tensor shard =
      vector(buffer("shard", 3, size, types.gradients), size, types.gradients);
  auto *start =
      entry("reduce_scatter", "backward", last)->mutable_reduce_scatter_start();
  start->set_token(next);
  start->set_group(group);
  *start->mutable_flat() = from;
  *start->mutable_shard() = shard;
  if (!last && accumulated == Accumulated::Reduced)
    *start->mutable_accumulator() =
        accumulatorOf(shard, Communicator::sumType(shard.dtype()));
  wait("backward");
  return shard;
}

void StrategyPlan::allReduce(const plan::Tensor &value, uint32_t group,
                             const char *phase, bool last, bool norm) {
  auto *start = entry("all_reduce", phase, last)->mutable_all_reduce_start();
  start->set_token(next);
  start->set_group(group);
  *start->add_values() = value;
  if (!last && !norm && accumulated == Accumulated::Reduced)
    *start->add_accumulators() =
        accumulatorOf(value, Communicator::sumType(value.dtype()));
  start->add_norms(norm);
  wait(phase);
}

void StrategyPlan::accumulate(const plan::Tensor &value) {
  auto *add = entry("accumulate", "backward")->mutable_accumulate();
  *add->mutable_value() = value;
  *add->mutable_accumulator() = accumulatorOf(value, types.master);
}

plan::Tensor StrategyPlan::accumulatorOf(const plan::Tensor &value,
                                         plan::DType dtype) {
  return vector(buffer("sum", 5, value.shape(0), dtype), value.shape(0), dtype);
}

void StrategyPlan::reduceGradients() {
  flat = buffer("flat", 3, elements, types.gradients);
  gradient = vector(flat, elements, types.gradients);
  if (accumulated == Accumulated::Flat)
    accumulate(gradient);
  bool last = accumulated == Accumulated::Flat;
  bool isHybrid = shards < strategy.ranks() && shards > 1;
  if (optimizerShards == 1)
    allReduce(gradient, World, "backward", last);
  else
    gradient = scatter(gradient, isHybrid ? Shard : World, last);
  last = accumulated != Accumulated::Never;
  if (isHybrid && optimizerShards == shards)
    allReduce(gradient, Replicate, "backward", last);
  else if (isHybrid)
    gradient = scatter(gradient, Replicate, last);
}

void StrategyPlan::updateParameters() {
  plan::Tensor norm =
      vector(buffer("norm", 1, 1, plan::FLOAT64), 1, plan::FLOAT64);
  plan::Tensor exact =
      vector(buffer("norm.exact", 1, 68, plan::INT64), 68, plan::INT64);
  auto *powers = entry("norm", "optimizer")->mutable_gradient_norm();
  *powers->add_gradients() = gradient;
  powers->add_units(0);
  *powers->mutable_result() = exact;
  for (size_t i = strategy.optimizerDims.size(); i-- > 0;) {
    int64_t dim = strategy.optimizerDims[i];
    bool inner = dim + 1 == int64_t(strategy.dims.size());
    allReduce(exact, inner ? Shard : Replicate, "optimizer", false, true);
  }
  auto *round = entry("round", "optimizer")->mutable_round_sum();
  *round->mutable_sum() = exact;
  *round->mutable_value() = norm;
  round->set_norm(true);
  loss = buffer("loss", 1, 1, plan::FLOAT64);
  auto *lossReport = entry("loss", "optimizer")->mutable_metric();
  lossReport->set_name("loss");
  *lossReport->mutable_value() = vector(loss, 1, plan::FLOAT64);
  auto *metric = entry("metric", "optimizer")->mutable_metric();
  metric->set_name("gradient_norm");
  *metric->mutable_value() = norm;
  auto *step = entry("step", "optimizer")->mutable_optimizer_step();
  step->set_kind("sgd");
  *step->mutable_gradient() = gradient;
  *step->mutable_norm() = norm;
  if (optimizerShards == shards)
    return;
  auto *start =
      entry("updates", "optimizer")->mutable_all_gather_updates_start();
  start->set_token(next);
  start->set_group(shards == 1 ? World : Replicate);
  wait("optimizer");
}

} // namespace shardc::runtime
