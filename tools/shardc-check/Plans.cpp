// What entries read and write, and whether the plan's numbers are in range.
#include "tools/shardc-check/Plans.h"

#include <google/protobuf/text_format.h>
#include <map>

namespace shardc::check {

namespace protobuf = google::protobuf;

int64_t bytesOf(plan::DType type) {
  switch (type) {
  case plan::FLOAT64:
  case plan::INT64:
    return 8;
  case plan::FLOAT32:
  case plan::INT32:
    return 4;
  case plan::BFLOAT16:
  case plan::FLOAT16:
    return 2;
  case plan::BOOL:
  case plan::UINT8:
  case plan::INT8:
    return 1;
  default:
    return 0;
  }
}

int64_t product(const protobuf::RepeatedField<int64_t> &shape) {
  int64_t all = 1;
  for (int64_t size : shape)
    all *= size;
  return all;
}

View placesOf(const plan::Tensor &tensor) {
  int64_t bytes = bytesOf(tensor.dtype());
  View view = rowMajor({tensor.shape().begin(), tensor.shape().end()}, bytes);
  for (int d = 0; d < tensor.strides_size(); ++d)
    view.dims[d].stride = tensor.strides(d) * bytes;
  view.offset = tensor.offset();
  return view;
}

bool isContiguous(const plan::Tensor &tensor) {
  View view = placesOf(tensor).canonical();
  return view.dims.empty() || (view.dims.size() == 1 &&
                               view.dims[0].stride == bytesOf(tensor.dtype()));
}

const protobuf::Message *messageOf(const plan::Entry &entry) {
  const auto *field = entry.GetReflection()->GetOneofFieldDescriptor(
      entry, entry.GetDescriptor()->FindOneofByName("kind"));
  return field ? &entry.GetReflection()->GetMessage(entry, field) : nullptr;
}

static const std::map<std::string, Role, std::less<>> &rolesOf(int kind) {
  using enum Role;
  using Roles = std::map<std::string, Role, std::less<>>;
  static const std::map<int, Roles> table = {
      {plan::Entry::kLaunch, {{"inputs", read}, {"outputs", written}}},
      {plan::Entry::kGemm,
       {{"a", read},
        {"b", read},
        {"bias", read},
        {"residual", read},
        {"c", written},
        {"bias_gradient", written},
        {"workspace", scratch}}},
      {plan::Entry::kAttention,
       {{"query", read},
        {"key", read},
        {"value", read},
        {"bias", read},
        {"key_mask", read},
        {"output", written},
        {"log_sum_exp", written},
        {"workspace", scratch}}},
      {plan::Entry::kAttentionGrad,
       {{"gradient", read},
        {"query", read},
        {"key", read},
        {"value", read},
        {"output", read},
        {"log_sum_exp", read},
        {"bias", read},
        {"key_mask", read},
        {"query_gradient", written},
        {"key_gradient", written},
        {"value_gradient", written},
        {"workspace", scratch}}},
      {plan::Entry::kCrossEntropy,
       {{"logits", read},
        {"labels", read},
        {"scale", read},
        {"loss", written},
        {"correct", written},
        {"workspace", scratch}}},
      {plan::Entry::kCrossEntropyGrad,
       {{"gradient", read},
        {"logits", read},
        {"labels", read},
        {"scale", read},
        {"logits_gradient", written}}},
      {plan::Entry::kLinearCrossEntropy,
       {{"input", read},
        {"weight", read},
        {"bias", read},
        {"labels", read},
        {"scale", read},
        {"loss", written},
        {"input_gradient", written},
        {"weight_gradient", written},
        {"bias_gradient", written},
        {"correct", written},
        {"workspace", scratch}}},
      {plan::Entry::kEmbedding,
       {{"table", read}, {"ids", read}, {"output", written}}},
      {plan::Entry::kEmbeddingGrad,
       {{"gradient", read},
        {"ids", read},
        {"base", read},
        {"table_gradient", written}}},
      {plan::Entry::kTopK,
       {{"input", read}, {"values", written}, {"indices", written}}},
      {plan::Entry::kCopy, {{"source", read}, {"destination", written}}},
      {plan::Entry::kFill, {{"destination", written}}},
      {plan::Entry::kIndexCall, {{"inputs", read}, {"outputs", written}}},
      {plan::Entry::kAllGatherStart, {{"kept", read}}},
      {plan::Entry::kKeep, {{"kept", written}}},
      {plan::Entry::kReduceScatterStart,
       {{"flat", read},
        {"shard", written},
        {"accumulator", accumulator},
        {"workspace", scratch}}},
      {plan::Entry::kAllReduceStart,
       {{"values", updated},
        {"accumulators", accumulator},
        {"workspace", scratch}}},
      {plan::Entry::kAccumulate,
       {{"value", updated}, {"accumulator", accumulator}}},
      {plan::Entry::kGradientNorm, {{"gradients", read}, {"result", written}}},
      {plan::Entry::kExactSum, {{"value", read}, {"sum", written}}},
      {plan::Entry::kRoundSum, {{"sum", read}, {"value", written}}},
      {plan::Entry::kOptimizerStep, {{"gradient", read}, {"norm", read}}},
      {plan::Entry::kOutput, {{"value", read}}},
      {plan::Entry::kMetric, {{"value", read}}},
  };
  static const Roles none;
  auto found = table.find(kind);
  return found == table.end() ? none : found->second;
}

/// Calls body(field, tensor) for each tensor of the entry's kind.
static void forTensors(const plan::Entry &entry,
                       const std::function<void(const std::string &,
                                                const plan::Tensor &)> &body) {
  const protobuf::Message *message = messageOf(entry);
  if (!message)
    return;
  const protobuf::Reflection *reflection = message->GetReflection();
  const protobuf::Descriptor *type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const protobuf::FieldDescriptor *field = type->field(i);
    if (field->message_type() != plan::Tensor::descriptor())
      continue;
    int count = field->is_repeated() ? reflection->FieldSize(*message, field)
                                     : reflection->HasField(*message, field);
    for (int j = 0; j < count; ++j)
      body(std::string(field->name()),
           static_cast<const plan::Tensor &>(
               field->is_repeated()
                   ? reflection->GetRepeatedMessage(*message, field, j)
                   : reflection->GetMessage(*message, field)));
  }
}

