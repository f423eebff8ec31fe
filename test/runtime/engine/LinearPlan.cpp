#include "test/runtime/engine/LinearPlan.h"

LinearPlan::LinearPlan(int64_t ranks, int64_t batch)
    : ranks(ranks), batch(batch) {
  // 16 elements, padded so that every slice is whole rows of 3.
  elements = classes * inputs + classes;
  while (elements % (ranks * inputs))
    ++elements;
  plan.set_version(1);
  plan.set_model("model.onnx");
  plan.mutable_precision()->set_parameters(shardc::plan::FLOAT64);
  plan.mutable_precision()->set_gradients(shardc::plan::FLOAT64);
  plan.mutable_precision()->set_loss(shardc::plan::FLOAT64);
  plan.mutable_precision()->set_master(shardc::plan::FLOAT64);
  plan.mutable_target()->mutable_cpu()->set_workers(2);
  plan.mutable_mesh()->add_dims(ranks);
  plan.mutable_mesh()->add_shard_dims(0);
  plan.mutable_mesh()->set_strategy("full");
  plan.mutable_mesh()->set_ranks(ranks);
  plan.mutable_mesh()->set_shards(ranks);
  plan.mutable_mesh()->add_optimizer_dims(0);
  plan.mutable_mesh()->set_optimizer_shards(ranks);
  shardc::plan::Group *world = plan.add_groups();
  world->set_name("world");
  world->set_stride(1);
  world->set_size(ranks);
  for (const char *name : {"persistent", "activation", "gather", "gradient",
                           "workspace", "accumulation"})
    plan.add_pools()->set_name(name);
  addUnit();
  addInputs();
  buildPrograms();
}

uint32_t LinearPlan::buffer(const std::string &name, uint32_t pool,
                            int64_t bytes) {
  shardc::plan::Buffer *buffer = plan.add_buffers();
  shardc::plan::Pool *owner = plan.mutable_pools(static_cast<int>(pool));
  buffer->set_name(name);
  buffer->set_pool(pool);
  buffer->set_offset(owner->bytes());
  buffer->set_bytes(bytes);
  owner->set_bytes((owner->bytes() + bytes + 63) / 64 * 64);
  return static_cast<uint32_t>(plan.buffers_size() - 1);
}

shardc::plan::Tensor LinearPlan::tensor(uint32_t buffer,
                                        std::initializer_list<int64_t> shape,
                                        shardc::plan::DType dtype,
                                        int64_t offset) {
  shardc::plan::Tensor result;
  result.set_buffer(buffer);
  result.set_offset(offset);
  result.set_dtype(dtype);
  for (int64_t dim : shape)
    result.add_shape(dim);
  return result;
}

void LinearPlan::addParameter(const std::string &name,
                              std::initializer_list<int64_t> shape,
                              int64_t offset) {
  shardc::plan::Parameter *parameter = plan.add_parameters();
  parameter->set_name(name);
  parameter->set_initializer(name);
  for (int64_t dim : shape)
    parameter->add_shape(dim);
  parameter->set_dtype(shardc::plan::FLOAT64);
  parameter->set_trainable(true);
  parameter->set_flat_offset(offset);
  parameter->set_init("uniform:-0.5,0.5");
  parameter->set_role(name);
}

void LinearPlan::addUnit() {
  addParameter("weight", {classes, inputs}, 0);
  addParameter("bias", {classes}, classes * inputs);
  shardc::plan::Unit *unit = plan.add_units();
  unit->set_name("root");
  unit->add_parameters(0);
  unit->add_parameters(1);
  unit->set_elements(elements);
  unit->set_padding(elements - classes * inputs - classes);
  unit->set_shards(ranks);
  unit->set_dtype(shardc::plan::FLOAT64);
  unit->set_optimizer_shards(ranks);
  unit->set_master_dtype(shardc::plan::FLOAT64);
  unit->set_gradient_dtype(shardc::plan::FLOAT64);
  unit->set_parameter_buffer(buffer("parameters", 0, elements / ranks * 8));
  plan.mutable_optimizer()->set_kind("adamw");
  for (const char *state : {"exp_avg", "exp_avg_sq"}) {
    plan.mutable_optimizer()->add_states(state);
    unit->add_state_buffers(buffer(state, 0, elements / ranks * 8));
  }
}

void LinearPlan::addInputs() {
  using namespace shardc::plan;
  x = tensor(buffer("x", 1, batch * inputs * 8), {batch, inputs});
  labels = tensor(buffer("labels", 1, batch * 8), {batch}, INT64);
  Input *input = plan.add_inputs();
  input->set_name("x");
  *input->mutable_tensor() = x;
  input = plan.add_inputs();
  input->set_name("labels");
  input->set_role("labels");
  input->set_bounded(true);
  input->set_max_value(classes - 1);
  *input->mutable_tensor() = labels;
  Loss *loss = plan.mutable_loss();
  loss->set_kind("cross_entropy");
  loss->set_labels("labels");
  loss->set_ignore_index(-100);
  loss->set_classes(classes);
  loss->set_scale_buffer(buffer("scale", 1, 8));
  loss->set_scale_dtype(FLOAT64);
}

