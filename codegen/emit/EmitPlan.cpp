// From a planned step to runtime/plan.proto: the frame around the programs.
#include "codegen/emit/EmitPlan.h"

#include "codegen/emit/EmitEntries.h"
#include "codegen/emit/EmitRunInputs.h"
#include "codegen/emit/StoredSample.h"
#include "codegen/step/View.h"
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"

#include "runtime/device/Optimizers.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace shardc {

std::string EmittedPlan::serialize() const {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plan.SerializeToCodedStream(&coded);
  }
  return bytes;
}

namespace {

class PlanEmitter {
public:
  PlanEmitter(ModuleOp module, const EmitOptions &options)
      : module(module), options(options), symbols(module),
        message(result.plan) {
    for (const EmbeddedRange &range : options.embedded)
      embed(range);
  }

  llvm::Expected<EmittedPlan> emit();

private:
  llvm::Error checkTypes();
  void header();
  void mesh();
  void precision();
  void buffers();
  void units();
  void addParameter(nn::ParameterOp parameter, fsdp::UnitOp unit,
                    uint32_t unitIndex, int64_t flatOffset);
  void inputs();
  void loss();
  void optimizer();
  llvm::Error constants();
  llvm::Error programs();
  llvm::Error exported();
  void source(const StoredValues &values, bool isEmbedded,
              plan::Source *message);
  void embed(const EmbeddedRange &range);

  template <typename OpTy> auto planOps() {
    return plan.getBody().front().getOps<OpTy>();
  }

  ModuleOp module;
  const EmitOptions &options;
  SymbolTable symbols;
  step::PlanOp plan;
  EmittedPlan result;
  plan::Plan &message;
  PlanIndices indices;
  llvm::StringMap<uint32_t> parameterIndices;
  /// Ranges that are embedded already, by file, offset and length.
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> embedded;
  int64_t embeddedBytes = 0;
};

// What codegen/kernels/GroupBody.h wrote down.
void emitBody(DictionaryAttr body, plan::Kernel *kernel) {
  for (auto op : body.getAs<ArrayAttr>("ops").getAsRange<DictionaryAttr>()) {
    plan::Kernel::Op *entry = kernel->add_body();
    entry->set_name(op.getAs<StringAttr>("name").str());
    for (int64_t operand : op.getAs<DenseI64ArrayAttr>("operands").asArrayRef())
      entry->add_operands(static_cast<uint32_t>(operand));
    for (NamedAttribute attribute : op.getAs<DictionaryAttr>("attributes")) {
      std::string text;
      llvm::raw_string_ostream os(text);
      attribute.getValue().print(os);
      (*entry->mutable_attributes())[attribute.getName().str()] = text;
    }
    for (auto type :
         op.getAs<ArrayAttr>("results").getAsValueRange<TypeAttr>()) {
      auto tensor = cast<RankedTensorType>(type);
      plan::Kernel::Type *result = entry->add_results();
      result->set_dtype(dtypeOf(tensor.getElementType()));
      for (int64_t size : tensor.getShape())
        result->add_shape(size);
    }
  }
  for (int64_t result : body.getAs<DenseI64ArrayAttr>("results").asArrayRef())
    kernel->add_results(static_cast<uint32_t>(result));
}

void PlanEmitter::header() {
  message.set_version(1);
  message.set_compiler(options.compiler);
  message.set_model(options.model);
  message.set_model_hash(options.modelHash);
  message.set_init(options.init);
  precision();
  message.set_live_bound_bytes(plan.getLiveBoundBytes().value_or(0));
  auto functions = module.lookupSymbol<ModuleOp>("kernels");
  if (!functions)
    return; // nothing was outlined
  for (auto kernel : functions.getOps<func::FuncOp>()) {
    indices.kernels[kernel.getSymName()] = message.kernels_size();
    plan::Kernel *entry = message.add_kernels();
    entry->set_symbol(kernel.getSymName().str());
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      step::View input = step::viewOfInput(kernel, i);
      entry->add_argument_bytes(input.spanBytes());
      if (step::stridesOfInput(kernel, i))
        (*entry->mutable_strides())[i].mutable_strides()->Assign(
            input.strides.begin(), input.strides.end());
    }
    for (Type tensor : kernel.getResultTypes())
      entry->add_argument_bytes(
          step::View::contiguous({}, 0, cast<RankedTensorType>(tensor))
              .spanBytes());
    if (auto body = kernel->getAttrOfType<DictionaryAttr>(step::bodyAttr))
      emitBody(body, entry);
  }
}

