// Walks the flat graph, decodes node by node, and puts the function and the
// parameters' symbols together.
#include "frontend/onnx/Import.h"
#include "frontend/onnx/GraphDims.h"
#include "frontend/onnx/ImportedModel.h"
#include "frontend/onnx/ParameterSymbols.h"
#include "frontend/onnx/decode/ControlFlow.h"
#include "frontend/onnx/decode/DecoderTable.h"
#include "frontend/onnx/decode/Drawn.h"
#include "frontend/onnx/graph/Detached.h"
#include "frontend/onnx/graph/Exporter.h"
#include "frontend/onnx/graph/NeededNodes.h"
#include "frontend/onnx/graph/SplitCalls.h"
#include "frontend/onnx/parameters/ParameterWarnings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;
using ::onnx::GraphProto;
using ::onnx::ValueInfoProto;

namespace {

// Constants are read up to this size; larger tensors that are no parameter are
// refused.
constexpr int64_t maxConstantBytes = int64_t(1) << 26;

class Importer {
public:
  Importer(MLIRContext *context, const ImportOptions &options,
           ImportDiagnostics &diagnostics)
      : context(context), builder(context), options(options),
        diagnostics(diagnostics) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult fail(const Twine &message) {
    return emitError(UnknownLoc::get(context)) << message;
  }
  LogicalResult fail(llvm::Error error) {
    return fail(llvm::toString(std::move(error)));
  }

  LogicalResult read();
  LogicalResult createFunction();
  /// A body that is being imported: its nodes, and the names that end with it.
  struct Body {
    const Node *node; // that has it
    int index;        // of that node
    std::unique_ptr<ControlFlow> flow;
    int begin, end, next; // of its nodes
    std::vector<std::string> names;
  };

  LogicalResult importNodes();
  LogicalResult importNode(const Node &node, int index);
  LogicalResult enterBody(NodeContext &nodeContext, int index);
  LogicalResult beginBody();
  LogicalResult leaveBody();
  LogicalResult defineOutputs(const Node &node, ArrayRef<Operand> results);
  FailureOr<SmallVector<Operand>> inputsOf(const Node &node, int index);
  FailureOr<Operand> constantInitializer(const Initializer &initializer);
  Operand parameterValue(std::pair<int, int> use);
  FailureOr<Operand> valueNamed(StringRef name);
  LogicalResult define(const Node &node, StringRef name, Operand value);
  LogicalResult finishFunction();