void LinearPlan::addCompute(shardc::plan::Program *program, bool trains) {
  using namespace shardc::plan;
  auto *gather = program->add_entries()->mutable_all_gather_start();
  gather->set_token(0);
  gather->set_unit(0);
  gather->set_gathered(gathered);
  program->add_entries()->mutable_wait()->set_token(0);
  Entry *entry = program->add_entries();
  entry->set_name("head");
  LinearCrossEntropy *head = entry->mutable_linear_cross_entropy();
  *head->mutable_input() = x;
  *head->mutable_weight() = tensor(gathered, {classes, inputs});
  *head->mutable_bias() =
      tensor(gathered, {classes}, FLOAT64, classes * inputs * 8);
  *head->mutable_labels() = labels;
  *head->mutable_scale() = tensor(plan.loss().scale_buffer(), {});
  head->set_ignore_index(-100);
  head->set_transpose_weight(true);
  *head->mutable_loss() = tensor(loss, {});
  head->set_chunk_rows(batch);
  *head->mutable_workspace() = tensor(
      workspace, {plan.buffers(static_cast<int>(workspace)).bytes()}, UINT8);
  if (trains) {
    *head->mutable_weight_gradient() = tensor(gradient, {classes, inputs});
    *head->mutable_bias_gradient() =
        tensor(gradient, {classes}, FLOAT64, classes * inputs * 8);
  }
}

void LinearPlan::buildPrograms() {
  using namespace shardc::plan;
  gathered = buffer("gathered", 2, elements * 8);
  gradient = buffer("gradient", 3, elements * 8);
  uint32_t shard = buffer("gradient shard", 3, elements / ranks * 8);
  loss = buffer("loss", 1, 8);
  uint32_t norm = buffer("norm", 1, 8);
  workspace =
      buffer("workspace", 4, (batch * classes * 8 + 63) / 64 * 64 + batch * 8);
  addCompute(plan.mutable_eval(), false);
  Program *eval = plan.mutable_eval();
  auto *reduceLoss = eval->add_entries()->mutable_all_reduce_start();
  reduceLoss->set_token(1);
  *reduceLoss->add_values() = tensor(loss, {});
  eval->add_entries()->mutable_wait()->set_token(1);
  addMetric(eval, "loss", loss);

  Program *train = plan.mutable_train();
  addFill(train, gradient);
  addCompute(train, true);
  auto *scatter = train->add_entries()->mutable_reduce_scatter_start();
  scatter->set_token(1);
  scatter->set_unit(0);
  *scatter->mutable_flat() = tensor(gradient, {elements});
  *scatter->mutable_shard() = tensor(shard, {elements / ranks});
  train->add_entries()->mutable_wait()->set_token(1);
  addAccumulate(train, tensor(shard, {elements / ranks}));
  addAccumulate(train, tensor(loss, {}));
  GradientNorm *powers = atEnd(train)->mutable_gradient_norm();
  *powers->add_gradients() = tensor(shard, {elements / ranks});
  powers->add_units(0);
  const shardc::plan::Tensor exact =
      tensor(buffer("norm.exact", 1, 68 * 8), {68}, shardc::plan::INT64);
  *powers->mutable_result() = exact;
  auto *reduce = atEnd(train)->mutable_all_reduce_start();
  reduce->set_token(2);
  *reduce->add_values() = tensor(loss, {});
  *reduce->add_values() = exact;
  reduce->add_norms(false);
  reduce->add_norms(true);
  atEnd(train)->mutable_wait()->set_token(2);
  RoundSum *round = atEnd(train)->mutable_round_sum();
  *round->mutable_sum() = exact;
  *round->mutable_value() = tensor(norm, {});
  round->set_norm(true);
  OptimizerStep *step = atEnd(train)->mutable_optimizer_step();
  step->set_kind("adamw");
  *step->mutable_gradient() = tensor(shard, {elements / ranks});
  *step->mutable_norm() = tensor(norm, {});
  addMetric(train, "loss", loss);
  addMetric(train, "gradient_norm", norm);
}

shardc::plan::Entry *LinearPlan::atEnd(shardc::plan::Program *program) {
  shardc::plan::Entry *entry = program->add_entries();
  entry->set_phase("optimizer");
  return entry;
}

void LinearPlan::addAccumulate(shardc::plan::Program *program,
                               const shardc::plan::Tensor &value) {
  auto *accumulate = program->add_entries()->mutable_accumulate();
  *accumulate->mutable_value() = value;
  *accumulate->mutable_accumulator() = value;
  int64_t size = value.shape_size() ? value.shape(0) : 1;
  accumulate->mutable_accumulator()->set_buffer(
      buffer("accumulator", 5, size * 8));
}

void LinearPlan::addFill(shardc::plan::Program *program, uint32_t destination) {
  *program->add_entries()->mutable_fill()->mutable_destination() =
      tensor(destination, {elements});
}

void LinearPlan::addMetric(shardc::plan::Program *program, const char *name,
                           uint32_t value) {
  auto *metric = atEnd(program)->mutable_metric();
  metric->set_name(name);
  *metric->mutable_value() = tensor(value, {});
}