// What nn-precision said; in a module that has not met it, the first unit.
void PlanEmitter::precision() {
  plan::Precision *entry = message.mutable_precision();
  auto attributes = module->getAttrOfType<DictionaryAttr>(nn::precisionAttr);
  auto units = module.getOps<fsdp::UnitOp>();
  Type fallback = units.empty() ? Float32Type::get(module.getContext())
                                : (*units.begin()).getElementType();
  auto type = [&](StringRef key) {
    auto value = attributes ? attributes.getAs<TypeAttr>(key) : TypeAttr();
    return dtypeOf(value ? value.getValue() : fallback);
  };
  entry->set_parameters(type("parameters"));
  entry->set_gradients(type("gradients"));
  entry->set_loss(type("loss"));
  entry->set_master(type("master"));
  entry->set_split_master(attributes && attributes.contains("split_master"));
}

void PlanEmitter::mesh() {
  plan::Mesh *mesh = message.mutable_mesh();
  mesh->set_ranks(1);
  mesh->set_shards(1);
  mesh->set_optimizer_shards(1);
  for (auto op : module.getOps<fsdp::MeshOp>()) {
    mesh->set_strategy(op.getStrategy().str());
    mesh->set_ranks(op.getRanks());
    mesh->set_shards(op.getShards());
    mesh->set_optimizer_shards(op.getOptimizerShards());
    for (int64_t size : op.getDims())
      mesh->add_dims(size);
    for (auto name : op.getNames().getAsRange<StringAttr>())
      mesh->add_names(name.str());
    for (int64_t dim : op.getShardDims())
      mesh->add_shard_dims(dim);
    for (int64_t dim : op.getOptimizerDims())
      mesh->add_optimizer_dims(dim);
  }
  // The world comes first, and is there for one rank too.
  auto addGroup = [&](StringRef name, int64_t stride, int64_t size) {
    indices.groups[name] = message.groups_size();
    plan::Group *group = message.add_groups();
    group->set_name(name.str());
    group->set_stride(stride);
    group->set_size(size);
  };
  auto groups = module.getOps<fsdp::GroupOp>();
  if (groups.empty())
    addGroup("world", 1, mesh->ranks());
  for (fsdp::GroupOp group : groups)
    addGroup(group.getSymName(), group.getStride(), group.getSize());
  if (auto mode = module->getAttrOfType<StringAttr>(fsdp::accumulateAttr))
    message.set_accumulate(mode.str());
}

void PlanEmitter::buffers() {
  ArrayRef<int64_t> poolBytes = *plan.getPoolBytes();
  for (auto [pool, bytes] : llvm::enumerate(poolBytes)) {
    // The last one, which plans have that put something there.
    if (step::Pool(pool) == step::Pool::host && bytes == 0)
      continue;
    plan::Pool *entry = message.add_pools();
    entry->set_name(step::stringifyPool(step::Pool(pool)).str());
    entry->set_bytes(bytes);
  }
  for (auto [kind, bytes] : llvm::enumerate(*plan.getKindBytes())) {
    step::Pool pool = step::poolOf(step::Kind(kind));
    if (bytes == 0 &&
        (pool == step::Pool::host || step::Kind(kind) == step::Kind::staging))
      continue;
    plan::Pool::Kind *entry = message.mutable_pools(int(pool))->add_kinds();
    entry->set_name(step::stringifyKind(step::Kind(kind)).str());
    entry->set_bytes(bytes);
  }
  plan.walk([&](step::BufferOp buffer) {
    indices.buffers[buffer] = message.buffers_size();
    plan::Buffer *entry = message.add_buffers();
    entry->set_name(buffer.getName().str());
    entry->set_pool(uint32_t(step::poolOf(buffer.getKind())));
    entry->set_offset(buffer.getOffset().value_or(0));
    entry->set_bytes(buffer.getBytes());
  });
}

void PlanEmitter::embed(const EmbeddedRange &range) {
  embedded.insert(
      {{range.file, range.offset, range.length}, range.sectionOffset});
  result.weights.push_back(range);
  embeddedBytes =
      llvm::alignTo(range.sectionOffset + range.length, weightAlignment);
}

void PlanEmitter::source(const StoredValues &values, bool isEmbedded,
                         plan::Source *message) {
  message->set_file(values.file);
  message->set_offset(values.offset);
  message->set_length(values.length);
  message->set_dtype(dtypeOf(values.type));
  message->set_transposed(values.transposed);
  if (!isEmbedded || values.length == 0) {
    if (!values.file.empty())
      message->set_sample(storedSample(options.model, values.file,
                                       values.offset, values.length));
    return;
  }
  std::tuple range(values.file, values.offset, values.length);
  if (!embedded.contains(range))
    embed({values.file, values.offset, values.length, embeddedBytes});
  message->clear_file();
  message->set_offset(embedded.at(range));
  message->set_embedded(true);
}

