// Judges by properties first: does a gradient reach it, what reads it, what are
// its values. Names decide what is left, and then the user is told.
#include "frontend/onnx/parameters/Roles.h"
#include "frontend/nn/support/NamePattern.h"
#include "frontend/onnx/graph/GradientReach.h"
#include "frontend/onnx/parameters/NameHints.h"
#include "frontend/onnx/parameters/ParameterNames.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::StringRef;
using ::onnx::TensorProto;

namespace shardc::onnx {
namespace {

bool isFloat(int dtype) {
  return dtype == TensorProto::FLOAT || dtype == TensorProto::DOUBLE ||
         dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}
bool isFloat(const Initializer &initializer) {
  return isFloat(initializer.dtype);
}

bool isRecurrent(StringRef op) {
  return op == "LSTM" || op == "GRU" || op == "RNN";
}

/// Whether a product reads its weight there.
bool readsFactor(StringRef op, int input) {
  return ((op == "MatMul" || op == "Gemm" || op == "Conv" ||
           op == "ConvTranspose") &&
          input >= 1) ||
         (isRecurrent(op) && (input == 1 || input == 2));
}

/// Whether a product reads its bias there.
bool readsBias(StringRef op, int input) {
  return input == 2 && (op == "Gemm" || op == "Conv" || op == "ConvTranspose");
}

/// Whether that, or what has dims as one: the biases of gates, PRelu's slope.
bool readsVector(StringRef op, int input) {
  return readsBias(op, input) || (input == 3 && isRecurrent(op)) ||
         (input == 1 && op == "PRelu");
}

/// Whether it is that, or the table that rows are taken of.
bool readsWeight(StringRef op, int input) {
  return readsFactor(op, input) || (op == "Gather" && input == 0);
}

/// The patterns that have a valid expression; complains about the first that
/// has none.
std::vector<llvm::Regex> compile(llvm::ArrayRef<std::string> patterns,
                                 StringRef flag, std::string &problem) {
  std::vector<llvm::Regex> result;
  for (const std::string &pattern : patterns) {
    result.emplace_back(translatePattern(pattern));
    std::string reason;
    if (!result.back().isValid(reason) && problem.empty())
      problem = llvm::formatv("{0} {1}: no regular expression: {2}", flag,
                              pattern, reason);
  }
  return result;
}

bool isFound(const llvm::Regex &regex, const Parameter &parameter) {
  return regex.match(parameter.name) ||
         llvm::any_of(
             parameter.aliases,
             [&](const std::string &alias) { return regex.match(alias); }) ||
         (!parameter.untied &&
          llvm::any_of(parameter.bindings, [&](const Binding &binding) {
            return binding.initializer &&
                   regex.match(binding.initializer->name);
          }));
}

} // namespace

Roles::Roles(const ModelFile &file, llvm::ArrayRef<Node> nodes,
             const GraphSignature &signature, const RoleChoices &choices)
    : file(file), nodes(nodes), signature(signature), choices(choices),
      isPyTorchs(onnx::isPyTorchs(file)) {
  collectUses();
  if (!signature.present) {
    llvm::StringSet<> reached = gradientReach(file.graph(), nodes);
    for (const Initializer &initializer : file.initializers())
      if (isFloat(initializer) && reached.contains(initializer.name))
        verdicts[&initializer] = judge(initializer);
  }
  findDedicated();
}

void Roles::collectUses() {
  llvm::StringMap<const Initializer *> aliases;
  for (const Node &node : nodes)
    for (auto [position, input] : llvm::enumerate(node.proto->input())) {
      const Initializer *initializer = file.find(input);
      if (!initializer)
        initializer = aliases.lookup(input);
      if (!initializer)
        continue;
      // What an Identity reads is read by those that read its result: the
      // legacy exporter merges equal tensors by one.
      if (node.proto->op_type() == "Identity" && node.proto->output_size() == 1)
        aliases[node.proto->output(0)] = initializer;
      else
        uses[initializer->name].emplace_back(node.proto, int(position));
    }
  for (const Node &node : nodes)
    for (const std::string &output : node.proto->output())
      producers[output] = node.proto;
}

bool Roles::isReadBy(const Initializer &initializer,
                     llvm::function_ref<bool(StringRef, int)> matches) const {
  auto entry = uses.find(initializer.name);
  return entry != uses.end() &&
         llvm::any_of(entry->second, [&](const Use &use) {
           return matches(use.first->op_type(), use.second);
         });
}

/// Whether a product reads it, as its weight.
bool Roles::isFactor(const Initializer &initializer) const {
  return isReadBy(initializer, readsFactor);
}

/// Whether it is a product's matrix: what is transposed is so for a product.
bool Roles::isMatrix(const Initializer &initializer) const {
  return isFactor(initializer) || (initializer.dims.size() == 2 &&
                                   isReadBy(initializer, [](StringRef op, int) {
                                     return op == "Transpose";
                                   }));
}

/// Whether it is a product's bias or one of gates, or the slope of a PRelu. A
/// number without dims is none.
bool Roles::isVector(const Initializer &initializer) const {
  return !initializer.dims.empty() && isReadBy(initializer, readsVector);
}

/// Whether it is added to a product of one column.
bool Roles::isBiasOfOne(const Initializer &initializer) const {
  auto entry = uses.find(initializer.name);
  if (initializer.dims.size() != 1 || entry == uses.end())
    return false;
  return llvm::any_of(entry->second, [&](const Use &use) {
    if (use.first->op_type() != "Add" || use.first->input_size() != 2)
      return false;
    const ::onnx::NodeProto *product =
        producers.lookup(use.first->input(1 - use.second));
    const Initializer *weight =
        product && product->op_type() == "MatMul" && product->input_size() == 2
            ? file.find(product->input(1))
            : nullptr;
    return weight && weight->dims.size() == 2 && weight->dims[1] == 1;
  });
}

Roles::Verdict Roles::judge(const Initializer &initializer) const {
  if (!isParameterName(initializer.name) &&
      isReadBy(initializer, [](StringRef op, int input) {
        return op == "STFT" && input == 2;
      }))
    return {false, "the window of a Fourier transform"};
  if (!isPyTorchs && isLiteralName(initializer.name))
    return {false,
            initializer.elements == 1 ? "" : "a constant of the program"};
  if (!isExportersName(initializer.name))
    return judgeNamed(initializer);
  // A weight that the legacy exporter transposed, or whose gates it put in ONNX's
  // order, or a table that it renamed.
  if (initializer.dims.size() >= 2 && isReadBy(initializer, readsWeight))
    return {true, {}};
  // Another tool may number all tensors. What PyTorch's exporters name so is a
  // slope whose dims they have put right, or a bias of gates in ONNX's order, but
  // no other bias: that is computed from one (of a batch norm that was folded).
  if (isVector(initializer) &&
      !(isPyTorchs && isReadBy(initializer, readsBias)) &&
      !StringRef(initializer.name).contains("Constant"))
    return {true, {}};
  // Numbers, masks and tables are what exporters compute; other values, and
  // vectors of one value (1 + weight, when the weight is new, or a group norm's
  // weight with dims behind it), were computed from a parameter, most likely.
  const StoredForm form = formOf(file, initializer);
  if (!isPyTorchs && isNumberedName(initializer.name))
    return {initializer.elements > 1 &&
                (form == StoredForm::Free || form == StoredForm::Uniform),
            {}};
  const bool isLine = llvm::count_if(initializer.dims,
                                     [](int64_t dim) { return dim > 1; }) == 1;
  if (initializer.elements == 1 ||
      (form != StoredForm::Free && (form != StoredForm::Uniform || !isLine)))
    return {};
  return {false,
          isPyTorchs
              ? "computed by the exporter: do_constant_folding=False keeps "
                "what it is computed from"
              : "computed by the exporter"};
}

Roles::Verdict Roles::judgeNamed(const Initializer &initializer) const {
  StringRef name = initializer.name;
  const size_t rank = initializer.dims.size();
  // GPT-2's causal mask is called attn.bias.
  const bool usual =
      isParameterName(name) && !(rank == 4 && lastComponent(name) == "bias");
  if (usual && isMatrix(initializer))
    return {true, {}};
  if (isBufferName(name))
    return {false, "its name"};
  const StoredForm form = formOf(file, initializer);
  if (form == StoredForm::Unknown && isTableName(name, rank))
    return {false, "its name"};
  if (form == StoredForm::Sines && usual)
    return {true, {}}; // kept as it is by apply, which knows all its names
  // A product's matrix may start as any of them but a table of sines (of a
  // Fourier transform).
  if (!usual && !formText(form).empty() &&
      (form == StoredForm::Sines || !isFactor(initializer)))
    return {false, formText(form).str()};
  // Exporters that are not PyTorch's name parameters and constants as they
  // like.
  if (!isPyTorchs) {
    if (initializer.elements == 1 && !isVariableName(name) &&
        !isVector(initializer) && !isBiasOfOne(initializer) && isNumber(name))
      return {false, "a number"};
    // A tool that writes weights as constants writes others so, too.
    return {true, initializer.mayBeLiteral && !usual && !isPaddlesName(name)
                      ? "its name"
                      : ""};
  }
  return {true, usual ? "" : "its name"};
}

bool Roles::isSineTable(const Parameter &parameter) const {
  if (!parameter.trainable || parameter.dims.size() < 2)
    return false;
  return llvm::any_of(parameter.bindings, [&](const Binding &binding) {
    return binding.initializer && !binding.transposed &&
           !isMatrix(*binding.initializer) &&
           formOf(file, *binding.initializer) == StoredForm::Sines;
  });
}

/// The patterns of --trainable that are found in no parameter's name.
void Roles::findDedicated() {
  std::string ignored;
  for (llvm::Regex &regex :
       compile(choices.trainable, "--trainable", ignored)) {
    auto matches = [&](StringRef name) { return regex.match(name); };
    if (ignored.empty() && llvm::none_of(signature.parameters, matches) &&
        llvm::none_of(verdicts, [&](const auto &entry) {
          return entry.second.parameter && matches(entry.first->name);
        }))
      dedicated.push_back(std::move(regex));
  }
}

bool Roles::isWanted(const Initializer &initializer) const {
  return isFloat(initializer) &&
         llvm::any_of(dedicated, [&](const llvm::Regex &regex) {
           return regex.match(initializer.name);
         });
}

bool Roles::isKept(const Parameter &parameter) const {
  std::string ignored;
  return llvm::any_of(
      compile(choices.buffers, "--buffer", ignored),
      [&](const llvm::Regex &regex) { return isFound(regex, parameter); });
}

/// A pattern that is found in names of parameters chooses among them; one that
/// is found in other tensors alone makes these parameters.
void Roles::promote(std::vector<Parameter> &parameters,
                    RoleFindings &findings) const {
  llvm::StringSet<> promoted;
  llvm::SetVector<StringRef> passedOver;
  for (const llvm::Regex &regex :
       compile(choices.trainable, "--trainable", findings.problem)) {
    if (!findings.problem.empty())
      return;
    llvm::SmallVector<Parameter *> others;
    bool findsParameters = false, findsAll = true;
    for (Parameter &parameter : parameters) {
      const bool isTrained =
          parameter.trainable && !promoted.contains(parameter.name);
      if (!isFound(regex, parameter))
        findsAll &= !isTrained;
      else if (isTrained)
        findsParameters = true;
      else if (!parameter.trainable && parameter.bindings[0].initializer &&
               isFloat(*parameter.bindings[0].initializer))
        others.push_back(&parameter);
    }
    for (Parameter *parameter : others) {
      if (findsParameters) {
        if (!findsAll) // "." means the parameters, without a doubt
          passedOver.insert(parameter->name);
        continue;
      }
      parameter->trainable = true;
      parameter->frozen = false;
      promoted.insert(parameter->name);
    }
  }
  for (StringRef name : passedOver)
    if (!promoted.contains(name))
      findings.passedOver.push_back(name.str());
}

void Roles::demote(std::vector<Parameter> &parameters,
                   RoleFindings &findings) const {
  for (auto [pattern, regex] :
       llvm::zip_equal(choices.buffers, compile(choices.buffers, "--buffer",
                                                findings.problem))) {
    if (!findings.problem.empty())
      return;
    bool found =
        llvm::any_of(file.initializers(), [&](const Initializer &initializer) {
          return isFloat(initializer) && regex.match(initializer.name);
        });
    for (Parameter &parameter : parameters)
      if (isFound(regex, parameter)) {
        parameter.trainable = parameter.frozen = false;
        found = true;
      }
    if (!found) {
      findings.problem = llvm::formatv(
          "--buffer {0}: matches no float tensor of the model", pattern);
      return;
    }
  }
}

/// Constant nodes whose result a product multiplies by, or a Gather takes rows
/// of; PyTorch's exporters write none for a parameter.
std::vector<std::string> Roles::constantWeights() const {
  std::vector<std::string> result;
  if (isPyTorchs || signature.present)
    return result;
  llvm::StringSet<> matrices;
  for (const Node &node : nodes)
    for (auto [position, input] : llvm::enumerate(node.proto->input()))
      if (readsWeight(node.proto->op_type(), int(position)))
        matrices.insert(input);
  for (const Node &node : nodes)
    for (const auto &attribute : node.proto->attribute())
      if (node.proto->op_type() == "Constant" && attribute.name() == "value" &&
          node.proto->output_size() > 0 && attribute.t().dims_size() >= 2 &&
          isFloat(attribute.t().data_type()) &&
          matrices.contains(node.proto->output(0)))
        result.push_back(node.proto->output(0));
  return result;
}

RoleFindings Roles::apply(std::vector<Parameter> &parameters) const {
  RoleFindings findings;
  findings.constants = constantWeights();
  std::vector<RoleNote> tables;
  for (Parameter &parameter : parameters)
    if (isSineTable(parameter)) {
      parameter.trainable = false;
      parameter.frozen = true;
      tables.push_back(
          {parameter.name, false, formText(StoredForm::Sines).str()});
    }
  promote(parameters, findings);
  demote(parameters, findings);
  // --trainable says of every tensor whether it is trained.
  if (!findings.problem.empty() || !choices.trainable.empty())
    return findings;
  std::string ignored;
  std::vector<llvm::Regex> buffers =
      compile(choices.buffers, "--buffer", ignored);
  auto isSettled = [&](StringRef name) {
    return llvm::any_of(
        buffers, [&](const llvm::Regex &regex) { return regex.match(name); });
  };
  llvm::StringMap<const Parameter *> byInitializer;
  for (const Parameter &parameter : parameters)
    for (const Binding &binding : parameter.bindings)
      if (binding.initializer)
        byInitializer[binding.initializer->name] = &parameter;
  for (const Initializer &initializer : file.initializers()) {
    auto verdict = verdicts.find(&initializer);
    if (verdict == verdicts.end() || verdict->second.doubt.empty())
      continue;
    const Parameter *parameter = byInitializer.lookup(initializer.name);
    StringRef name = parameter ? StringRef(parameter->name) : initializer.name;
    if (!isSettled(name) && !isSettled(initializer.name))
      findings.notes.push_back(
          {name.str(), verdict->second.parameter, verdict->second.doubt});
  }
  for (RoleNote &table : tables)
    if (!isSettled(table.name))
      findings.notes.push_back(std::move(table));
  return findings;
}

std::string listFew(llvm::ArrayRef<std::string> texts, StringRef wherever) {
  constexpr size_t most = 8;
  std::string text = llvm::join(texts.take_front(most), ", ");
  return texts.size() <= most
             ? text
             : (text + " and " + llvm::Twine(texts.size() - most) + " more" +
                wherever)
                   .str();
}

std::vector<std::string> quoted(llvm::ArrayRef<std::string> names) {
  std::vector<std::string> texts;
  for (const std::string &name : names)
    texts.push_back("'" + name + "'");
  return texts;
}

std::vector<std::string> roleWarnings(const RoleFindings &findings) {
  std::vector<std::string> trained, fixed, result;
  for (const RoleNote &note : findings.notes)
    if (note.trained)
      trained.push_back(note.name);
    else
      fixed.push_back("'" + note.name + "' (" + note.reason + ")");
  if (!fixed.empty())
    result.push_back(
        "the file does not say which tensors are trained; by their values, "
        "their origin or their names they are not trained here: " +
        listFew(fixed) +
        "; --trainable REGEX --trainable . trains them too, --buffer REGEX "
        "agrees");
  if (!trained.empty())
    result.push_back(
        "the file does not say whether these tensors are parameters or "
        "buffers; they are trained: " +
        listFew(quoted(trained)) +
        "; --buffer REGEX keeps them as they are, --trainable . agrees");
  if (!findings.constants.empty())
    result.push_back(
        "Constant nodes hold the matrices " +
        listFew(quoted(findings.constants), "") +
        ", which are not trained: make them initializers of the graph if they "
        "are weights");
  if (!findings.passedOver.empty())
    result.push_back(
        "--trainable also matches tensors that are taken for buffers and not "
        "trained: " +
        listFew(quoted(findings.passedOver)) +
        "; a --trainable that matches no parameter trains them");
  return result;
}

} // namespace shardc::onnx
