// Recovery of parameters, in steps: collect who reads each initializer, say
// which initializers are parameters, give each use its parameter's name, split
// what was merged, and join what is tied.
#include "frontend/onnx/parameters/Parameters.h"
#include "frontend/onnx/graph/BatchNorm.h"
#include "frontend/onnx/graph/FxCall.h"
#include "frontend/onnx/graph/GradientReach.h"
#include "frontend/onnx/parameters/InitialValues.h"
#include "frontend/onnx/parameters/ListedNames.h"
#include "frontend/onnx/parameters/MergedParameters.h"
#include "frontend/onnx/parameters/ParameterNames.h"
#include "frontend/onnx/parameters/Roles.h"

#include "llvm/ADT/MapVector.h"

using llvm::StringRef;
using llvm::Twine;
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

// Floats that are no parameter and no larger become constants of the program.
constexpr int64_t constantElements = 1024;

bool isFloatType(int dtype) {
  return dtype == TensorProto::FLOAT || dtype == TensorProto::DOUBLE ||
         dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}

} // namespace

class Recovery {
public:
  Recovery(const ModelFile &file, llvm::ArrayRef<Node> nodes,
           const RoleChoices &choices)
      : file(file), nodes(nodes), signature(readSignature(file.graph())),
        roles(file, nodes, signature, choices), readers(file, nodes),
        folds(file, nodes, signature, readers),
        names(file, nodes, signature, readers),
        legacyNames(file, nodes, readers),
        merged(file, nodes, readers, legacyNames, choices) {}

  ParameterTable run() {
    for (auto &[initializer, usedBy] : readers.all()) {
      Fold fold = folds.of(*initializer);
      if (isTrainable(*initializer, fold, usedBy)) {
        names.add(*initializer, fold, usedBy);
        trained[initializer] = std::move(fold);
      } else if (isFloatType(initializer->dtype) &&
                 signature.buffers.contains(initializer->name)) {
        names.add(*initializer, fold, usedBy);
        buffers.push_back(initializer);
      }
    }
    // Buffers that stand for parameters with the same values, too.
    for (const Initializer *initializer : buffers)
      if (llvm::any_of(readers.of(*initializer), [&](const Reader &reader) {
            return signature.isParameter(names.of(*initializer, reader).name);
          }))
        trained[initializer];
    for (auto &[initializer, usedBy] : readers.all()) {
      if (auto entry = trained.find(initializer); entry == trained.end())
        addConstant(*initializer, usedBy);
      else if (signature.present)
        addBySignature(*initializer, entry->second, usedBy);
      else
        addByLegacyNames(*initializer, usedBy);
    }
    joinTransposedCopies();
    if (signature.present) {
      ListedNames listed(nodes, signature, names);
      listed.nameTied(found);
      listed.findLost(result);
    }
    result.roleFindings = roles.apply(found);
    if (result.roleFindings.problem.empty())
      result.roleFindings.problem = merged.problem();
    findRunning();
    finish();
    return std::move(result);
  }

private:
  /// A name and the uses that mean it.
  using Groups = llvm::MapVector<StringRef, std::vector<std::pair<int, int>>>;

  bool isTrainable(const Initializer &initializer, const Fold &fold,
                   llvm::ArrayRef<Reader> usedBy);
  bool isTied(const Initializer &initializer, StringRef lhs,
              StringRef rhs) const;
  void addConstant(const Initializer &initializer,
                   llvm::ArrayRef<Reader> usedBy);
  void addBySignature(const Initializer &initializer, const Fold &fold,
                      llvm::ArrayRef<Reader> usedBy);
  void addByLegacyNames(const Initializer &initializer,
                        llvm::ArrayRef<Reader> usedBy);
  Parameter &addBinding(StringRef name, const Initializer &initializer,
                        const Fold &fold, bool trainable,
                        std::vector<std::pair<int, int>> uses,
                        bool untied = false);
  void joinTransposedCopies();
  std::string scopeOfUses(const Parameter &parameter) const;
  bool isRunning(const Parameter &parameter) const;
  void findPadded();
  void findRunning();
  void finish();
  void refuse(const Twine &problem) {
    result.problemTexts.push_back(problem.str());
  }

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  GraphSignature signature;
  Roles roles;
  Readers readers;
  Folds folds;
  SignatureNames names;
  LegacyNames legacyNames;
  MergedParameters merged;
  llvm::DenseMap<const Initializer *, Fold> trained;
  std::vector<const Initializer *> buffers;
  llvm::StringMap<size_t> byName;
  std::vector<Parameter> found;
  ParameterTable result;
};