void PlanEmitter::addParameter(nn::ParameterOp parameter, fsdp::UnitOp unit,
                               uint32_t unitIndex, int64_t flatOffset) {
  parameterIndices[parameter.getSymName()] = message.parameters_size();
  plan::Parameter *entry = message.add_parameters();
  entry->set_name(parameter.getSymName().str());
  entry->set_initializer(parameter.getInitializer().str());
  for (int64_t size : cast<RankedTensorType>(parameter.getType()).getShape())
    entry->add_shape(size);
  entry->set_dtype(dtypeOf(unit.getElementType()));
  entry->set_trainable(parameter.getTrainable());
  entry->set_frozen(parameter.getFrozen());
  entry->set_unit(unitIndex);
  entry->set_flat_offset(flatOffset);
  std::optional<StringRef> init = parameter.getInit();
  if (init)
    entry->set_init(init->str());
  // A trainer that draws its values has with it what nothing draws.
  bool isEmbedded = options.embedWeights || (options.init == "random" && !init);
  source({parameter.getFile().str(), int64_t(parameter.getOffset()),
          int64_t(parameter.getLength()), parameter.getStoredType(),
          parameter.getTransposed()},
         isEmbedded, entry->mutable_source());
  if (auto role = parameter->getAttrOfType<StringAttr>(nn::parameterRoleAttr))
    entry->set_role(role.str());
  static_assert(std::string_view(nn::runningOptimizer) == runningStatistics);
  if (auto own = parameter->getAttrOfType<StringAttr>(nn::optimizerAttr))
    entry->set_optimizer(own.str());
}

void PlanEmitter::units() {
  struct Place {
    fsdp::UnitOp unit;
    uint32_t index;
    int64_t flatOffset;
  };
  llvm::MapVector<StringAttr, Place> places; // in the units' order
  for (auto storage : planOps<step::StorageOp>()) {
    auto unit = symbols.lookup<fsdp::UnitOp>(storage.getUnit());
    uint32_t index = message.units_size();
    indices.units[storage.getUnit()] = index;
    plan::Unit *entry = message.add_units();
    entry->set_name(unit.getSymName().str());
    entry->set_elements(unit.getElements());
    entry->set_padding(unit.getPadding());
    entry->set_shards(unit.getShards());
    entry->set_dtype(dtypeOf(unit.getElementType()));
    entry->set_parameter_buffer(
        indices.buffers.lookup(storage.getParameters().getDefiningOp()));
    entry->set_optimizer_shards(unit.getOptimizerShards());
    entry->set_master_dtype(dtypeOf(unit.getMasterType()));
    entry->set_gradient_dtype(dtypeOf(unit.getGradientType()));
    if (storage.getMaster())
      entry->set_master_buffer(
          indices.buffers.lookup(storage.getMaster().getDefiningOp()));
    if (storage.getRemainder())
      entry->set_remainder_buffer(
          indices.buffers.lookup(storage.getRemainder().getDefiningOp()));
    for (Value state : storage.getStates())
      entry->add_state_buffers(indices.buffers.lookup(state.getDefiningOp()));
    for (auto [reference, offset] :
         llvm::zip(unit.getParameters().getAsRange<FlatSymbolRefAttr>(),
                   unit.getOffsets()))
      places.insert({reference.getAttr(), Place{unit, index, offset}});
  }
  // In the model's own order: units, and with them the mesh and the cluster's
  // times, do not show in what a trainer exports.
  for (auto parameter : module.getOps<nn::ParameterOp>())
    if (auto place = places.find(parameter.getSymNameAttr());
        place != places.end()) {
      auto [unit, index, offset] = place->second;
      addParameter(parameter, unit, index, offset);
    }
  for (auto &[name, place] : places)
    message.mutable_units(static_cast<int>(place.index))
        ->add_parameters(parameterIndices.lookup(name.getValue()));
}

void PlanEmitter::inputs() {
  for (auto input : planOps<step::InputOp>()) {
    if (emitRunInput(input, indices, message))
      continue;
    plan::Input *entry = message.add_inputs();
    entry->set_name(input.getName().str());
    entry->set_role(input.getRole().str());
    emitTensor(input.getView(), indices, entry->mutable_tensor());
    if (std::optional<ArrayRef<int64_t>> bounds = input.getBounds()) {
      entry->set_bounded(true);
      entry->set_min_value((*bounds)[0]);
      entry->set_max_value((*bounds)[1]);
    }
  }
}

void PlanEmitter::loss() {
  auto attributes = module->getAttrOfType<DictionaryAttr>(nn::lossAttr);
  if (!attributes)
    return;
  auto text = [&](StringRef key) {
    auto value = attributes.getAs<StringAttr>(key);
    return value ? value.getValue().str() : std::string();
  };
  auto number = [&](StringRef key) {
    auto value = attributes.getAs<IntegerAttr>(key);
    return value ? value.getInt() : int64_t(0);
  };
  plan::Loss *entry = message.mutable_loss();
  entry->set_kind(text("kind"));
  entry->set_labels(text("labels"));
  entry->set_ignore_index(number("ignore_index"));
  entry->set_shift(number("shift"));
  entry->set_classes(number("classes"));
  entry->set_elements(number("elements"));
  entry->set_reduction(text("reduction"));
  if (auto weights = attributes.getAs<DenseF64ArrayAttr>("class_weights"))
    entry->mutable_class_weights()->Add(weights.asArrayRef().begin(),
                                        weights.asArrayRef().end());
}

