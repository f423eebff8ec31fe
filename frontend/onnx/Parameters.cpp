// Recovery of parameters, in steps: collect who reads each initializer, say
// which initializers are parameters, give each use its parameter's name, split
// what was merged, and join what is tied.
#include "frontend/onnx/Parameters.h"
#include "frontend/onnx/Exporter.h"
#include "frontend/onnx/InitialValues.h"

#include "llvm/ADT/MapVector.h"

using llvm::StringRef;
using ::onnx::TensorProto;

namespace shardc::onnx {

std::optional<std::pair<int, int>> ParameterTable::use(int node,
                                                       int input) const {
  auto entry = uses.find({node, input});
  return entry == uses.end() ? std::nullopt : std::optional(entry->second);
}

std::optional<std::pair<int, int>>
ParameterTable::byInitializer(StringRef initializer) const {
  auto entry = initializers.find(initializer);
  return entry == initializers.end() ? std::nullopt
                                     : std::optional(entry->second);
}

namespace {

// The dynamo exporter merges equal initializers up to this size; larger ones
// that are shared are tied.
constexpr int64_t mergedElements = 1024;
// Floats that are no parameter and no larger become constants of the program.
constexpr int64_t constantElements = 1024;

bool isFloatType(int dtype) {
  return dtype == TensorProto::FLOAT || dtype == TensorProto::DOUBLE ||
         dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}

StringRef lastComponent(StringRef name) {
  return name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
}

} // namespace

class Recovery {
public:
  Recovery(const ModelFile &file, llvm::ArrayRef<Node> nodes)
      : file(file), nodes(nodes), signature(readSignature(file.graph())) {}

  ParameterTable run() {
    collectReaders();
    for (const Node &node : nodes)
      for (const std::string &name : parameterArguments(*node.proto, signature))
        referenced.insert(name);
    for (const auto &value : file.graph().value_info())
      if (file.find(value.name()))
        if (std::vector<std::string> sources = foldedFrom(value);
            !sources.empty())
          folded[value.name()] = std::move(sources);
    for (auto &[initializer, readers] : readersOf)
      addInitializer(*initializer, readers);
    joinTransposedCopies();
    finish();
    return std::move(result);
  }

private:
  struct Reader {
    int node, input;
    /// Name of the Identity's result through which the initializer is read;
    /// empty: read directly.
    std::string alias;
  };
  /// A name and the uses that mean it.
  using Groups = llvm::MapVector<StringRef, std::vector<std::pair<int, int>>>;

  void collectReaders();
  bool isTrainable(const Initializer &initializer,
                   llvm::ArrayRef<Reader> readers) const;
  std::string ownName(const Initializer &initializer,
                      llvm::ArrayRef<Reader> readers) const;
  std::string legacyName(const Initializer &initializer,
                         llvm::ArrayRef<Reader> readers) const;
  std::string nameOfUse(StringRef own, const Reader &reader) const;
  bool isTransposed(const Initializer &initializer,
                    llvm::ArrayRef<Reader> readers) const;
  bool isTied(const Initializer &initializer, StringRef lhs,
              StringRef rhs) const;
  void addInitializer(const Initializer &initializer,
                      llvm::ArrayRef<Reader> readers);
  void addBinding(StringRef name, const Initializer &initializer,
                  bool transposed, bool trainable,
                  std::vector<std::pair<int, int>> uses);
  void joinTransposedCopies();
  std::string scopeOfUses(const Parameter &parameter) const;
  void finish();

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  GraphSignature signature;
  llvm::MapVector<const Initializer *, std::vector<Reader>> readersOf;
  /// Node that makes a value, and the nodes that read it.
  llvm::StringMap<std::vector<std::pair<int, int>>> consumers;
  llvm::StringMap<std::vector<std::string>> folded;
  /// Parameters that are an argument of any FX node.
  llvm::StringSet<> referenced;
  llvm::StringMap<size_t> byName;
  std::vector<Parameter> found;
  ParameterTable result;
};

void Recovery::collectReaders() {
  llvm::StringMap<std::pair<const Initializer *, std::string>> aliases;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (auto [position, input] : llvm::enumerate(node.proto->input())) {
      consumers[input].emplace_back(index, position);
      const Initializer *initializer = file.find(input);
      std::string alias;
      if (auto entry = aliases.find(input); entry != aliases.end())
        std::tie(initializer, alias) = entry->second;
      if (!initializer)
        continue;
      if (node.proto->op_type() == "Identity" &&
          node.proto->output_size() == 1) {
        // An Identity of an Identity keeps the name that is furthest from the
        // initializer.
        StringRef output = node.proto->output(0);
        aliases[output] = {initializer,
                           isGeneratedName(output) ? alias : output.str()};
        // Its own read means the parameter that it stands for.
        readersOf[initializer].push_back(
            {int(index), int(position), aliases[output].second});
        continue;
      }
      readersOf[initializer].push_back({int(index), int(position), alias});
    }
  }
}

