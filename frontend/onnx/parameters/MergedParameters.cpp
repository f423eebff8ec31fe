// Told apart by the modules of the nodes that read them.
#include "frontend/onnx/parameters/MergedParameters.h"
#include "frontend/nn/support/NamePattern.h"

using llvm::StringRef;

namespace shardc::onnx {
namespace {

/// Whether a module is another one or a part of it, as dense/Tensordot is of
/// dense. PyTorch's, which have dots, are known to be modules.
bool isWithin(StringRef inner, StringRef outer) {
  return inner.consume_front(outer) && (inner.empty() || inner.front() == '/');
}

/// The modules, each for those within it.
class Outermost {
public:
  void add(StringRef module) {
    for (std::string &known : modules)
      if (isWithin(module, known))
        return;
      else if (isWithin(known, module)) {
        known = module.str();
        return;
      }
    modules.push_back(module.str());
  }
  size_t size() const { return modules.size(); }
  StringRef of(StringRef module) const {
    for (StringRef known : modules)
      if (isWithin(module, known))
        return known;
    return module;
  }

private:
  std::vector<std::string> modules;
};

/// What follows the module in a tensor's name, with the sign between them:
/// ".weight", "/ReadVariableOp:0".
std::string ending(StringRef name) {
  size_t sign = name.find_last_of(name.contains('/') ? '/' : '.');
  return sign == StringRef::npos ? "." + name.str() : name.substr(sign).str();
}

} // namespace

MergedParameters::MergedParameters(const ModelFile &file,
                                   llvm::ArrayRef<Node> nodes,
                                   const Readers &readers,
                                   const LegacyNames &names,
                                   const RoleChoices &choices)
    : file(file), nodes(nodes), readers(readers), names(names),
      patterns(choices.untied), unties(patterns.size()) {
  for (const std::string &pattern : patterns)
    regexes.emplace_back(translatePattern(pattern));
}

/// An Identity is of the module that reads its result; a node of no module is
/// one by itself.
std::string MergedParameters::moduleOf(int index) const {
  const Node &node = nodes[index];
  if (node.proto->op_type() == "Identity" && node.proto->output_size() == 1)
    for (auto [consumer, input] : readers.consumers(node.proto->output(0)))
      if (consumer > index) // else it is no order of evaluation
        return moduleOf(consumer);
  if (std::string module = names.moduleOfNode(node); !module.empty())
    return module;
  auto [module, operation] = StringRef(node.name).rsplit('/');
  return module.str();
}

std::optional<std::vector<std::string>>
MergedParameters::untie(const Initializer &initializer,
                        llvm::ArrayRef<Reader> usedBy) {
  llvm::SmallVector<size_t> finding;
  for (auto [index, regex] : llvm::enumerate(regexes))
    if (regex.isValid() && regex.match(initializer.name))
      finding.push_back(index);
  if (finding.empty())
    return std::nullopt;
  Outermost modules;
  for (const Reader &reader : usedBy)
    modules.add(moduleOf(reader.node));
  if (modules.size() < 2)
    return std::nullopt;
  for (size_t index : finding)
    unties[index] = true;
  std::vector<std::string> result;
  llvm::DenseMap<int, int> firstInput; // of each node
  for (const Reader &reader : usedBy) {
    std::string name =
        modules.of(moduleOf(reader.node)).str() + ending(initializer.name);
    // What one node reads twice had two roles.
    int first = firstInput.try_emplace(reader.node, reader.input).first->second;
    if (first != reader.input)
      name += "_" + std::to_string(reader.input);
    while (name != initializer.name && file.find(name))
      name += "_";
    result.push_back(std::move(name));
  }
  return result;
}

bool MergedParameters::mayHold(const Parameter &parameter,
                               const Initializer &initializer,
                               bool transposed) const {
  const Binding &known = parameter.bindings.front();
  if (known.initializer == &initializer)
    return true;
  if (parameter.untied || known.initializer->dtype != initializer.dtype)
    return !parameter.untied;
  const bool isTurned = known.transposed != transposed;
  // What a view reshaped is not compared.
  if (!isTurned && known.initializer->dims != initializer.dims)
    return true;
  return file.sameValues(*known.initializer, initializer, isTurned)
      .value_or(true);
}

bool MergedParameters::maybe(const Parameter &parameter) const {
  if (!parameter.trainable || parameter.running)
    return false;
  Outermost modules;
  bool isEmbedding = false;
  for (const Binding &binding : parameter.bindings)
    for (auto [node, input] : binding.uses) {
      StringRef op = nodes[node].proto->op_type();
      isEmbedding |= op == "Gather" || op == "EmbedLayerNormalization";
      if (op != "Identity")
        modules.add(moduleOf(node));
    }
  if (modules.size() < 2)
    return false;
  // Keras has a norm's vectors with dims of 1 before them.
  const bool isVector =
      llvm::count_if(parameter.dims, [](int64_t dim) { return dim != 1; }) == 1;
  if (parameter.aliases.empty())
    return isVector &&
           file.isUniform(*parameter.bindings[0].initializer).value_or(false);
  return parameter.dims.size() != 1 && !isEmbedding;
}

std::string MergedParameters::problem() const {
  for (auto [pattern, regex, effective] :
       llvm::zip_equal(patterns, regexes, unties)) {
    std::string reason;
    if (!regex.isValid(reason))
      return "--untie " + pattern + ": no regular expression: " + reason;
    if (!effective)
      return "--untie " + pattern +
             ": finds no parameter that nodes of several modules read, and "
             "that the file does not tell apart by itself";
  }
  return {};
}

} // namespace shardc::onnx