void PlanEmitter::optimizer() {
  plan.walk([&](step::OptimizerStepOp op) {
    plan::Optimizer *entry = message.mutable_optimizer();
    entry->set_kind(op.getKind().str());
    entry->clear_states();
    if (const Optimizer *optimizer = findOptimizer(op.getKind()))
      for (std::string_view state : optimizer->states())
        entry->add_states(std::string(state));
  });
}

// The elements' bytes, little-endian, a byte per boolean.
llvm::Expected<std::string> bytesOf(ElementsAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (dense.getElementType().isInteger(1)) {
      std::string bytes;
      if (dense.isSplat())
        bytes.push_back(dense.getSplatValue<bool>());
      else
        for (bool element : dense.getValues<bool>())
          bytes.push_back(element);
      return bytes;
    }
    ArrayRef<char> raw = dense.getRawData();
    return std::string(raw.data(), raw.size());
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return std::string(blob->getData().data(), blob->getData().size());
  return llvm::createStringError("a constant's values are not dense");
}

llvm::Error PlanEmitter::constants() {
  for (auto constant : planOps<step::ConstantOp>()) {
    llvm::Expected<std::string> bytes = bytesOf(constant.getValue());
    if (!bytes)
      return bytes.takeError();
    plan::Constant *entry = message.add_constants();
    entry->set_buffer(
        indices.buffers.lookup(constant.getBuffer().getDefiningOp()));
    entry->set_data(std::move(*bytes));
    entry->set_splat(isa<SplatElementsAttr>(constant.getValue()));
  }
  return llvm::Error::success();
}

llvm::Error PlanEmitter::programs() {
  for (auto program : planOps<step::ProgramOp>())
    if (llvm::Error error =
            emitProgram(program, indices,
                        program.getName() == "train" ? message.mutable_train()
                                                     : message.mutable_eval()))
      return error;
  double flops = 0;
  for (const plan::Entry &entry : message.train().entries())
    if (entry.phase() != "optimizer") // the model's alone
      flops += entry.flops();
  message.set_flops_per_step(flops);
  return llvm::Error::success();
}

llvm::Error PlanEmitter::exported() {
  for (const ExportedInitializer &initializer : options.exported) {
    plan::ExportedInitializer *entry = message.add_exported_initializers();
    entry->set_name(initializer.name);
    entry->set_transposed(initializer.transposed);
    entry->set_onnx_dtype(initializer.onnxType);
    for (int64_t size : initializer.dims)
      entry->add_dims(size);
    // A parameter that nothing trained or read keeps its stored values.
    auto found = parameterIndices.find(initializer.parameter);
    entry->set_parameter(
        found == parameterIndices.end() ? -1 : int32_t(found->second));
    if (found == parameterIndices.end())
      source(initializer.source, options.embedWeights, entry->mutable_source());
  }
  return llvm::Error::success();
}

llvm::Error PlanEmitter::checkTypes() {
  std::string problem;
  auto check = [&](Type type, const Twine &of) {
    if (problem.empty() && dtypeOf(type) == plan::INVALID)
      llvm::raw_string_ostream(problem)
          << "the plan has no type " << type << " for " << of;
  };
  plan.walk([&](step::ViewOp view) {
    check(getElementTypeOrSelf(view.getType()), "a tensor");
  });
  for (auto parameter : module.getOps<nn::ParameterOp>())
    check(parameter.getStoredType(),
          "stored parameter '" + parameter.getSymName() + "'");
  return problem.empty() ? llvm::Error::success()
                         : llvm::createStringError(problem);
}

llvm::Expected<EmittedPlan> PlanEmitter::emit() {
  auto plans = module.getOps<step::PlanOp>();
  if (plans.empty() || !(*plans.begin()).getPoolBytes())
    return llvm::createStringError(
        "the module has no planned step; run step-plan-memory first");
  plan = *plans.begin();
  if (llvm::Error error = checkTypes())
    return error;
  header();
  mesh();
  buffers();
  units();
  inputs();
  loss();
  optimizer();
  if (llvm::Error error = constants())
    return error;
  if (llvm::Error error = programs())
    return error;
  if (llvm::Error error = exported())
    return error;
  return std::move(result);
}

} // namespace

llvm::Expected<EmittedPlan> emitPlan(ModuleOp module,
                                     const EmitOptions &options) {
  return PlanEmitter(module, options).emit();
}

} // namespace shardc
