#include "test/runtime/engine/SoftmaxPlan.h"

#include <string>

namespace shardc::runtime::softmax {

template <typename T>
SoftmaxPlan<T>::SoftmaxPlan(int64_t ranks, bool sharded)
    : batch(globalBatch / ranks), sharded(sharded) {
  shards = sharded ? ranks : 1;
  plan::Mesh *mesh = plan.mutable_mesh();
  mesh->set_ranks(ranks);
  mesh->add_dims(ranks);
  mesh->set_shards(shards);
  mesh->set_optimizer_shards(shards);
  if (sharded) {
    mesh->add_shard_dims(0);
    mesh->add_optimizer_dims(0);
  }
  plan::Group *world = plan.add_groups();
  world->set_stride(1);
  world->set_size(ranks);
  for (const char *name :
       {"persistent", "activation", "gather", "gradient", "workspace"})
    plan.add_pools()->set_name(name);
  plan.mutable_optimizer()->set_kind("adamw");
  int64_t slice = flatElements / shards * sizeof(T);
  parameters = buffer("parameters", 0, slice);
  uint32_t average = buffer("exp_avg", 0, slice);
  uint32_t squares = buffer("exp_avg_sq", 0, slice);
  input = buffer("x", 0, batch * features * sizeof(T));
  labels = buffer("labels", 0, batch * 8);
  scale = buffer("scale", 0, sizeof(T));
  one = buffer("one", 0, sizeof(T));
  rowCount = buffer("row_count", 0, 8);
  gathered =
      sharded ? buffer("gathered", 2, flatElements * sizeof(T)) : parameters;
  logits = buffer("logits", 1, batch * classes * sizeof(T));
  loss = buffer("loss", 1, sizeof(T));
  norm = buffer("norm", 1, 8);
  exact = buffer("norm.exact", 1, 68 * 8);
  flat = buffer("flat", 3, flatElements * sizeof(T));
  gradient = sharded ? buffer("gradient", 3, slice) : flat;
  workspace = buffer("workspace", 4, batch * 8);

  plan::Unit *unit = plan.add_units();
  unit->set_name("layer");
  unit->set_elements(flatElements);
  unit->set_padding(flatElements - weights - classes);
  unit->set_shards(shards);
  unit->set_parameter_buffer(parameters);
  unit->add_state_buffers(average);
  unit->add_state_buffers(squares);
  unit->set_dtype(dtype);
  unit->set_optimizer_shards(shards);
  unit->set_master_dtype(dtype);
  unit->set_gradient_dtype(dtype);
  addParameter("weight", {classes, features}, 0);
  addParameter("bias", {classes}, weights);

  T gradientOfLoss = 1;
  plan::Constant *constant = plan.add_constants();
  constant->set_buffer(one);
  constant->set_data(
      std::string(reinterpret_cast<char *>(&gradientOfLoss), sizeof(T)));
  constant = plan.add_constants();
  constant->set_buffer(rowCount);
  constant->set_data(std::string(reinterpret_cast<char *>(&batch), 8));
  plan::Kernel *kernel = plan.add_kernels();
  kernel->set_symbol("column_sums");
  plan.mutable_target()->mutable_cpu()->add_extents(classes);
  kernel->add_argument_bytes(batch * classes * int64_t(sizeof(T)));
  kernel->add_argument_bytes(sizeof(int64_t));
  kernel->add_argument_bytes(classes * int64_t(sizeof(T)));

  gatherAndPredict(plan.mutable_train(), "forward");
  train();
  gatherAndPredict(plan.mutable_eval(), "forward");
  lossAndReport(plan.mutable_eval(), false);
}

template <typename T>
plan::Tensor SoftmaxPlan<T>::tensor(uint32_t id, std::vector<int64_t> shape,
                                    plan::DType type, int64_t offset) {
  plan::Tensor tensor;
  tensor.set_buffer(id);
  tensor.set_offset(offset);
  tensor.set_dtype(type);
  for (int64_t size : shape)
    tensor.add_shape(size);
  return tensor;
}

template <typename T>
uint32_t SoftmaxPlan<T>::buffer(const char *name, uint32_t pool,
                                int64_t bytes) {
  plan::Buffer *buffer = plan.add_buffers();
  buffer->set_name(name);
  buffer->set_pool(pool);
  buffer->set_offset(plan.pools(pool).bytes());
  buffer->set_bytes(bytes);
  plan.mutable_pools(pool)->set_bytes((buffer->offset() + bytes + 63) / 64 *
                                      64);
  return plan.buffers_size() - 1;
}

template <typename T>
void SoftmaxPlan<T>::addParameter(const char *name, std::vector<int64_t> shape,
                                  int64_t offset) {
  plan.mutable_units(0)->add_parameters(plan.parameters_size());
  plan::Parameter *parameter = plan.add_parameters();
  parameter->set_name(name);
  for (int64_t size : shape)
    parameter->add_shape(size);
  parameter->set_flat_offset(offset);
  parameter->set_dtype(dtype);
  parameter->set_trainable(true);
}

template <typename T>
plan::Entry *SoftmaxPlan<T>::entry(plan::Program *program, const char *name,
                                   const char *phase) {
  plan::Entry *entry = program->add_entries();
  entry->set_name(name);
  entry->set_phase(phase);
  return entry;
}

template <typename T>
void SoftmaxPlan<T>::gatherAndPredict(plan::Program *program,
                                      const char *phase) {
  if (sharded) {
    auto *start = entry(program, "gather", phase)->mutable_all_gather_start();
    start->set_token(0);
    start->set_gathered(gathered);
    entry(program, "gather", phase)->mutable_wait()->set_token(0);
  }
  auto *gemm = entry(program, "linear", phase)->mutable_gemm();
  *gemm->mutable_a() = tensor(input, {batch, features});
  *gemm->mutable_b() = tensor(gathered, {classes, features});
  gemm->set_transpose_b(true);
  *gemm->mutable_bias() =
      tensor(gathered, {classes}, dtype, weights * sizeof(T));
  *gemm->mutable_c() = tensor(logits, {batch, classes});
}

template <typename T>
void SoftmaxPlan<T>::lossAndReport(plan::Program *program, bool withGradient) {
  auto *ce = entry(program, "loss", "forward")->mutable_cross_entropy();
  *ce->mutable_logits() = tensor(logits, {batch, classes});
  *ce->mutable_labels() = tensor(labels, {batch}, plan::INT64);
  *ce->mutable_scale() = tensor(scale, {});
  *ce->mutable_loss() = tensor(loss, {});
  *ce->mutable_workspace() = tensor(workspace, {batch * 8}, plan::UINT8);
  ce->set_ignore_index(-100);
  if (withGradient) {
    auto *grad =
        entry(program, "loss_grad", "backward")->mutable_cross_entropy_grad();
    *grad->mutable_gradient() = tensor(one, {});
    *grad->mutable_logits() = tensor(logits, {batch, classes});
    *grad->mutable_labels() = tensor(labels, {batch}, plan::INT64);
    *grad->mutable_scale() = tensor(scale, {});
    *grad->mutable_logits_gradient() = tensor(logits, {batch, classes});
    grad->set_ignore_index(-100);
    backward(program);
  }
  auto *start = entry(program, "sums", "backward")->mutable_all_reduce_start();
  start->set_token(2);
  *start->add_values() = tensor(loss, {});
  // Without shards every rank holds all slices, and so the whole norm.
  start->add_norms(false);
  if (withGradient && sharded) {
    *start->add_values() = tensor(exact, {68}, plan::INT64);
    start->add_norms(true);
  }
  entry(program, "sums", "backward")->mutable_wait()->set_token(2);
  if (withGradient) {
    auto *round = entry(program, "norm", "backward")->mutable_round_sum();
    *round->mutable_sum() = tensor(exact, {68}, plan::INT64);
    *round->mutable_value() = tensor(norm, {}, plan::FLOAT64);
    round->set_norm(true);
  }
  auto *metric = entry(program, "metric", "backward")->mutable_metric();
  metric->set_name("loss");
  *metric->mutable_value() = tensor(loss, {});
}

template <typename T> void SoftmaxPlan<T>::backward(plan::Program *program) {
  auto *fill = entry(program, "padding", "backward")->mutable_fill();
  *fill->mutable_destination() = tensor(flat, {flatElements});
  auto *gemm = entry(program, "weight_grad", "backward")->mutable_gemm();
  *gemm->mutable_a() = tensor(logits, {batch, classes});
  gemm->set_transpose_a(true);
  *gemm->mutable_b() = tensor(input, {batch, features});
  *gemm->mutable_c() = tensor(flat, {classes, features});
  auto *launch = entry(program, "bias_grad", "backward")->mutable_launch();
  *launch->add_inputs() = tensor(logits, {batch, classes});
  *launch->add_inputs() = tensor(rowCount, {}, plan::INT64);
  *launch->add_outputs() = tensor(flat, {classes}, dtype, weights * sizeof(T));
  if (sharded) {
    auto *start = entry(program, "reduce_scatter", "backward")
                      ->mutable_reduce_scatter_start();
    start->set_token(1);
    *start->mutable_flat() = tensor(flat, {flatElements});
    *start->mutable_shard() = tensor(gradient, {flatElements / shards});
  } else {
    auto *start =
        entry(program, "all_reduce", "backward")->mutable_all_reduce_start();
    start->set_token(1);
    start->set_unit(0);
    *start->add_values() = tensor(flat, {flatElements});
  }
  entry(program, "reduce", "backward")->mutable_wait()->set_token(1);
  auto *powers = entry(program, "norm", "backward")->mutable_gradient_norm();
  *powers->add_gradients() = tensor(gradient, {flatElements / shards});
  powers->add_units(0);
  *powers->mutable_result() = tensor(exact, {68}, plan::INT64);
}

template <typename T> void SoftmaxPlan<T>::train() {
  plan::Program *program = plan.mutable_train();
  lossAndReport(program, true);
  auto *metric = entry(program, "metric", "backward")->mutable_metric();
  metric->set_name("gradient_norm");
  *metric->mutable_value() = tensor(norm, {}, plan::FLOAT64);
  auto *step = entry(program, "step", "optimizer")->mutable_optimizer_step();
  step->set_kind("adamw");
  *step->mutable_gradient() = tensor(gradient, {flatElements / shards});
  *step->mutable_norm() = tensor(norm, {}, plan::FLOAT64);
}

template class SoftmaxPlan<float>;
template class SoftmaxPlan<double>;

} // namespace shardc::runtime::softmax