bool Recovery::isTrainable(const Initializer &initializer,
                           llvm::ArrayRef<Reader> readers) const {
  if (!isFloatType(initializer.dtype))
    return false;
  if (signature.present) {
    if (signature.isParameter(initializer.name))
      return true;
    if (auto entry = folded.find(initializer.name); entry != folded.end())
      return llvm::any_of(entry->second, [&](StringRef name) {
        return signature.isParameter(name);
      });
    if (!isGeneratedName(initializer.name))
      return false;
    // A renamed weight of an exporter that does not say what it folded.
    return initializer.dims.size() >= 2 &&
           llvm::any_of(readers, [&](const Reader &reader) {
             return reader.input == 1 &&
                    nodes[reader.node].proto->op_type() == "MatMul" &&
                    !parameterArguments(*nodes[reader.node].proto, signature)
                         .empty();
           });
  }
  return looksTrainable(
      initializer, readers.empty() ? nullptr : nodes[readers[0].node].proto,
      readers.empty() ? 0 : readers[0].input);
}

/// The name that an initializer has by itself.
std::string Recovery::ownName(const Initializer &initializer,
                              llvm::ArrayRef<Reader> readers) const {
  if (signature.isParameter(initializer.name))
    return initializer.name;
  if (auto entry = folded.find(initializer.name);
      entry != folded.end() && entry->second.size() == 1)
    return entry->second[0];
  if (signature.present) {
    for (const Reader &reader : readers) {
      std::vector<std::string> arguments =
          parameterArguments(*nodes[reader.node].proto, signature);
      // Those that have an initializer of their own are not meant.
      llvm::erase_if(arguments, [&](StringRef name) {
        return file.find(name) != nullptr;
      });
      if (arguments.size() == 1)
        return arguments[0];
    }
    return initializer.name;
  }
  return isGeneratedName(initializer.name) ? legacyName(initializer, readers)
                                           : initializer.name;
}

/// A Linear's weight that the legacy exporter transposed and renamed: the bias
/// that is added tells its name, else the module that its node belongs to.
std::string Recovery::legacyName(const Initializer &initializer,
                                 llvm::ArrayRef<Reader> readers) const {
  for (const Reader &reader : readers) {
    const Node &node = nodes[reader.node];
    if (node.proto->op_type() != "MatMul" || reader.input != 1 ||
        node.proto->output_size() != 1)
      continue;
    if (auto entry = consumers.find(node.proto->output(0));
        entry != consumers.end())
      for (auto [consumer, input] : entry->second) {
        const ::onnx::NodeProto &add = *nodes[consumer].proto;
        if (add.op_type() != "Add" || add.input_size() != 2)
          continue;
        StringRef bias = add.input(1 - input);
        if (bias.consume_back("bias") && !bias.empty())
          return (bias + "weight").str();
      }
    if (std::string scope = moduleScope(node); !scope.empty())
      return scope + ".weight";
  }
  return initializer.name;
}

/// Which parameter a use of an initializer means.
std::string Recovery::nameOfUse(StringRef own, const Reader &reader) const {
  if (!reader.alias.empty())
    return reader.alias;
  if (!signature.present || !signature.isParameter(own))
    return own.str();
  std::vector<std::string> arguments =
      parameterArguments(*nodes[reader.node].proto, signature);
  if (arguments.empty()) {
    // Nodes without an FX node of their own: parameters of the module that the
    // node belongs to.
    std::string prefix = moduleScope(nodes[reader.node]) + ".";
    for (const std::string &name : signature.parameters)
      if (name == prefix + lastComponent(own).str())
        return name;
    return own.str();
  }
  if (llvm::is_contained(arguments, own)) {
    // Of tied parameters, FX knows one name only: the module that the node
    // belongs to tells the other.
    std::string ofScope =
        moduleScope(nodes[reader.node]) + "." + lastComponent(own).str();
    return signature.isParameter(ofScope) && !referenced.contains(ofScope) &&
                   !file.find(ofScope)
               ? ofScope
               : own.str();
  }
  std::vector<std::string> alike;
  llvm::copy_if(arguments, std::back_inserter(alike), [&](StringRef name) {
    return lastComponent(name) == lastComponent(own);
  });
  if (alike.size() == 1)
    return alike[0];
  // Those that have an initializer of their own are not meant.
  llvm::erase_if(arguments,
                 [&](StringRef name) { return file.find(name) != nullptr; });
  return arguments.size() == 1 ? arguments[0] : own.str();
}