std::vector<Access> accessesOf(const plan::Entry &entry, Findings &findings) {
  const auto &roles = rolesOf(entry.kind_case());
  std::vector<Access> accesses;
  forTensors(entry, [&](const std::string &field, const plan::Tensor &tensor) {
    auto role = roles.find(field);
    if (role == roles.end())
      return findings.add(entry.name(), "has the operand '", field,
                          "', which this program does not know");
    accesses.push_back({&tensor, role->second, field});
  });
  if (entry.has_gemm() && entry.gemm().accumulate())
    for (Access &access : accesses)
      if (access.field == "c")
        access.role = Role::updated;
  return accesses;
}

std::string attributesOf(const plan::Entry &entry) {
  const protobuf::Message *message = messageOf(entry);
  if (!message)
    return "";
  // Indices say where, not what; products' flags are part of their operands;
  // how many rows are computed at a time changes no value.
  static const std::set<std::string, std::less<>> others = {
      "unit",        "units",       "kernel",     "group",     "token",
      "transpose_a", "transpose_b", "accumulate", "chunk_rows"};
  std::string all;
  std::vector<const protobuf::FieldDescriptor *> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const auto *field : fields) {
    if (others.contains(field->name()) ||
        field->message_type() == plan::Tensor::descriptor())
      continue;
    if (field->is_map()) {
      std::map<std::string, int64_t> sorted(
          entry.index_call().numbers().begin(),
          entry.index_call().numbers().end());
      for (const auto &[name, number] : sorted)
        all += concat(name, "=", number, ";");
      continue;
    }
    std::string value;
    protobuf::TextFormat::PrintFieldValueToString(
        *message, field, field->is_repeated() ? 0 : -1, &value);
    all += concat(field->name(), "=", value, ";");
  }
  return all;
}

std::optional<uint32_t> startedToken(const plan::Entry &entry) {
  if (entry.has_all_gather_start())
    return entry.all_gather_start().token();
  if (entry.has_reduce_scatter_start())
    return entry.reduce_scatter_start().token();
  if (entry.has_all_reduce_start())
    return entry.all_reduce_start().token();
  if (entry.has_all_gather_updates_start())
    return entry.all_gather_updates_start().token();
  return std::nullopt;
}

std::optional<uint32_t> groupOf(const plan::Entry &entry) {
  if (entry.has_all_gather_start())
    return entry.all_gather_start().group();
  if (entry.has_keep())
    return entry.keep().group();
  if (entry.has_reduce_scatter_start())
    return entry.reduce_scatter_start().group();
  if (entry.has_all_reduce_start())
    return entry.all_reduce_start().group();
  if (entry.has_all_gather_updates_start())
    return entry.all_gather_updates_start().group();
  return std::nullopt;
}

