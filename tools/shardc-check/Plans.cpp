// What entries read and write, and whether the plan's numbers are in range.
#include "tools/shardc-check/Plans.h"

#include "runtime/base/PoolNames.h"

#include <cstring>
#include <google/protobuf/text_format.h>
#include <map>

namespace shardc::check {

namespace protobuf = google::protobuf;

int64_t bytesOf(plan::DType type) {
  switch (type) {
  case plan::FLOAT64:
  case plan::INT64:
  case plan::UINT64:
    return 8;
  case plan::FLOAT32:
  case plan::INT32:
  case plan::UINT32:
    return 4;
  case plan::BFLOAT16:
  case plan::FLOAT16:
  case plan::INT16:
  case plan::UINT16:
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

static const std::string &poolNameOf(const plan::Plan &plan, uint32_t buffer) {
  return plan.pools(int(plan.buffers(int(buffer)).pool())).name();
}
bool isAccumulated(const plan::Plan &plan, uint32_t buffer) {
  return runtime::isAccumulationPool(poolNameOf(plan, buffer));
}
bool isOnHost(const plan::Plan &plan, uint32_t buffer) {
  return runtime::isHostPool(poolNameOf(plan, buffer));
}

std::vector<bool> outlivingBuffers(const plan::Plan &plan) {
  std::vector<bool> outlives(plan.buffers_size());
  for (int b = 0; b < plan.buffers_size(); ++b)
    outlives[b] = poolNameOf(plan, b) == "persistent";
  auto stays = [&](uint32_t buffer) {
    if (isOnHost(plan, buffer))
      outlives[buffer] = true;
  };
  for (const plan::Unit &unit : plan.units()) {
    stays(unit.parameter_buffer());
    if (!unit.optimizer_shards())
      continue;
    if (unit.master_dtype() != unit.dtype() && !unit.has_remainder_buffer())
      stays(unit.master_buffer());
    for (uint32_t state : unit.state_buffers())
      stays(state);
  }
  return outlives;
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

/// By kind: the names of its tensors behind letters, r(ead), w(ritten),
/// u(pdated), s(cratch) and a(ccumulator).
static std::optional<Role> roleOf(int kind, const std::string &field) {
  static const std::map<int, std::string> table = {
      {plan::Entry::kLaunch, "r:inputs w:outputs "},
      {plan::Entry::kGemm,
       "r:a r:b r:bias r:residual w:c w:bias_gradient s:workspace "},
      {plan::Entry::kAttention,
       "r:query r:key r:value r:bias r:key_mask "
       "r:sinks r:words w:output w:log_sum_exp s:workspace "},
      {plan::Entry::kAttentionGrad,
       "r:gradient r:query r:key r:value r:output r:log_sum_exp r:bias "
       "r:key_mask r:sinks r:words w:query_gradient w:key_gradient "
       "w:value_gradient s:workspace "},
      {plan::Entry::kCrossEntropy,
       "r:logits r:labels r:scale r:class_weights w:loss w:correct "
       "s:workspace "},
      {plan::Entry::kCrossEntropyGrad,
       "r:gradient r:logits r:labels r:scale r:class_weights "
       "w:logits_gradient "},
      {plan::Entry::kLinearCrossEntropy,
       "r:input r:weight r:bias r:labels r:scale r:class_weights w:loss "
       "w:input_gradient w:weight_gradient w:bias_gradient w:correct "
       "s:workspace "},
      {plan::Entry::kEmbedding, "r:table r:ids w:output "},
      {plan::Entry::kEmbeddingGrad,
       "r:gradient r:ids r:base w:table_gradient "},
      {plan::Entry::kTopK, "r:input w:values w:indices "},
      {plan::Entry::kCopy, "r:source w:destination "},
      {plan::Entry::kFill, "w:destination "},
      {plan::Entry::kIndexCall, "r:inputs w:outputs "},
      {plan::Entry::kAllGatherStart, "r:kept "},
      {plan::Entry::kKeep, "w:kept "},
      {plan::Entry::kReduceScatterStart,
       "r:flat w:shard a:accumulator s:workspace "},
      {plan::Entry::kAllReduceStart, "u:values a:accumulators s:workspace "},
      {plan::Entry::kAccumulate, "u:value a:accumulator "},
      {plan::Entry::kGradientNorm, "r:gradients r:previous w:result "},
      {plan::Entry::kExactSum, "r:value w:sum "},
      {plan::Entry::kRoundSum, "r:sum w:value "},
      {plan::Entry::kOptimizerStep,
       "r:gradient r:norm r:direction u:master u:states u:parameters "},
      {plan::Entry::kTransferStart, "r:source w:destination "},
      {plan::Entry::kMatrixDirection, "r:gradient r:norm w:direction "},
      {plan::Entry::kGatherMatricesStart, "r:slices w:matrices "},
      {plan::Entry::kScatterMatricesStart, "w:slices r:matrices "},
      {plan::Entry::kGatherRowsStart, "r:ids w:rows s:workspace "},
      {plan::Entry::kReduceRowsStart,
       "r:gradient r:ids w:shard a:accumulator s:workspace "},
      {plan::Entry::kOutput, "r:value "},
      {plan::Entry::kMetric, "r:value "},
  };
  auto found = table.find(kind);
  size_t at = found == table.end() ? std::string::npos
                                   : found->second.find(":" + field + " ");
  if (at == std::string::npos)
    return std::nullopt;
  switch (found->second[at - 1]) {
  case 'r':
    return Role::read;
  case 'w':
    return Role::written;
  case 'u':
    return Role::updated;
  case 's':
    return Role::scratch;
  default:
    return Role::accumulator;
  }
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
  std::vector<Access> accesses;
  forTensors(entry, [&](const std::string &field, const plan::Tensor &tensor) {
    std::optional<Role> role = roleOf(entry.kind_case(), field);
    if (!role)
      return findings.add(entry.name(), "has the operand '", field,
                          "', which this program does not know");
    accesses.push_back({&tensor, *role, field});
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

/// A number that every kind of entry has under one name, or has not.
static std::optional<uint32_t> numberOf(const plan::Entry &entry,
                                        const char *name) {
  const protobuf::Message *message = messageOf(entry);
  const auto *field =
      message ? message->GetDescriptor()->FindFieldByName(name) : nullptr;
  if (!field)
    return std::nullopt;
  return message->GetReflection()->GetUInt32(*message, field);
}

std::optional<uint32_t> startedToken(const plan::Entry &entry) {
  return entry.has_wait() ? std::nullopt : numberOf(entry, "token");
}
std::optional<uint32_t> groupOf(const plan::Entry &entry) {
  return numberOf(entry, "group");
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

/// The elements of a constant, float32 or float64.
static std::vector<double> numbersOf(const plan::Constant &constant,
                                     const plan::Tensor &tensor) {
  std::vector<double> numbers;
  const std::string &data = constant.data();
  const auto bytes = size_t(bytesOf(tensor.dtype()));
  for (int64_t i = 0; i < tensor.shape(0); ++i) {
    size_t at =
        constant.splat() ? 0 : size_t(tensor.offset()) + size_t(i) * bytes;
    if (at + bytes > data.size())
      return {};
    float narrow = 0;
    double wide = 0;
    std::memcpy(bytes == sizeof(float) ? static_cast<void *>(&narrow) : &wide,
                data.data() + at, bytes);
    numbers.push_back(bytes == sizeof(float) ? double(narrow) : wide);
  }
  return numbers;
}

void checkClassWeights(const plan::Plan &plan, Findings &findings) {
  const auto &told = plan.loss().class_weights();
  const std::vector<double> weights(told.begin(), told.end());
  if (plan.loss().kind() != "cross_entropy")
    return;
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries()) {
      if (!entry.has_cross_entropy() && !entry.has_cross_entropy_grad() &&
          !entry.has_linear_cross_entropy())
        continue;
      std::vector<double> read;
      forTensors(entry,
                 [&](const std::string &field, const plan::Tensor &tensor) {
                   for (const plan::Constant &constant : plan.constants())
                     if (field == "class_weights" &&
                         constant.buffer() == tensor.buffer() &&
                         tensor.shape_size() == 1 &&
                         (tensor.dtype() == plan::FLOAT32 ||
                          tensor.dtype() == plan::FLOAT64))
                       read = numbersOf(constant, tensor);
                 });
      if (read != weights)
        findings.add(entry.name(),
                     "weighs the classes otherwise than the loss, whose mean "
                     "divides by its labels' weights");
    }
}

namespace {

/// That everything that a plan names by a number is there, and numbers are such
/// that the rest of this program can reckon with them.
class Indices {
public:
  Indices(const plan::Plan &plan, Findings &findings)
      : plan(plan), findings(findings) {}

  void check() {
    for (const plan::Buffer &buffer : plan.buffers())
      checkBuffer(buffer);
    for (const plan::Unit &unit : plan.units())
      checkUnit(unit);
    for (const plan::Parameter &parameter : plan.parameters()) {
      index(parameter.unit(), plan.units_size(), parameter.name(), "unit");
      for (int64_t size : parameter.shape())
        need(size >= 0 && size < most, parameter.name(), "has a dim of ", size);
    }
    checkRunInputs();
    for (const plan::Program *program : {&plan.train(), &plan.eval()})
      for (const plan::Entry &entry : program->entries()) {
        checkTensors(entry);
        if (const protobuf::Message *message = messageOf(entry))
          checkFields(*message, entry.name());
      }
  }

private:
  template <typename... What>
  void need(bool holds, const std::string &where, const What &...what) {
    if (!holds)
      findings.add(where, what...);
  }
  void index(uint64_t i, int size, const std::string &where, const char *what) {
    need(i < uint64_t(size), where, "names ", what, " ", i, " of ", size);
  }
  void buffer(uint64_t i, const std::string &where) {
    index(i, plan.buffers_size(), where, "buffer");
  }

  void checkBuffer(const plan::Buffer &buffer);
  void checkUnit(const plan::Unit &unit);
  void checkRunInputs();
  void checkTensors(const plan::Entry &entry);
  void checkFields(const protobuf::Message &message, const std::string &name);

  const plan::Plan &plan;
  Findings &findings;
};

void Indices::checkBuffer(const plan::Buffer &buffer) {
  index(buffer.pool(), plan.pools_size(), buffer.name(), "pool");
  if (buffer.pool() >= uint32_t(plan.pools_size()))
    return;
  const plan::Pool &pool = plan.pools(int(buffer.pool()));
  need(buffer.offset() >= 0 && buffer.bytes() >= 0 && buffer.bytes() < most &&
           buffer.offset() < most &&
           buffer.offset() + buffer.bytes() <= pool.bytes(),
       "buffer " + buffer.name(), "ends at byte ",
       buffer.offset() + buffer.bytes(), " of the pool ", pool.name(),
       ", which has ", pool.bytes());
}

void Indices::checkUnit(const plan::Unit &unit) {
  buffer(unit.parameter_buffer(), unit.name());
  buffer(unit.master_buffer(), unit.name());
  buffer(unit.remainder_buffer(), unit.name());
  for (uint32_t state : unit.state_buffers())
    buffer(state, unit.name());
  for (uint32_t parameter : unit.parameters())
    index(parameter, plan.parameters_size(), unit.name(), "parameter");
  need(unit.elements() >= 0 && unit.elements() < most && unit.shards() >= 1 &&
           unit.optimizer_shards() >= 0 && bytesOf(unit.dtype()),
       unit.name(), "has ", unit.elements(), " elements in ", unit.shards(),
       " slices of type ", int(unit.dtype()));
}

/// What a run writes before its steps.
void Indices::checkRunInputs() {
  for (const plan::Constant &constant : plan.constants())
    buffer(constant.buffer(), "a constant");
  buffer(plan.loss().scale_buffer(), "the loss");
  if (plan.has_draws())
    buffer(plan.draws().buffer(), "the draws");
  if (plan.has_running())
    buffer(plan.running().buffer(), "the weights of running statistics");
  for (const plan::Input &input : plan.inputs())
    need(isSane(input.tensor(), plan), input.name(),
         "does not lie in its buffer");
}

void Indices::checkTensors(const plan::Entry &entry) {
  need(messageOf(entry), entry.name(),
       "is of a kind that this program does not know");
  forTensors(entry, [&](const std::string &field, const plan::Tensor &tensor) {
    need(isSane(tensor, plan), entry.name(), field,
         " is a view that is not inside its buffer");
  });
}

/// Every other number that an entry names something by, and that it has what it
/// cannot do without.
void Indices::checkFields(const protobuf::Message &message,
                          const std::string &name) {
  const std::map<std::string_view, int> sizes = {
      {"unit", std::max(plan.units_size(), 1)},
      {"units", plan.units_size()},
      {"group", plan.groups_size()},
      {"kernel", plan.kernels_size()},
      {"gathered", plan.buffers_size()}};
  // See also checkMatrices and Run::optimizerStep.
  static const std::set<std::string, std::less<>> optional = {
      "bias",           "residual",     "bias_gradient",
      "workspace",      "log_sum_exp",  "key_mask",
      "input_gradient", "correct",      "weight_gradient",
      "accumulator",    "base",         "kept",
      "direction",      "master",       "norm",
      "previous",       "sinks",        "parameters",
      "words",          "class_weights"};
  const protobuf::Reflection *of = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const auto *field = message.GetDescriptor()->field(i);
    if (field->message_type() == plan::Tensor::descriptor())
      need(field->is_repeated() || optional.contains(field->name()) ||
               of->HasField(message, field),
           name, "lacks its ", field->name());
    auto size = sizes.find(std::string_view(field->name()));
    if (field->cpp_type() != field->CPPTYPE_UINT32 || size == sizes.end())
      continue;
    int count = field->is_repeated() ? of->FieldSize(message, field) : 1;
    for (int k = 0; k < count; ++k)
      index(field->is_repeated() ? of->GetRepeatedUInt32(message, field, k)
                                 : of->GetUInt32(message, field),
            size->second, name, size->first.data());
  }
}

} // namespace

bool checkIndices(const plan::Plan &plan, Findings &findings) {
  size_t before = findings.all().size();
  Indices(plan, findings).check();
  return findings.all().size() == before;
}

} // namespace shardc::check