bool Recovery::isTrainable(const Initializer &initializer, const Fold &fold,
                           llvm::ArrayRef<Reader> usedBy) {
  if (!isFloatType(initializer.dtype))
    return false;
  if (!signature.present)
    return roles.isParameter(initializer) ||
           llvm::any_of(usedBy, [&](const Reader &reader) {
             return isRunningStatistic(*nodes[reader.node].proto, reader.input);
           });
  if (fold.kind == Fold::Computed) {
    refuse("initializer '" + initializer.name +
           "' was computed from parameter" +
           (fold.parameters.size() > 1 ? "s '" : " '") +
           llvm::join(fold.parameters, "', '") + "' by the exporter" +
           (fold.function.empty() ? "" : " (" + fold.function + ")") +
           ", which cannot be trained from it; export with optimize=False, "
           "which folds nothing");
    return false;
  }
  return fold.kind == Fold::Moved || signature.isParameter(initializer.name);
}

/// Whether two names of one initializer are one parameter, rather than two that
/// were equal when exported: what the legacy exporter leaves does not say.
bool Recovery::isTied(const Initializer &initializer, StringRef lhs,
                      StringRef rhs) const {
  std::optional<bool> uniform = file.isUniform(initializer);
  // Nobody ties a tensor of ones; random values are equal by chance never, but
  // copied layers start equal.
  if (!uniform)
    return initializer.dims.size() >= 2 && !differInNumbersOnly(lhs, rhs);
  return !*uniform && !differInNumbersOnly(lhs, rhs);
}

/// What is not trained: a buffer where it is large or bears a name, else a
/// constant of the program.
void Recovery::addConstant(const Initializer &initializer,
                           llvm::ArrayRef<Reader> usedBy) {
  if (!usedBy.empty() && !initializer.missing &&
      llvm::all_of(usedBy, [&](const Reader &reader) {
        return saysHow(*nodes[reader.node].proto, reader.input);
      }))
    return; // scales of a Resize, weights of a loss's classes
  bool buffer =
      isFloatType(initializer.dtype) && !initializer.mayBeLiteral &&
      (initializer.elements > constantElements || !initializer.dims.empty()) &&
      (initializer.elements > constantElements ||
       !isGeneratedName(initializer.name));
  if (!buffer && !initializer.missing && !roles.isWanted(initializer))
    return;
  std::vector<std::pair<int, int>> uses;
  for (const Reader &reader : usedBy)
    uses.emplace_back(reader.node, reader.input);
  addBinding(initializer.name, initializer, Fold(), false, std::move(uses));
}

void Recovery::addBySignature(const Initializer &initializer, const Fold &fold,
                              llvm::ArrayRef<Reader> usedBy) {
  struct Group {
    std::string name;
    std::vector<std::pair<int, int>> uses;
    llvm::SmallVector<std::string, 1> aliases;
  };
  std::vector<Group> groups;
  llvm::StringMap<size_t> groupOf;
  for (const Reader &reader : usedBy) {
    Meaning meaning = names.of(initializer, reader);
    if (meaning.name.empty()) {
      refuse("node '" + nodes[reader.node].name + "' reads initializer '" +
             initializer.name +
             "', which the exporter merged of several parameters with equal "
             "values, and which of them it means is not known; export with "
             "optimize=False");
      continue;
    }
    auto [entry, isNew] = groupOf.try_emplace(meaning.name, groups.size());
    if (isNew)
      groups.push_back({meaning.name, {}, {}});
    Group &group = groups[entry->second];
    group.uses.emplace_back(reader.node, reader.input);
    if (!meaning.alias.empty())
      group.aliases.push_back(std::move(meaning.alias));
  }
  for (Group &group : groups) {
    Parameter &parameter =
        addBinding(group.name, initializer, fold,
                   !signature.buffers.contains(group.name), group.uses);
    for (std::string &alias : group.aliases)
      if (!llvm::is_contained(parameter.aliases, alias))
        parameter.aliases.push_back(std::move(alias));
    if (fold.reshaped && !fold.isVector)
      result.reshapedNames.push_back(parameter.name);
  }
}