bool Recovery::isTransposed(const Initializer &initializer,
                            llvm::ArrayRef<Reader> readers) const {
  if (initializer.dims.size() != 2 || signature.isParameter(initializer.name) ||
      !isGeneratedName(initializer.name))
    return false;
  return llvm::any_of(readers, [&](const Reader &reader) {
    const ::onnx::NodeProto &node = *nodes[reader.node].proto;
    // Only a Linear reads its weight transposed.
    StringRef fx = fxTarget(node);
    return node.op_type() == "MatMul" && reader.input == 1 &&
           (fx.empty() || fx.contains("linear") || fx.contains("attention"));
  });
}

/// Whether two names of one initializer are one parameter, rather than two that
/// were equal when exported.
bool Recovery::isTied(const Initializer &initializer, StringRef lhs,
                      StringRef rhs) const {
  if (signature.present && initializer.elements > mergedElements)
    return true;
  std::optional<bool> uniform = file.isUniform(initializer);
  // Nobody ties a tensor of ones; random values are equal by chance never, but
  // copied layers start equal.
  if (!uniform)
    return initializer.dims.size() >= 2 && !differInNumbersOnly(lhs, rhs);
  return !*uniform && !differInNumbersOnly(lhs, rhs);
}

void Recovery::addInitializer(const Initializer &initializer,
                              llvm::ArrayRef<Reader> readers) {
  bool trainable = isTrainable(initializer, readers);
  if (!trainable) {
    bool buffer = isFloatType(initializer.dtype) &&
                  (initializer.elements > constantElements ||
                   !initializer.dims.empty()) &&
                  (initializer.elements > constantElements ||
                   !isGeneratedName(initializer.name));
    if (!buffer && !initializer.missing)
      return; // a constant
    std::vector<std::pair<int, int>> uses;
    for (const Reader &reader : readers)
      uses.emplace_back(reader.node, reader.input);
    addBinding(initializer.name, initializer, false, false, std::move(uses));
    return;
  }
  bool transposed = isTransposed(initializer, readers);
  std::string own = ownName(initializer, readers);
  std::vector<std::string> names;
  Groups groups;
  for (const Reader &reader : readers)
    names.push_back(nameOfUse(own, reader));
  for (auto [reader, name] : llvm::zip(readers, names))
    groups[name].emplace_back(reader.node, reader.input);
  // Tied names become aliases of the one that PyTorch lists first, which is the
  // one it keeps.
  std::vector<StringRef> kept;
  llvm::StringMap<StringRef> canonical;
  std::vector<StringRef> ordered;
  for (auto &[name, uses] : groups)
    ordered.push_back(name);
  auto rank = [&](StringRef name) {
    auto entry = signature.order.find(name);
    return entry == signature.order.end() ? signature.parameters.size()
                                          : entry->second;
  };
  llvm::stable_sort(ordered, [&](StringRef lhs, StringRef rhs) {
    return rank(lhs) < rank(rhs);
  });
  for (StringRef name : ordered) {
    auto tied = llvm::find_if(kept, [&](StringRef other) {
      return isTied(initializer, other, name);
    });
    canonical[name] = tied == kept.end() ? name : *tied;
    if (tied == kept.end())
      kept.push_back(name);
  }
  for (auto &[name, uses] : groups) {
    StringRef parameter = canonical[name];
    addBinding(parameter, initializer, transposed, true, uses);
    if (parameter != name)
      found[byName[parameter]].aliases.push_back(name.str());
  }
  if (kept.size() == 1 && kept[0] != own && signature.isParameter(own) &&
      own == initializer.name &&
      !llvm::is_contained(found[byName[kept[0]]].aliases, own))
    found[byName[kept[0]]].aliases.push_back(own);
}

void Recovery::addBinding(StringRef name, const Initializer &initializer,
                          bool transposed, bool trainable,
                          std::vector<std::pair<int, int>> uses) {
  llvm::SmallVector<int64_t> dims(initializer.dims);
  if (transposed)
    std::reverse(dims.begin(), dims.end());
  // A made-up name that is taken by a tensor of another shape stays the
  // initializer's.
  auto entry = byName.find(name);
  if (entry != byName.end() && (found[entry->second].dims != dims ||
                                found[entry->second].trainable != trainable))
    entry = byName.find(name = initializer.name);
  if (entry == byName.end()) {
    entry = byName.try_emplace(name, found.size()).first;
    Parameter parameter;
    parameter.name = name.str();
    parameter.dims = dims;
    parameter.dtype = initializer.dtype;
    parameter.trainable = trainable;
    found.push_back(std::move(parameter));
  }
  Parameter &parameter = found[entry->second];
  for (Binding &binding : parameter.bindings)
    if (binding.initializer == &initializer &&
        binding.transposed == transposed) {
      llvm::append_range(binding.uses, uses);
      return;
    }
  parameter.bindings.push_back({&initializer, transposed, std::move(uses)});
}

