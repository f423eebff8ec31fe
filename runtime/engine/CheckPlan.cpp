// All parts of a plan but its target's, which each device's folder checks
// (Platform::checkTarget).
#include "runtime/engine/CheckPlan.h"

#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/base/Error.h"
#include "runtime/base/LossKinds.h"
#include "runtime/base/PlanNumbers.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

namespace shardc::runtime {

namespace {

/// Pools end where their last buffer does, or a little behind.
constexpr int64_t poolSlack = int64_t{1} << 20;

void checkIndex(uint64_t index, int size, const char *what,
                std::string_view of) {
  if (index >= static_cast<uint64_t>(size))
    refusePlan(of, " names ", what, " ", index, " of ", size);
}

/// Returns the number of elements.
template <typename Dims>
int64_t checkShape(const Dims &shape, std::string_view of) {
  int64_t elements = 1, bounded = 1; // `bounded`: as if no dim were 0
  for (int64_t dim : shape) {
    if (dim < 0 || dim > mostInPlan ||
        __builtin_mul_overflow(bounded, std::max<int64_t>(dim, 1), &bounded) ||
        bounded > mostInPlan)
      refusePlan("the shape of ", of, " has the size ", dim);
    elements *= dim;
  }
  return elements;
}

void checkType(plan::DType dtype, std::string_view of) {
  if (elementSize(dtype) == 0)
    refusePlan(of, " has the element type ", int(dtype));
}

class PlanCheck {
public:
  explicit PlanCheck(const plan::Plan &plan) : plan(plan) {}

  void run();

private:
  void mesh();
  void memory();
  void check(const plan::Unit &unit);
  void check(const plan::Parameter &parameter);
  void check(const plan::Input &input);
  void loss();
  void draws();
  void running();
  void check(const plan::ExportedInitializer &exported);
  void check(const plan::Tensor &tensor, std::string_view of);
  /// Checks tensors and indices of an entry, wherever they stand in it.
  void walk(const google::protobuf::Message &message, std::string_view entry);
  void checkNamed(std::string_view field, uint32_t index,
                  std::string_view entry);

  const plan::Plan &plan;
};

} // namespace

void PlanCheck::run() {
  if (plan.version() != 1)
    fail("the trainer's plan has version ", plan.version(),
         ", this runtime reads version 1; compile it again");
  mesh();
  memory();
  for (const plan::Unit &unit : plan.units())
    check(unit);
  for (const plan::Parameter &parameter : plan.parameters())
    check(parameter);
  for (const plan::Input &input : plan.inputs())
    check(input);
  loss();
  draws();
  running();
  for (const plan::ExportedInitializer &exported : plan.exported_initializers())
    check(exported);
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries()) {
      walk(entry, entry.name());
      // The others would wait for ever.
      if (!entry.ranks().empty() && collectiveToken(entry))
        refusePlan(entry.name(),
                   " is a collective, and some ranks alone run it");
    }
}

void PlanCheck::mesh() {
  const plan::Mesh &mesh = plan.mesh();
  int64_t ranks = 1;
  for (int64_t dim : mesh.dims()) {
    checkPlanRange(dim, 1, 1 << 20, "a dim", "the mesh");
    ranks = std::min(ranks * dim, mostInPlan);
  }
  if (ranks != mesh.ranks() || ranks > 1 << 20)
    refusePlan("the mesh has ", mesh.ranks(), " ranks, its dims make ", ranks);
  for (const auto *dims : {&mesh.shard_dims(), &mesh.optimizer_dims()})
    for (int64_t dim : *dims)
      checkIndex(static_cast<uint64_t>(dim), mesh.dims_size(), "dim",
                 "the mesh");
  checkPlanRange(mesh.shards(), 1, ranks, "the number of slices", "the mesh");
  checkPlanRange(mesh.optimizer_shards(), 1, ranks, "the number of slices",
                 "the mesh");
  for (const plan::Group &group : plan.groups()) {
    checkPlanRange(group.stride(), 1, ranks, "the stride", group.name());
    checkPlanRange(group.size(), 1, ranks, "the size", group.name());
  }
}

void PlanCheck::memory() {
  std::vector<int64_t> ends(plan.pools_size());
  for (const plan::Buffer &buffer : plan.buffers()) {
    checkIndex(buffer.pool(), plan.pools_size(), "pool", buffer.name());
    checkPlanRange(buffer.bytes(), 0, mostInPlan, "the size", buffer.name());
    checkPlanRange(buffer.offset(), 0, mostInPlan, "the offset", buffer.name());
    int64_t &end = ends[buffer.pool()];
    end = std::max(end, buffer.offset() + buffer.bytes());
  }
  for (int i = 0; i < plan.pools_size(); ++i)
    checkPlanRange(plan.pools(i).bytes(), ends[i], ends[i] + poolSlack,
                   "the size of the pool", plan.pools(i).name());
  for (const plan::Constant &constant : plan.constants())
    checkIndex(constant.buffer(), plan.buffers_size(), "buffer", "a constant");
}