void Recovery::addByLegacyNames(const Initializer &initializer,
                                llvm::ArrayRef<Reader> usedBy) {
  Fold fold;
  fold.transposed = legacyNames.isTransposed(initializer, usedBy);
  const std::optional<std::vector<std::string>> untied =
      merged.untie(initializer, usedBy);
  std::vector<std::string> meant =
      untied ? *untied : legacyNames.namesOf(initializer, usedBy);
  Groups groups;
  for (auto [reader, name] : llvm::zip(usedBy, meant)) {
    if (name.empty())
      return refuse("node '" + nodes[reader.node].name +
                    "' reads initializer '" + initializer.name +
                    "', which the exporter merged of several tensors with "
                    "equal values, and which of them it means is not known; "
                    "export with do_constant_folding=False");
    groups[name].emplace_back(reader.node, reader.input);
  }
  if (!untied && isGeneratedName(initializer.name))
    for (auto &[name, uses] : groups)
      if (StringRef first = groups.front().first;
          name != first && isTied(initializer, first, name))
        return refuse("initializer '" + initializer.name +
                      "' stands for parameters '" + first + "' and '" + name +
                      "', which the exporter merged since they had equal "
                      "values, or which are tied; export with "
                      "do_constant_folding=False, which tells");
  // The first of tied names is kept, the others become its aliases.
  std::vector<StringRef> kept;
  for (auto &[name, uses] : groups) {
    auto tied = llvm::find_if(kept, [&](StringRef other) {
      return !untied && isTied(initializer, other, name);
    });
    StringRef parameter = tied == kept.end() ? name : *tied;
    if (tied == kept.end())
      kept.push_back(name);
    Parameter &bound =
        addBinding(parameter, initializer, fold, true, uses, bool(untied));
    if (parameter != name)
      bound.aliases.push_back(name.str());
  }
}

Parameter &Recovery::addBinding(StringRef made, const Initializer &initializer,
                                const Fold &fold, bool trainable,
                                std::vector<std::pair<int, int>> uses,
                                bool untied) {
  llvm::SmallVector<int64_t> dims(initializer.dims);
  if (fold.transposed)
    std::reverse(dims.begin(), dims.end());
  if (fold.isVector)
    dims = {initializer.elements};
  auto isTaken = [&](StringRef name) {
    auto entry = byName.find(name);
    if (entry == byName.end())
      return false;
    const Parameter &other = found[entry->second];
    return other.dims != dims || other.trainable != trainable ||
           (untied && other.bindings.front().initializer != &initializer) ||
           !merged.mayHold(other, initializer, fold.transposed);
  };
  // A made-up name that another tensor has is none; one that the exporter listed
  // has one tensor.
  std::string name = made.str();
  if (auto entry = byName.find(name);
      signature.isParameter(name) && entry != byName.end() &&
      !merged.mayHold(found[entry->second], initializer, fold.transposed))
    refuse("initializers '" +
           found[entry->second].bindings.front().initializer->name + "' and '" +
           initializer.name + "' both stand for parameter '" + name +
           "', and their values differ; export with optimize=False, and give "
           "shardc what the exporter wrote");
  if (isTaken(name) && !untied)
    name = initializer.name;
  const std::string base = name;
  for (int number = 1; isTaken(name); ++number)
    name = base + "_" + std::to_string(number);
  auto [entry, isNew] = byName.try_emplace(name, found.size());
  if (isNew) {
    Parameter parameter;
    parameter.name = name;
    parameter.dims = dims;
    parameter.dtype = initializer.dtype;
    parameter.trainable = trainable;
    parameter.untied = untied;
    found.push_back(std::move(parameter));
  }
  Parameter &parameter = found[entry->second];
  for (Binding &binding : parameter.bindings)
    if (binding.initializer == &initializer &&
        binding.transposed == fold.transposed) {
      llvm::append_range(binding.uses, uses);
      return parameter;
    }
  parameter.bindings.push_back(
      {&initializer, fold.transposed, std::move(uses)});
  return parameter;
}