/// Exporters that fold constants store a tied head a second time, transposed
/// and without a name. Equal values alone tell it in a graph without a
/// signature; in one with, layers that were copied have equal values too, so
/// there the stored tensor must also bear the copy's name.
void Recovery::joinTransposedCopies() {
  for (Parameter &copy : found) {
    if (copy.bindings.size() != 1 || !copy.bindings[0].transposed)
      continue;
    for (Parameter &other : found) {
      if (&other == &copy || other.bindings.empty() ||
          other.bindings[0].transposed || other.dims != copy.dims ||
          !other.trainable)
        continue;
      const Initializer &stored = *other.bindings[0].initializer;
      bool named = stored.name == copy.name ||
                   llvm::is_contained(other.aliases, copy.name);
      if (signature.present ? !named : file.isUniform(stored).value_or(true))
        continue;
      if (!file.sameValues(stored, *copy.bindings[0].initializer, true)
               .value_or(named))
        continue;
      other.bindings.push_back(std::move(copy.bindings[0]));
      if (!llvm::is_contained(other.aliases, copy.name))
        other.aliases.push_back(copy.name);
      copy.bindings.clear();
      break;
    }
  }
  llvm::erase_if(found, [](const Parameter &parameter) {
    return parameter.bindings.empty();
  });
}

/// The module of all nodes that read a parameter without a name of PyTorch's
/// (1 + weight, folded): where it belongs among the units.
std::string Recovery::scopeOfUses(const Parameter &parameter) const {
  std::optional<std::string> common;
  for (const Binding &binding : parameter.bindings)
    for (auto [node, input] : binding.uses) {
      std::string scope = moduleScope(nodes[node]);
      if (common && *common != scope)
        return {};
      common = std::move(scope);
    }
  return parameter.trainable ? common.value_or("") : "";
}

/// Orders the parameters by first use, numbers their uses, and names what is
/// lost.
void Recovery::finish() {
  auto firstUse = [](const Parameter &parameter) {
    std::pair<int, int> first = {INT_MAX, 0};
    for (const Binding &binding : parameter.bindings)
      for (std::pair<int, int> use : binding.uses)
        first = std::min(first, use);
    return first;
  };
  llvm::stable_sort(found, [&](const Parameter &lhs, const Parameter &rhs) {
    return firstUse(lhs) < firstUse(rhs);
  });
  llvm::StringSet<> present;
  for (auto [index, parameter] : llvm::enumerate(found)) {
    present.insert(parameter.name);
    for (const std::string &alias : parameter.aliases)
      present.insert(alias);
    parameter.scope = StringRef(parameter.name).contains('.')
                          ? StringRef(parameter.name).rsplit('.').first.str()
                          : scopeOfUses(parameter);
    for (auto [position, binding] : llvm::enumerate(parameter.bindings)) {
      llvm::sort(binding.uses);
      for (std::pair<int, int> use : binding.uses)
        result.uses[use] = {int(index), int(position)};
      auto [entry, inserted] = result.initializers.try_emplace(
          binding.initializer->name, index, position);
      if (!inserted && parameter.name == binding.initializer->name)
        entry->second = {int(index), int(position)};
    }
  }
  if (!signature.present)
    for (const Parameter &parameter : found)
      if (parameter.trainable && parameter.bindings[0].uses.size() > 1 &&
          parameter.dims.size() == 1 &&
          file.isUniform(*parameter.bindings[0].initializer).value_or(false) &&
          llvm::none_of(
              parameter.bindings[0].uses, [&](std::pair<int, int> use) {
                return nodes[use.first].proto->op_type() == "Identity";
              }))
        result.suspiciousNames.push_back(parameter.name);
  for (const std::string &name : signature.parameters)
    if (!present.contains(name))
      result.lostNames.push_back(name);
  result.table = std::move(found);
  setInitialValues(result.table, nodes, file);
}

ParameterTable ParameterTable::recover(const ModelFile &file,
                                       llvm::ArrayRef<Node> nodes) {
  return Recovery(file, nodes).run();
}

} // namespace shardc::onnx