  MLIRContext *context;
  Builder builder;
  const ImportOptions &options;
  ImportDiagnostics &diagnostics;
  std::shared_ptr<const ImportedModel> model;
  const ModelFile *file = nullptr;
  std::vector<std::string> outputs; // that are imported, in the graph's order
  DecoderTable decoders;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::unique_ptr<Emitter> emitter;
  llvm::StringMap<Operand> values;
  DetachedInputs detached;
  llvm::DenseMap<int, CallPart> splitCalls;
  std::vector<std::unique_ptr<Body>> bodies; // the innermost last
  int64_t repeated = 0;                      // nodes of iterations
  llvm::DenseMap<std::pair<int, int>, Value> parameterValues;
};

LogicalResult Importer::read() {
  auto read = ImportedModel::read(options.path, options.roles,
                                  options.allowMissingWeights);
  if (!read)
    return fail(read.takeError());
  model = std::move(*read);
  file = model->file.get();
  auto stops = findDetached(*file, model->nodes);
  if (!stops)
    return fail(stops.takeError());
  detached = std::move(*stops);
  splitCalls = findSplitCalls(model->nodes);
  outputs = importedOutputs(file->graph(), options.outputs);
  const RoleFindings &roles = model->parameters.roles();
  if (!roles.problem.empty())
    return fail("'" + options.path + "': " + roles.problem);
  for (const std::string &warning :
       parameterWarnings(model->parameters, isPyTorchs(*file)))
    diagnostics.warnings.push_back("'" + options.path + "': " + warning);
  diagnostics.roles = roles.notes;
  diagnostics.lostParameters = model->parameters.lost();
  llvm::append_range(diagnostics.lostParameters, model->parameters.unused());
  return success();
}

LogicalResult Importer::createFunction() {
  FailureOr<SmallVector<GraphInput>> inputs =
      bindInputs(context, *file, options.dims);
  if (failed(inputs))
    return failure();
  // What has no elements, a cache of the past for one, is no data: it is known.
  llvm::erase_if(*inputs, [&](const GraphInput &input) {
    bool isEmpty = input.type.getNumElements() == 0;
    if (isEmpty)
      values.try_emplace(input.name, nn::HostTensor::splat(input.type, 0));
    return isEmpty;
  });
  module = ModuleOp::create(UnknownLoc::get(context));
  (*module)->setAttr(
      nn::modelAttr,
      builder.getStringAttr(llvm::sys::path::filename(options.path)));
  SmallVector<NamedAttribute> classes;
  for (const auto &[scope, name] : moduleClasses(model->nodes))
    classes.push_back(builder.getNamedAttr(scope, builder.getStringAttr(name)));
  if (!classes.empty())
    (*module)->setAttr(nn::scopeClassesAttr,
                       builder.getDictionaryAttr(classes));
  SmallVector<Type> types;
  for (const GraphInput &input : *inputs)
    types.push_back(input.type);
  auto atEnd = OpBuilder::atBlockEnd(module->getBody());
  if (llvm::Error error = createParameters(*model, atEnd))
    return fail(std::move(error));
  function = func::FuncOp::create(atEnd, UnknownLoc::get(context), "model",
                                  builder.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  emitter = std::make_unique<Emitter>(body);
  // All at once: one by one, each would make a list of all anew.
  SmallVector<DictionaryAttr> attributes;
  for (auto [index, input] : llvm::enumerate(*inputs)) {
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(input.name)),
         builder.getNamedAttr(nn::roleAttr, builder.getStringAttr("input"))}));
    if (!values.try_emplace(input.name, body->getArgument(index)).second)
      return fail("'" + options.path + "': input '" + input.name +
                  "' is defined twice");
  }
  function.setAllArgAttrs(attributes);
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Operand Importer::parameterValue(std::pair<int, int> use) {
  const Parameter &parameter = model->parameters.parameters()[use.first];
  const Binding &binding = parameter.bindings[use.second];
  Value &plain = parameterValues[{use.first, 0}];
  if (!plain) {
    auto type = RankedTensorType::get(parameter.dims,
                                      elementType(context, parameter.dtype));
    plain = emitter
                ->emit<nn::GetParameterOp>(
                    type, {},
                    {emitter->named("parameter", FlatSymbolRefAttr::get(
                                                     context, parameter.name))})
                .value();
  }
  if (binding.initializer->dims == parameter.dims && !binding.transposed)
    return plain;
  Value source = plain;
  Value &moved =
      parameterValues[{use.first, binding.transposed ? 1 : 2 + use.second}];
  if (!moved)
    moved = (binding.transposed
                 ? emitter->transpose(source, {1, 0})
                 : emitter->reshape(source, binding.initializer->dims))
                .value();
  return moved;
}

FailureOr<Operand>
Importer::constantInitializer(const Initializer &initializer) {
  auto describe = [&](llvm::Error error) {
    return fail("'" + options.path + "': initializer '" + initializer.name +
                "' " + llvm::toString(std::move(error)));
  };
  if (!initializer.bytes) {
    auto host =
        hostTensor(context, file->graph().initializer(initializer.index));
    if (!host)
      return describe(host.takeError());
    return Operand(*host);
  }
  auto bytes = file->read(initializer, maxConstantBytes);
  if (!bytes)
    return fail(bytes.takeError());
  auto host = hostTensor(context, initializer.dtype, initializer.dims, *bytes);
  if (!host)
    return describe(host.takeError());
  return Operand(*host);
}

FailureOr<Operand> Importer::valueNamed(StringRef name) {
  if (auto entry = values.find(name); entry != values.end())
    return entry->second;
  const Initializer *initializer = file->find(name);
  if (!initializer)
    return Operand();
  if (auto use = model->parameters.byInitializer(name))
    return parameterValue(*use);
  FailureOr<Operand> constant = constantInitializer(*initializer);
  if (succeeded(constant))
    values[name] = *constant;
  return constant;
}

FailureOr<SmallVector<Operand>> Importer::inputsOf(const Node &node,
                                                   int index) {
  SmallVector<Operand> inputs;
  for (auto [position, name] : llvm::enumerate(node.proto->input())) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    if (auto use = model->parameters.use(index, position)) {
      inputs.push_back(parameterValue(*use));
      continue;
    }
    FailureOr<Operand> value = valueNamed(name);
    if (failed(value))
      return failure();
    if (!*value)
      return fail("'" + options.path + "': node '" + node.name + "' (" +
                  node.proto->op_type() + ", opset " + Twine(node.opset) +
                  "): its input '" + name +
                  "' is not defined before it: the graph has a cycle, is not "
                  "sorted, or lacks a node");
    inputs.push_back(*value);
  }
  for (auto [position, input] : llvm::enumerate(inputs))
    if (input && !input.isConstant() && !input.isSequence() &&
        !input.isDrawn() && input.isFloat() &&
        detached.contains({index, int(position)}))
      input = emitter->emit<nn::StopGradientOp>(input.type(), {input});
  // Optional inputs at the end may be left out by empty names.
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
  return inputs;
}