/// Exporters that fold constants store a tied head a second time, transposed
/// and, PyTorch's, without a name. Equal values alone tell it where there is no
/// signature.
void Recovery::joinTransposedCopies() {
  if (signature.present)
    return;
  // Only what begins and ends alike is compared: every layer has a copy.
  llvm::DenseMap<uint64_t, llvm::SmallVector<Parameter *, 1>> alike;
  for (Parameter &parameter : found)
    if (!parameter.bindings.empty())
      if (auto corners = file.corners(*parameter.bindings[0].initializer))
        alike[*corners].push_back(&parameter);
  for (Parameter &copy : found) {
    if (copy.bindings.size() != 1)
      continue;
    // What is not known to be a transpose is one of what is read before it.
    const bool isTransposed = copy.bindings[0].transposed;
    if (!isTransposed && (isPyTorchs(file) || !copy.trainable))
      continue;
    auto corners = file.corners(*copy.bindings[0].initializer);
    if (!corners)
      continue;
    for (Parameter *candidate : alike[*corners]) {
      Parameter &other = *candidate;
      if (&other == &copy || other.bindings.empty() ||
          other.bindings[0].transposed || !other.trainable ||
          (isTransposed ? other.dims != copy.dims : &other > &copy))
        continue;
      const Initializer &stored = *other.bindings[0].initializer;
      if (file.isUniform(stored).value_or(true) ||
          !file.sameValues(stored, *copy.bindings[0].initializer, true)
               .value_or(false))
        continue;
      // Layers that begin as an identity are not tied.
      if (!isTransposed && file.sameValues(stored, stored, true).value_or(true))
        continue;
      other.bindings.push_back(std::move(copy.bindings[0]));
      other.bindings.back().transposed = true;
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

/// Whether norms by the batch's statistics read a parameter as one that runs,
/// and nothing else does.
bool Recovery::isRunning(const Parameter &parameter) const {
  bool isRead = false;
  for (const Binding &binding : parameter.bindings)
    for (auto [node, input] : binding.uses) {
      const ::onnx::NodeProto &proto = *nodes[node].proto;
      if (isRunningStatistic(proto, input))
        isRead = true;
      else if (proto.op_type() != "Identity")
        return false;
    }
  return isRead;
}

/// Running statistics follow the norms, but for those that --buffer names.
void Recovery::findRunning() {
  for (Parameter &parameter : found) {
    if (!isRunning(parameter))
      continue;
    parameter.running = true;
    parameter.frozen = false;
    parameter.trainable = !roles.isKept(parameter);
  }
}

/// Tables that embeddings read, by nodes that do not say which row is padding.
void Recovery::findPadded() {
  if (signature.present)
    return;
  for (const Parameter &parameter : found)
    for (const Binding &binding : parameter.bindings) {
      const bool isTable =
          parameter.trainable && !binding.transposed &&
          llvm::any_of(binding.uses, [&](std::pair<int, int> use) {
            const ::onnx::NodeProto &proto = *nodes[use.first].proto;
            return proto.op_type() == "Gather" && use.second == 0 &&
                   fxCall(proto).target.empty();
          });
      if (!isTable)
        continue;
      if (auto row = onlyZeroRow(file, *binding.initializer))
        result.paddedRows.emplace_back(parameter.name, *row);
      break;
    }
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
  for (auto [index, parameter] : llvm::enumerate(found)) {
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
    for (const Parameter &parameter : found) {
      if (parameter.trainable && isGeneratedName(parameter.name) &&
          !roles.isWanted(*parameter.bindings[0].initializer))
        result.unnamedNames.push_back(parameter.name);
      else if (merged.maybe(parameter))
        result.suspiciousNames.push_back(
            llvm::join(llvm::concat<const std::string>(
                           llvm::ArrayRef(parameter.name), parameter.aliases),
                       "' = '"));
    }
  for (const Parameter &parameter : found)
    if (signature.changed.contains(parameter.name) && !parameter.running)
      result.unchangedNames.push_back(parameter.name);
  findPadded();
  result.table = std::move(found);
  setInitialValues(result.table, nodes, file);
}

ParameterTable ParameterTable::recover(const ModelFile &file,
                                       llvm::ArrayRef<Node> nodes,
                                       const RoleChoices &choices) {
  return Recovery(file, nodes, choices).run();
}

} // namespace shardc::onnx
