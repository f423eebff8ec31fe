// Only functions that move elements leave a parameter that can be named.
#include "frontend/onnx/graph/Folds.h"
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace shardc::onnx {
namespace {

enum class Motion { Copy, Transpose, Reshape, Arithmetic };

/// What a function of ATen does to the elements of a tensor, by the name that
/// torch.fx gives its result.
Motion motionOf(StringRef function) {
  return llvm::StringSwitch<Motion>(function)
      .Cases({"clone", "contiguous", "alias", "lift_fresh_copy", "_to_copy",
              "to", "type_as"},
             Motion::Copy)
      .Cases({"permute", "transpose", "t", "numpy_t", "mt", "swapaxes",
              "swapdims"},
             Motion::Transpose)
      .Cases({"view", "_unsafe_view", "reshape", "unsqueeze", "squeeze",
              "flatten", "unflatten"},
             Motion::Reshape)
      .Default(Motion::Arithmetic);
}

/// What the lowering of a function does to a parameter before it computes with
/// it, where the exporter's own name (val_12) tells nothing.
Motion motionInside(const ::onnx::NodeProto &node, int input) {
  // torch.ops.aten.linear.default
  StringRef target = fxTarget(node);
  if (node.op_type() == "MatMul" && input == 1 &&
      (target.empty() || target.contains("linear") ||
       target.contains("attention")))
    return Motion::Transpose;
  return target.contains("norm") || target.contains("prelu")
             ? Motion::Reshape
             : Motion::Arithmetic;
}

/// Whether the parameters of a function have one dim, whatever shape its
/// lowering gives them: torch.nn.PReLU, GroupNorm, InstanceNorm, BatchNorm.
bool takesVectors(const ::onnx::NodeProto &node) {
  StringRef target = fxTarget(node);
  return llvm::any_of(
      ArrayRef<StringRef>{"prelu", "group_norm", "instance_norm", "batch_norm"},
      [&](StringRef function) { return target.contains(function); });
}

} // namespace

Folds::Folds(const ModelFile &file, llvm::ArrayRef<Node> nodes,
             const GraphSignature &signature, const Readers &readers)
    : nodes(nodes), signature(signature), readers(readers) {
  for (const auto &value : file.graph().value_info()) {
    if (!file.find(value.name()))
      continue;
    if (std::vector<std::string> sources = foldedFrom(value); !sources.empty())
      sourcesOf[value.name()] = std::move(sources);
    if (!metadata(value, "pkg.torch.export.graph_signature.InputSpec.kind")
             .empty())
      described.insert(value.name());
  }
}

Fold Folds::of(const Initializer &initializer) const {
  Fold fold;
  if (!signature.present)
    return fold;
  if (auto entry = sourcesOf.find(initializer.name); entry != sourcesOf.end())
    return chain(initializer, entry->second);
  if (isFused(initializer, fold))
    fold.kind = Fold::Computed;
  else if (isRenamed(initializer, fold))
    fold.kind = Fold::Moved;
  return fold;
}

Fold Folds::chain(const Initializer &initializer,
                  llvm::ArrayRef<std::string> sources) const {
  Fold fold;
  fold.sources = sources.vec();
  int transposes = 0;
  auto follow = [&](Motion motion, StringRef function) {
    transposes += motion == Motion::Transpose;
    fold.reshaped |= motion == Motion::Reshape;
    if (motion != Motion::Arithmetic)
      return;
    fold.kind = Fold::Computed;
    // What came last is what a reader would look for.
    fold.function = function.str();
  };
  for (StringRef source : sources) {
    if (signature.isParameter(source))
      fold.parameters.push_back(source.str());
    else if (signature.buffers.contains(source))
      follow(Motion::Arithmetic, fold.function);
    else if (!isGeneratedName(source)) // else a shape or a step of a function
      follow(motionOf(fxFunction(source)), fxFunction(source));
  }
  if (fold.parameters.empty())
    return Fold();
  if (!isGeneratedName(initializer.name)) {
    StringRef function = fxFunction(initializer.name);
    follow(motionOf(function), function);
  } else if (auto entry = readers.all().find(&initializer);
             entry != readers.all().end() && !entry->second.empty()) {
    const Reader &reader = entry->second.front();
    const ::onnx::NodeProto &node = *nodes[reader.node].proto;
    // What only the lowering reshaped had the shape that the function takes.
    fold.isVector = !fold.reshaped && takesVectors(node);
    follow(motionInside(node, reader.input), fxFunction(fxCall(node).result));
  }
  if (fold.kind == Fold::None)
    fold.kind = Fold::Moved;
  // Which dims changed places is known of two only, and only where no view came
  // between.
  if (fold.parameters.size() > 1 ||
      (transposes && (initializer.dims.size() != 2 || fold.reshaped)))
    fold.kind = Fold::Computed;
  fold.transposed = transposes % 2;
  return fold;
}

/// An initializer that a rewriting put in a parameter's place, under its name:
/// a batch norm that became part of the layer before it. The file describes
/// what torch.export handed over, not this one; and no call that reads it knows
/// the parameter.
bool Folds::isFused(const Initializer &initializer, Fold &fold) const {
  if (described.empty() || described.contains(initializer.name) ||
      !signature.isParameter(initializer.name))
    return false;
  auto entry = readers.all().find(&initializer);
  if (entry == readers.all().end())
    return false;
  fold.parameters.push_back(initializer.name);
  for (const Reader &reader : entry->second) {
    const ::onnx::NodeProto &node = *nodes[reader.node].proto;
    std::vector<std::string> arguments = parameterArguments(node, signature);
    if (arguments.empty() || llvm::is_contained(arguments, initializer.name))
      return false;
    for (std::string &name : arguments)
      if (!llvm::is_contained(fold.parameters, name))
        fold.parameters.push_back(std::move(name));
    fold.function = fxFunction(fxCall(node).result).str();
  }
  return true;
}

/// A weight that an exporter renamed without saying what it folded.
bool Folds::isRenamed(const Initializer &initializer, Fold &fold) const {
  auto entry = readers.all().find(&initializer);
  if (entry == readers.all().end() || initializer.dims.size() < 2 ||
      signature.isParameter(initializer.name) ||
      !isGeneratedName(initializer.name))
    return false;
  bool isRead = false;
  for (const Reader &reader : entry->second) {
    const ::onnx::NodeProto &node = *nodes[reader.node].proto;
    if (node.op_type() != "MatMul" || reader.input != 1 ||
        parameterArguments(node, signature).empty())
      continue;
    isRead = true;
    fold.transposed |= initializer.dims.size() == 2 &&
                       motionInside(node, 1) == Motion::Transpose;
  }
  return isRead;
}

} // namespace shardc::onnx