void PlanCheck::check(const plan::Unit &unit) {
  const std::string &name = unit.name();
  checkPlanRange(unit.elements(), 0, mostInPlan, "the size", name);
  checkPlanRange(unit.padding(), 0, unit.elements(), "the padding", name);
  checkPlanRange(unit.shards(), 1, plan.mesh().ranks(), "the number of slices",
                 name);
  checkPlanRange(unit.optimizer_shards(), 0, plan.mesh().ranks(),
                 "the number of slices", name);
  checkType(unit.dtype(), name);
  if (unit.optimizer_shards()) {
    checkType(unit.master_dtype(), name);
    checkType(unit.gradient_dtype(), name);
  }
  checkIndex(unit.parameter_buffer(), plan.buffers_size(), "buffer", name);
  for (uint32_t buffer : unit.state_buffers())
    checkIndex(buffer, plan.buffers_size(), "buffer", name);
  for (uint32_t parameter : unit.parameters())
    checkIndex(parameter, plan.parameters_size(), "parameter", name);
}

void PlanCheck::check(const plan::Parameter &parameter) {
  const std::string &name = parameter.name();
  checkIndex(parameter.unit(), plan.units_size(), "unit", name);
  checkType(parameter.dtype(), name);
  int64_t elements = checkShape(parameter.shape(), name);
  int64_t whole = plan.units(static_cast<int>(parameter.unit())).elements();
  if (parameter.flat_offset() < 0 || elements > whole ||
      parameter.flat_offset() > whole - elements)
    refusePlan(name, " has ", elements, " elements at ",
               parameter.flat_offset(), " of a unit of ", whole);
}

void PlanCheck::check(const plan::Input &input) {
  if (!input.has_tensor())
    return;
  const plan::Tensor &tensor = input.tensor();
  check(tensor, input.name());
  // Samples are copied as they lie in their file.
  int64_t stride = 1;
  for (int dim = tensor.shape_size(); dim-- > 0;) {
    if (tensor.strides_size() && tensor.shape(dim) != 1 &&
        tensor.strides(dim) != stride)
      refusePlan("input ", input.name(), " is not contiguous");
    stride *= tensor.shape(dim);
  }
  if (input.bounded() && tensor.dtype() != plan::INT64 &&
      tensor.dtype() != plan::INT32)
    refusePlan("input ", input.name(), " has bounds, and is ",
               dtypeName(tensor.dtype()));
}

void PlanCheck::loss() {
  const plan::Loss &loss = plan.loss();
  checkPlanRange(loss.shift(), 0, mostInPlan, "the shift", "the loss");
  checkPlanRange(loss.classes(), 0, mostInPlan, "the classes", "the loss");
  checkPlanRange(loss.elements(), 0, mostInPlan, "the elements", "the loss");
  if (int weights = loss.class_weights_size();
      weights && weights != loss.classes())
    refusePlan("the loss has ", weights, " weights of ", loss.classes(),
               " classes");
  const LossKind *kind = findLossKind(loss.kind());
  if (!kind)
    refusePlan("the loss has the unknown kind ", loss.kind());
  if (hasFixedElements(kind->of) && loss.elements() == 0)
    refusePlan("the loss is a mean over no elements");
  if (loss.kind() == "cross_entropy") {
    auto labels =
        std::ranges::find(plan.inputs(), loss.labels(), &plan::Input::name);
    if (labels == plan.inputs().end() || !labels->has_tensor() ||
        labels->tensor().shape().empty() ||
        (labels->tensor().dtype() != plan::INT64 &&
         labels->tensor().dtype() != plan::INT32))
      refusePlan("the loss has no labels named ", loss.labels());
  }
  checkIndex(loss.scale_buffer(), plan.buffers_size(), "buffer", "the loss");
  if (loss.scale_dtype() != plan::FLOAT32 &&
      loss.scale_dtype() != plan::FLOAT64)
    refusePlan("the scale of the loss has the element type ",
               int(loss.scale_dtype()));
  if (plan.buffers(static_cast<int>(loss.scale_buffer())).bytes() <
      static_cast<int64_t>(elementSize(loss.scale_dtype())))
    refusePlan("the scale of the loss lies outside of its buffer");
}

void PlanCheck::draws() {
  if (!plan.has_draws())
    return;
  const plan::Draws &draws = plan.draws();
  checkIndex(draws.buffer(), plan.buffers_size(), "buffer", "the draws");
  constexpr int64_t wordsOfSite = 8;
  const auto bytes =
      static_cast<int64_t>(sizeof(int32_t)) * wordsOfSite * draws.sites_size();
  if (plan.buffers(static_cast<int>(draws.buffer())).bytes() < bytes)
    refusePlan("the draws of ", draws.sites_size(),
               " sites lie outside of their buffer");
  for (const plan::Draws::Site &site : draws.sites())
    if (!(site.rate() >= 0 && site.rate() <= 1))
      refusePlan("the rate of ", site.name(), " is ", numberText(site.rate()),
                 ", not in [0, 1]");
}