namespace {

/// Numbers are at most this, so that products of two fit.
constexpr int64_t most = int64_t{1} << 46;

bool isSane(const plan::Tensor &tensor, const plan::Plan &plan) {
  if (tensor.buffer() >= uint32_t(plan.buffers_size()) ||
      !bytesOf(tensor.dtype()) || tensor.offset() < 0 ||
      (tensor.strides_size() && tensor.strides_size() != tensor.shape_size()))
    return false;
  int64_t elements = 1;
  for (int64_t size : tensor.shape())
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements) ||
        elements > most)
      return false;
  int64_t reach = 0;
  for (int d = 0; d < tensor.strides_size(); ++d)
    if (tensor.strides(d) < 0 || tensor.strides(d) > most ||
        (reach += (tensor.shape(d) > 0 ? tensor.shape(d) - 1 : 0) *
                  std::min(tensor.strides(d), most / (tensor.shape(d) + 1))) >
            most)
      return false;
  View places = placesOf(tensor);
  return elements == 0 ||
         places.offset + places.reach() + bytesOf(tensor.dtype()) <=
             plan.buffers(int(tensor.buffer())).bytes();
}

} // namespace

bool checkIndices(const plan::Plan &plan, Findings &findings) {
  size_t before = findings.all().size();
  auto need = [&](bool holds, const std::string &where, const auto &...what) {
    if (!holds)
      findings.add(where, what...);
  };
  auto index = [&](uint64_t i, int size, const std::string &where,
                   const char *what) {
    need(i < uint64_t(size), where, "names ", what, " ", i, " of ", size);
  };
  for (const plan::Buffer &buffer : plan.buffers()) {
    index(buffer.pool(), plan.pools_size(), buffer.name(), "pool");
    if (buffer.pool() >= uint32_t(plan.pools_size()))
      continue;
    const plan::Pool &pool = plan.pools(int(buffer.pool()));
    need(buffer.offset() >= 0 && buffer.bytes() >= 0 && buffer.bytes() < most &&
             buffer.offset() < most &&
             buffer.offset() + buffer.bytes() <= pool.bytes(),
         "buffer " + buffer.name(), "ends at byte ",
         buffer.offset() + buffer.bytes(), " of the pool ", pool.name(),
         ", which has ", pool.bytes());
  }
  for (const plan::Unit &unit : plan.units()) {
    index(unit.parameter_buffer(), plan.buffers_size(), unit.name(), "buffer");
    index(unit.master_buffer(), plan.buffers_size(), unit.name(), "buffer");
    index(unit.remainder_buffer(), plan.buffers_size(), unit.name(), "buffer");
    for (uint32_t state : unit.state_buffers())
      index(state, plan.buffers_size(), unit.name(), "buffer");
    for (uint32_t parameter : unit.parameters())
      index(parameter, plan.parameters_size(), unit.name(), "parameter");
    need(unit.elements() >= 0 && unit.elements() < most && unit.shards() >= 1 &&
             unit.optimizer_shards() >= 0 && bytesOf(unit.dtype()),
         unit.name(), "has ", unit.elements(), " elements in ", unit.shards(),
         " slices of type ", int(unit.dtype()));
  }
  for (const plan::Parameter &parameter : plan.parameters()) {
    index(parameter.unit(), plan.units_size(), parameter.name(), "unit");
    for (int64_t size : parameter.shape())
      need(size >= 0 && size < most, parameter.name(), "has a dim of ", size);
  }
  for (const plan::Constant &constant : plan.constants())
    index(constant.buffer(), plan.buffers_size(), "a constant", "buffer");
  index(plan.loss().scale_buffer(), plan.buffers_size(), "the loss", "buffer");
  for (const plan::Input &input : plan.inputs())
    need(isSane(input.tensor(), plan), input.name(),
         "does not lie in its buffer");
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries()) {
      const std::string &name = entry.name();
      need(messageOf(entry), name,
           "is of a kind that this program does not "
           "know");
      forTensors(entry,
                 [&](const std::string &field, const plan::Tensor &tensor) {
                   need(isSane(tensor, plan), name, field,
                        " is a view that is not inside its buffer");
                 });
      if (auto group = groupOf(entry))
        index(*group, plan.groups_size(), name, "group");
      if (entry.has_launch())
        index(entry.launch().kernel(), plan.kernels_size(), name, "kernel");
      uint32_t unit =
          entry.has_all_gather_start() ? entry.all_gather_start().unit()
          : entry.has_keep()           ? entry.keep().unit()
          : entry.has_reduce_scatter_start()
              ? entry.reduce_scatter_start().unit()
          : entry.has_optimizer_step() ? entry.optimizer_step().unit()
          : entry.has_all_gather_updates_start()
              ? entry.all_gather_updates_start().unit()
              : entry.all_reduce_start().unit();
      index(unit, std::max(plan.units_size(), 1), name, "unit");
      for (uint32_t of : entry.gradient_norm().units())
        index(of, plan.units_size(), name, "unit");
      index(entry.all_gather_start().gathered(), plan.buffers_size(), name,
            "buffer");
      index(entry.keep().gathered(), plan.buffers_size(), name, "buffer");
    }
  return findings.all().size() == before;
}

} // namespace shardc::check