LogicalResult Importer::define(const Node &node, StringRef name,
                               Operand value) {
  auto refuse = [&](const Twine &why) {
    return fail("'" + options.path + "': node '" + node.name +
                "': its output '" + name + "' " + why);
  };
  if (file->find(name))
    return refuse("is defined twice: it is a parameter, too; give that another "
                  "name in the module and export it again");
  if (!values.try_emplace(name, std::move(value)).second)
    return refuse("is defined twice");
  if (!bodies.empty())
    bodies.back()->names.push_back(name.str());
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult Importer::importNodes() {
  llvm::BitVector needed = neededNodes(
      ArrayRef(model->nodes).take_front(model->graphNodes), outputs);
  for (size_t index : needed.set_bits()) {
    if (failed(importNode(model->nodes[index], int(index))))
      return failure();
    // Bodies are nested as deep as they like, also through functions.
    while (!bodies.empty()) {
      Body &body = *bodies.back();
      int next = body.next++;
      if (failed(next < body.end ? importNode(model->nodes[next], next)
                                 : leaveBody()))
        return failure();
    }
  }
  return success();
}

LogicalResult Importer::importNode(const Node &node, int index) {
  FailureOr<SmallVector<Operand>> inputs = inputsOf(node, index);
  if (failed(inputs))
    return failure();
  emitter->setLocation(NameLoc::get(builder.getStringAttr(node.name)));
  StringRef op = node.proto->op_type();
  for (auto [position, input] : llvm::enumerate(*inputs))
    if (input && input.isDrawn()) {
      NodeContext taker(node, options.path, *emitter, *inputs);
      FailureOr<Operand> taken = takenDrawn(taker, position);
      if (failed(taken))
        return failure();
      input = *taken;
    }
  NodeContext nodeContext(node, options.path, *emitter, *inputs);
  const Decoder *decoder = decoders.find(node);
  if (!decoder)
    return nodeContext.error(decoders.whyUnsupported(node));
  if (!decoder->decode)
    return enterBody(nodeContext, index);
  if (failed(nodeContext.expectInputs(*decoder)))
    return failure();
  for (const Operand &input : *inputs) {
    if (input && input.isSequence() && !op.starts_with("Sequence") &&
        op != "ConcatFromSequence" && !op.starts_with("Optional"))
      return nodeContext.error("sequences are supported by SequenceAt, "
                               "SequenceLength and ConcatFromSequence only");
  }
  std::optional<Emitter::OneRounding> call;
  auto part = splitCalls.find(index);
  if (part != splitCalls.end())
    call.emplace(*emitter);
  bool isDrawn = llvm::any_of(
      *inputs, [](const Operand &input) { return input && input.isDrawn(); });
  if (failed(isDrawn ? decodeDrawn(nodeContext) : decoder->decode(nodeContext)))
    return failure();
  if (!emitter->failure().empty())
    return nodeContext.error(emitter->failure());
  if (!nodeContext.attributeProblem().empty())
    return nodeContext.error(nodeContext.attributeProblem());
  if (call && part->second == CallPart::Result)
    for (const Operand &result : nodeContext.results())
      call->result(result);
  return defineOutputs(node, nodeContext.results());
}

LogicalResult Importer::defineOutputs(const Node &node,
                                      ArrayRef<Operand> results) {
  for (auto [position, name] : llvm::enumerate(node.proto->output())) {
    if (name.empty())
      continue;
    if (position >= results.size() || !results[position])
      return NodeContext(node, options.path, *emitter, {})
          .error("its output " + Twine(position) + " ('" + name +
                 "') is not supported");
    if (failed(define(node, name, results[position])))
      return failure();
  }
  return success();
}

LogicalResult Importer::enterBody(NodeContext &nodeContext, int index) {
  FailureOr<std::unique_ptr<ControlFlow>> flow = ControlFlow::of(nodeContext);
  if (failed(flow))
    return failure();
  bodies.push_back(std::make_unique<Body>(
      Body{&nodeContext.node, index, std::move(*flow), 0, 0, 0, {}}));
  return bodies.back()->flow->isDone() ? leaveBody() : beginBody();
}

/// Begins what is next in the innermost body.
LogicalResult Importer::beginBody() {
  Body &body = *bodies.back();
  NodeContext nodeContext(*body.node, options.path, *emitter, {});
  auto [graph, which] = body.flow->body();
  std::tie(body.begin, body.end) = model->bodies.lookup({body.index, which});
  body.next = body.begin;
  for (const auto &tensor : graph->initializer()) {
    auto host = hostTensor(context, tensor);
    if (!host)
      return nodeContext.error("initializer '" + tensor.name() + "' " +
                               llvm::toString(host.takeError()));
    if (failed(define(*body.node, tensor.name(), *host)))
      return failure();
  }
  if ((repeated += body.end - body.begin) > maxNodes)
    return nodeContext.error("and other loops have more than " +
                             Twine(maxNodes) + " nodes in all iterations");
  for (auto [input, value] :
       llvm::zip(graph->input(), body.flow->inputs(*emitter)))
    if (failed(define(*body.node, input.name(), value)))
      return failure();
  return success();
}

/// The outputs of the innermost body become those of its node, unless it goes
/// on.
LogicalResult Importer::leaveBody() {
  Body &body = *bodies.back();
  const Node &node = *body.node;
  ControlFlow &flow = *body.flow;
  NodeContext nodeContext(node, options.path, *emitter, {});
  SmallVector<Operand> outputs;
  bool ran = !flow.isDone();
  if (ran)
    for (const ValueInfoProto &output : flow.body().graph->output()) {
      FailureOr<Operand> value = valueNamed(output.name());
      if (failed(value))
        return failure();
      if (!*value)
        return nodeContext.error("its body does not define the output '" +
                                 output.name() + "'");
      outputs.push_back(*value);
    }
  for (const std::string &name : body.names)
    values.erase(name);
  body.names.clear();
  emitter->setLocation(NameLoc::get(builder.getStringAttr(node.name)));
  if (ran && failed(flow.end(nodeContext, outputs)))
    return failure();
  if (!flow.isDone())
    return beginBody();
  FailureOr<SmallVector<Operand>> results = flow.results(nodeContext);
  if (failed(results))
    return failure();
  bodies.pop_back();
  return defineOutputs(node, *results);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Importer::finishFunction() {
  emitter->setLocation(UnknownLoc::get(context));
  if (file->graph().output_size() == 0)
    return fail("'" + options.path + "': the graph has no outputs");
  SmallVector<Value> results;
  for (const ValueInfoProto &output : file->graph().output()) {
    if (!llvm::is_contained(outputs, output.name()))
      continue;
    FailureOr<Operand> value = valueNamed(output.name());
    if (failed(value))
      return failure();
    if (!*value)
      return fail("'" + options.path + "': no node computes the output '" +
                  output.name() + "'");
    if (value->isSequence())
      return fail("'" + options.path + "': output '" + output.name() +
                  "' is a sequence; only tensors are supported");
    if (value->isDrawn()) {
      auto numbers = valuesOf(*emitter, value->drawn());
      if (!numbers)
        return fail("'" + options.path + "': output '" + output.name() +
                    "' is a mask of dropout, which cannot be an output");
      value = *numbers;
    }
    if (llvm::Error error = checkOutput(output, value->type()))
      return fail("'" + options.path +
                  "': " + llvm::toString(std::move(error)));
    results.push_back(emitter->materialize(*value));
  }
  Block &body = function.getBody().front();
  auto atEnd = OpBuilder::atBlockEnd(&body);
  func::ReturnOp::create(atEnd, UnknownLoc::get(context), results);
  SmallVector<Type> types =
      llvm::map_to_vector(results, [](Value value) { return value.getType(); });
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  SmallVector<DictionaryAttr> attributes;
  for (const std::string &output : outputs)
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(output))));
  function.setAllResultAttrs(attributes);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (failed(verify(*module)))
    return failure();
  return success();
}

OwningOpRef<ModuleOp> Importer::run() {
  context->loadDialect<nn::NNDialect, func::FuncDialect>();
  if (failed(read()) || failed(createFunction()) || failed(importNodes()) ||
      failed(finishFunction()))
    return nullptr;
  diagnostics.model = model;
  return std::move(module);
}

} // namespace

OwningOpRef<ModuleOp> shardc::onnx::importOnnx(MLIRContext *context,
                                               const ImportOptions &options,
                                               ImportDiagnostics &diagnostics) {
  return Importer(context, options, diagnostics).run();
}
