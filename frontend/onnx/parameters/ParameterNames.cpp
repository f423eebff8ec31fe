// Names by the calls that read a parameter, then by modules, then by itself.
#include "frontend/onnx/parameters/ParameterNames.h"
#include "frontend/onnx/parameters/NameHints.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace shardc::onnx {

StringRef lastComponent(StringRef name) {
  return name.contains('.') ? name.rsplit('.').second : name;
}

StringRef moduleOf(StringRef name) {
  return name.contains('.') ? name.rsplit('.').first : StringRef();
}

SignatureNames::SignatureNames(const ModelFile &file,
                               llvm::ArrayRef<Node> nodes,
                               const GraphSignature &signature,
                               const Readers &readers)
    : file(file), nodes(nodes), signature(signature), readers(readers) {
  for (const Node &node : nodes)
    for (const std::string &name : parameterArguments(*node.proto, signature))
      referenced.insert(name);
}

void SignatureNames::add(const Initializer &initializer, const Fold &fold,
                         llvm::ArrayRef<Reader> usedBy) {
  ownNames[&initializer] = ownName(initializer, fold, usedBy);
  sourcesOf[&initializer] = fold.sources;
}

/// Whether a call takes a result that the initializer was folded to, or on the
/// way there: it is that argument, no parameter or buffer.
bool SignatureNames::isResultIn(const FxCall &call,
                                const Initializer &initializer) const {
  std::vector<StringRef> values = call.values();
  auto isTaken = [&](StringRef name) {
    return !signature.isParameter(name) && !signature.buffers.contains(name) &&
           llvm::is_contained(values, name);
  };
  auto sources = sourcesOf.find(&initializer);
  return isTaken(initializer.name) ||
         (sources != sourcesOf.end() && llvm::any_of(sources->second, isTaken));
}

std::string SignatureNames::ownName(const Initializer &initializer,
                                    const Fold &fold,
                                    llvm::ArrayRef<Reader> usedBy) const {
  if (signature.isParameter(initializer.name) ||
      signature.buffers.contains(initializer.name))
    return initializer.name;
  if (fold.parameters.size() == 1)
    return fold.parameters[0];
  // An exporter that does not say what it folded.
  for (const Reader &reader : usedBy) {
    std::vector<std::string> arguments =
        parameterArguments(*nodes[reader.node].proto, signature);
    // Those that have an initializer of their own are not meant.
    llvm::erase_if(arguments,
                   [&](StringRef name) { return file.find(name) != nullptr; });
    if (arguments.size() == 1)
      return arguments[0];
  }
  return initializer.name;
}

Meaning SignatureNames::of(const Initializer &initializer,
                           const Reader &reader) const {
  auto own = ownNames.find(&initializer);
  Meaning meaning;
  bool isListed = signature.isParameter(initializer.name) ||
                  signature.buffers.contains(initializer.name);
  if (own == ownNames.end() || (own->second == initializer.name && !isListed)) {
    meaning.name = initializer.name;
    return meaning;
  }
  FxCall call = fxCall(*nodes[reader.node].proto);
  if (isResultIn(call, initializer)) {
    meaning.name = own->second;
    return meaning;
  }
  // A result that no call takes stands for another one that was equal, whose
  // parameter is not told.
  if (call && !isListed && !isGeneratedName(initializer.name))
    return meaning;
  meaning.name = nameOf(own->second, reader);
  // Of tied parameters, FX knows one name only: the module that the node
  // belongs to tells the other.
  std::string ofScope = (moduleScope(nodes[reader.node]) + "." +
                         lastComponent(meaning.name).str());
  if (ofScope != meaning.name && signature.isParameter(ofScope) &&
      !referenced.contains(ofScope) && !file.find(ofScope))
    meaning.alias = std::move(ofScope);
  return meaning;
}

std::string SignatureNames::nameOf(StringRef own, const Reader &reader) const {
  std::vector<std::string> arguments =
      tensorArguments(*nodes[reader.node].proto, signature);
  if (arguments.empty()) {
    // Nodes without an FX node of their own: parameters of the module that the
    // node belongs to.
    std::string ofScope =
        moduleScope(nodes[reader.node]) + "." + lastComponent(own).str();
    return signature.isParameter(ofScope) && !file.find(ofScope) &&
                   (referenced.empty() || referenced.contains(ofScope))
               ? ofScope
               : own.str();
  }
  if (std::string name = matched(arguments, reader); !name.empty())
    return name;
  // One of several nodes that a call became.
  if (llvm::is_contained(arguments, own))
    return own.str();
  // What the node's other inputs hold is not meant.
  const ::onnx::NodeProto &node = *nodes[reader.node].proto;
  for (int position = 0; position < node.input_size(); ++position)
    if (const Initializer *other = readers.at(reader.node, position);
        other && position != reader.input)
      llvm::erase(arguments, ownNames.lookup(other));
  std::vector<std::string> alike;
  llvm::copy_if(arguments, std::back_inserter(alike), [&](StringRef name) {
    return lastComponent(name) == lastComponent(own);
  });
  bool isAlike = !alike.empty();
  if (!isAlike)
    alike = std::move(arguments);
  // Nor are those that have an initializer of their own.
  if (!isAlike || alike.size() > 1)
    llvm::erase_if(alike, [&](StringRef name) { return file.find(name); });
  // A call that takes what was made of the parameter names none.
  if (!isAlike && alike.empty())
    return own.str();
  return alike.size() == 1 ? alike[0] : std::string();
}