void PlanCheck::running() {
  if (!plan.has_running())
    return;
  const plan::Running &running = plan.running();
  checkIndex(running.buffer(), plan.buffers_size(), "buffer",
             "the running statistics");
  if (running.dtype() != plan::FLOAT32 && running.dtype() != plan::FLOAT64)
    refusePlan("the weights of running statistics have the element type ",
               int(running.dtype()));
  if (plan.buffers(static_cast<int>(running.buffer())).bytes() <
      static_cast<int64_t>(elementSize(running.dtype())) *
          running.shares_size())
    refusePlan("the weights of ", running.shares_size(),
               " running statistics lie outside of their buffer");
  for (const plan::Running::Share &share : running.shares())
    if (!(share.momentum() >= 0 && share.momentum() <= 1) || share.call() < 0 ||
        share.call() >= share.calls() || share.calls() > mostInPlan)
      refusePlan("a running statistic has the momentum ",
                 numberText(share.momentum()), " and call ", share.call(),
                 " of ", share.calls());
}

void PlanCheck::check(const plan::ExportedInitializer &exported) {
  const std::string &name = exported.name();
  int64_t elements = checkShape(exported.dims(), name);
  if (exported.parameter() < 0) {
    checkPlanRange(exported.source().offset(), 0, mostInPlan, "the place",
                   name);
    checkPlanRange(exported.source().length(), 0, mostInPlan, "the size", name);
    return;
  }
  checkIndex(static_cast<uint64_t>(exported.parameter()),
             plan.parameters_size(), "parameter", name);
  checkType(dtypeFromOnnx(exported.onnx_dtype()), name);
  int64_t own = checkShape(plan.parameters(exported.parameter()).shape(), name);
  if (own != elements)
    refusePlan(name, " has ", elements, " elements, its parameter ", own);
}

void PlanCheck::check(const plan::Tensor &tensor, std::string_view of) {
  checkIndex(tensor.buffer(), plan.buffers_size(), "buffer", of);
  checkType(tensor.dtype(), of);
  int64_t elements = checkShape(tensor.shape(), of);
  int64_t size = static_cast<int64_t>(elementSize(tensor.dtype()));
  int64_t last = elements - 1;
  if (tensor.strides_size()) {
    if (tensor.strides_size() != tensor.shape_size())
      refusePlan(of, " has ", tensor.shape_size(), " dims and ",
                 tensor.strides_size(), " strides");
    last = 0;
    for (int dim = 0; dim < tensor.shape_size(); ++dim) {
      int64_t reach = 0;
      if (tensor.strides(dim) < 0 ||
          __builtin_mul_overflow(tensor.strides(dim),
                                 std::max<int64_t>(tensor.shape(dim) - 1, 0),
                                 &reach) ||
          reach > mostInPlan)
        refusePlan("a stride of ", of, " is ", tensor.strides(dim));
      last = std::min(last + reach, mostInPlan);
    }
  }
  int64_t bytes = plan.buffers(static_cast<int>(tensor.buffer())).bytes();
  if (tensor.offset() < 0 || tensor.offset() > bytes ||
      (elements > 0 && (last + 1) * size > bytes - tensor.offset()))
    refusePlan(of, " reads or writes byte ",
               tensor.offset() + (last + 1) * size, " of a buffer of ", bytes);
}

void PlanCheck::walk(const google::protobuf::Message &message,
                     std::string_view entry) {
  if (message.GetDescriptor() == plan::Tensor::descriptor())
    return check(static_cast<const plan::Tensor &>(message), entry);
  using Type = google::protobuf::FieldDescriptor::CppType;
  const google::protobuf::Descriptor *type = message.GetDescriptor();
  const google::protobuf::Reflection *reflection = message.GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor *field = type->field(i);
    if (field->cpp_type() == Type::CPPTYPE_UINT32 && !field->is_repeated())
      checkNamed(field->name(), reflection->GetUInt32(message, field), entry);
    if (field->cpp_type() != Type::CPPTYPE_MESSAGE || field->is_map())
      continue;
    if (field->is_repeated())
      for (int j = 0; j < reflection->FieldSize(message, field); ++j)
        walk(reflection->GetRepeatedMessage(message, field, j), entry);
    else if (reflection->HasField(message, field))
      walk(reflection->GetMessage(message, field), entry);
  }
}

void PlanCheck::checkNamed(std::string_view field, uint32_t index,
                           std::string_view entry) {
  if (field == "unit")
    checkIndex(index, plan.units_size(), "unit", entry);
  else if (field == "group")
    checkIndex(index, plan.groups_size(), "group", entry);
  else if (field == "kernel")
    checkIndex(index, plan.kernels_size(), "kernel", entry);
  else if (field == "gathered")
    checkIndex(index, plan.buffers_size(), "buffer", entry);
}

void checkPlan(const plan::Plan &plan) { PlanCheck(plan).run(); }

} // namespace shardc::runtime