/// The argument that input `reader.input` stands for, where the node reads as
/// many parameters as its call does: by name, then by the last component of the
/// name, then in order.
std::string SignatureNames::matched(llvm::ArrayRef<std::string> arguments,
                                    const Reader &reader) const {
  struct Input {
    int position;
    StringRef own, argument;
  };
  llvm::SmallVector<Input> inputs;
  const ::onnx::NodeProto &node = *nodes[reader.node].proto;
  FxCall call = fxCall(node);
  for (int position = 0; position < node.input_size(); ++position)
    if (const Initializer *initializer = readers.at(reader.node, position))
      if (auto own = ownNames.find(initializer);
          own != ownNames.end() && !isResultIn(call, *initializer))
        inputs.push_back({position, own->second, {}});
  if (inputs.size() != arguments.size())
    return {};
  llvm::SmallVector<StringRef> left(arguments.begin(), arguments.end());
  auto match = [&](auto fits) {
    for (Input &input : inputs) {
      if (!input.argument.empty())
        continue;
      auto argument = llvm::find_if(
          left, [&](StringRef name) { return fits(input.own, name); });
      if (argument == left.end())
        continue;
      input.argument = *argument;
      left.erase(argument);
    }
  };
  match([](StringRef own, StringRef name) { return own == name; });
  match([](StringRef own, StringRef name) {
    return lastComponent(own) == lastComponent(name);
  });
  match([](StringRef, StringRef) { return true; });
  for (const Input &input : inputs)
    if (input.position == reader.input)
      return input.argument.str();
  return {};
}

/// Adds a module and those around it.
static void addModules(llvm::StringSet<> &modules, StringRef module) {
  for (; !module.empty() && modules.insert(module).second;)
    module = moduleOf(module);
}

LegacyNames::LegacyNames(const ModelFile &file, llvm::ArrayRef<Node> nodes,
                         const Readers &readers)
    : nodes(nodes), readers(readers), isPyTorchs(onnx::isPyTorchs(file)) {
  for (const Initializer &initializer : file.initializers())
    if (!isGeneratedName(initializer.name))
      addModules(modulesOfTensors, moduleOf(initializer.name));
  for (const auto &[initializer, usedBy] : readers.all())
    for (const Reader &reader : usedBy)
      addModules(modulesOfTensors, moduleOf(reader.alias));
  for (const Node &node : nodes)
    addModules(modulesOfNodes, moduleScope(node));
}

/// The module of a node. Its second call is named with a number behind it
/// ("/layer_1/dense/MatMul"), which is taken off where no tensor says that a
/// module has that name.
std::string LegacyNames::moduleOfNode(const Node &node) const {
  std::string scope = moduleScope(node), result;
  llvm::SmallVector<StringRef> components;
  StringRef(scope).split(components, '.');
  for (StringRef component : components) {
    std::string before = result.empty() ? "" : result + ".";
    StringRef plain = fxFunction(component);
    if (!modulesOfTensors.contains(before + component.str()) &&
        (modulesOfTensors.contains(before + plain.str()) ||
         modulesOfNodes.contains(before + plain.str())))
      component = plain;
    result = before + component.str();
  }
  return result;
}

/// Name of a Linear's weight that was transposed and renamed: the bias that is
/// added tells it, else the module that the node belongs to.
std::string LegacyNames::nameOf(int index, int input) const {
  const Node &node = nodes[index];
  if (node.proto->op_type() == "Identity" && node.proto->output_size() == 1) {
    for (auto [consumer, position] : readers.consumers(node.proto->output(0)))
      if (consumer > index) // else it is no order of evaluation
        if (std::string name = nameOf(consumer, position); !name.empty())
          return name;
    return {};
  }
  if (node.proto->op_type() != "MatMul" || input != 1 ||
      node.proto->output_size() != 1)
    return {};
  for (auto [consumer, position] : readers.consumers(node.proto->output(0))) {
    const ::onnx::NodeProto &add = *nodes[consumer].proto;
    if (add.op_type() != "Add" || add.input_size() != 2)
      continue;
    StringRef bias = add.input(1 - position);
    if (bias.consume_back("bias") && !bias.empty())
      return (bias + "weight").str();
  }
  std::string module = moduleOfNode(node);
  return module.empty() ? module : module + ".weight";
}

bool LegacyNames::isRenamed(const Initializer &initializer) const {
  return isGeneratedName(initializer.name) &&
         (isPyTorchs || !isNumberedName(initializer.name));
}

std::vector<std::string>
LegacyNames::namesOf(const Initializer &initializer,
                     llvm::ArrayRef<Reader> usedBy) const {
  std::vector<std::string> result;
  const bool renamed = isRenamed(initializer);
  for (const Reader &reader : usedBy)
    result.push_back(!reader.alias.empty() ? reader.alias
                     : renamed             ? nameOf(reader.node, reader.input)
                                           : initializer.name);
  // What another node tells stands for those that tell nothing: they read the
  // same initializer, unless it is a copy that was merged for its values.
  auto known = llvm::find_if(
      result, [](const std::string &name) { return !name.empty(); });
  std::string own = known == result.end() ? initializer.name : *known;
  for (auto [name, reader] : llvm::zip(result, usedBy))
    if (name.empty() && (!reader.isCopy || own == initializer.name ||
                         nodes[reader.node].proto->op_type() == "Identity"))
      name = own;
  return result;
}

bool LegacyNames::isTransposed(const Initializer &initializer,
                               llvm::ArrayRef<Reader> usedBy) const {
  return initializer.dims.size() == 2 && isRenamed(initializer) &&
         llvm::any_of(usedBy, [&](const Reader &reader) {
           return nodes[reader.node].proto->op_type() == "MatMul" &&
                  reader.input == 1;
         });
}

} // namespace shardc::onnx
