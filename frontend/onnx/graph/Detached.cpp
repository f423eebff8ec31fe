// Matches the arguments of PyTorch's calls with the inputs of the nodes that
// were made of them.
#include "frontend/onnx/graph/Detached.h"
#include "frontend/onnx/file/Metadata.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace shardc::onnx {
namespace {

bool isDetach(StringRef target) {
  return target.starts_with("torch.ops.aten.detach.") ||
         target.starts_with("torch.ops.aten.detach_.");
}

/// Whether torch.fx would name the result of a detach so: detach, detach_3.
bool isDetachName(StringRef name) {
  return name.consume_front("detach") &&
         (name.empty() || (name.consume_front("_") && !name.empty() &&
                           llvm::all_of(name, llvm::isDigit)));
}

/// The nodes that were made of one call.
struct CallNodes {
  FxCall call;
  llvm::SmallVector<int> nodes;
};

/// An input of a call's nodes that none of them makes, and that is a value of
/// the program rather than a number of the exporter's.
struct Outer {
  int node, input;
  StringRef value;
};

class Finder {
public:
  Finder(const ModelFile &file, llvm::ArrayRef<Node> nodes);
  llvm::Expected<DetachedInputs> run();

private:
  /// What reads the result of a detach, also through Identity. Readers rather
  /// than the detach itself: those of a parameter's read it directly.
  void stopReaders();
  /// What an argument is called in the ONNX graph; empty where it is not there
  /// under its name.
  StringRef resolve(StringRef argument) const;
  bool isOutput(StringRef value) const {
    return llvm::any_of(file.graph().output(), [&](const auto &output) {
      return output.name() == value;
    });
  }
  bool isMissingDetach(StringRef argument) const {
    return isDetachName(argument) && resolve(argument).empty();
  }

  /// Whether an input is the argument `name`, or was folded from it.
  bool means(StringRef input, StringRef name) const;
  llvm::SmallVector<Outer> outerInputs(const CallNodes &entry) const;
  /// Finds the inputs that stand for the detached arguments of a call; false
  /// where that cannot be told.
  bool place(const CallNodes &entry);
  /// Whether a node that reads these nodes' results was made of a call that
  /// reads the result of another one of their function: the optimizer takes
  /// tanh(x) and tanh(x.detach()) for one.
  bool isSharedWithAnother(const CallNodes &entry) const;
  /// All other arguments are there by their names: what is left is detached.
  bool placeByNames(llvm::ArrayRef<StringRef> arguments,
                    llvm::ArrayRef<Outer> outer);
  /// As many inputs as arguments, in the same order as far as names tell.
  bool placeByPosition(llvm::ArrayRef<StringRef> arguments,
                       llvm::ArrayRef<Outer> outer);

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  GraphSignature signature;
  /// Values of the graph, and those of them that nodes without inputs make.
  llvm::StringSet<> values, numbers;
  llvm::StringMap<llvm::SmallVector<int, 2>> readers;
  /// Results of detach.
  llvm::StringSet<> stopped;
  llvm::StringMap<std::vector<std::string>> folded;
  DetachedInputs found;
};

} // namespace

Finder::Finder(const ModelFile &file, llvm::ArrayRef<Node> nodes)
    : file(file), nodes(nodes), signature(readSignature(file.graph())) {
  for (const auto &input : file.graph().input())
    values.insert(input.name());
  for (const Node &node : nodes)
    for (const std::string &output : node.proto->output()) {
      values.insert(output);
      if (node.proto->input().empty())
        numbers.insert(output);
    }
  for (const auto &value : file.graph().value_info())
    if (file.find(value.name()))
      folded[value.name()] = foldedFrom(value);
}

llvm::Expected<DetachedInputs> Finder::run() {
  llvm::MapVector<StringRef, CallNodes> calls;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (const std::string &input : node.proto->input())
      readers[input].push_back(int(index));
    StringRef text = metadata(*node.proto, "pkg.torch.onnx.fx_node");
    if (!text.contains("detach"))
      continue;
    CallNodes &entry = calls[text];
    if (entry.nodes.empty())
      entry.call = parseFxCall(text);
    entry.nodes.push_back(int(index));
  }
  for (auto &[text, entry] : calls)
    if (isDetach(entry.call.target)) {
      for (int node : entry.nodes)
        for (const std::string &output : nodes[node].proto->output()) {
          stopped.insert(output);
          if (isOutput(output)) // no reader stops it
            found.insert({node, 0});
        }
    } else if (!place(entry) || isSharedWithAnother(entry)) {
      const Node &node = nodes[entry.nodes.front()];
      return llvm::createStringError(
          "'" + file.path() + "': node '" + node.name + "' (" +
          node.proto->op_type() + "): PyTorch detached an argument of its " +
          entry.call.target +
          ", and the optimized file does not tell which input "
          "that is; export with optimize=False");
    }
  stopReaders();
  return std::move(found);
}

void Finder::stopReaders() {
  for (auto [index, node] : llvm::enumerate(nodes))
    for (auto [position, input] : llvm::enumerate(node.proto->input())) {
      if (!stopped.contains(input))
        continue;
      found.insert({int(index), int(position)});
      if (node.proto->op_type() == "Identity")
        for (const std::string &output : node.proto->output())
          stopped.insert(output);
    }
}

StringRef Finder::resolve(StringRef argument) const {
  auto parameter = signature.placeholders.find(argument);
  if (parameter != signature.placeholders.end())
    return parameter->second;
  return values.contains(argument) ? argument : StringRef();
}

bool Finder::means(StringRef input, StringRef name) const {
  if (input == name)
    return true;
  auto entry = folded.find(input);
  return entry != folded.end() && llvm::is_contained(entry->second, name);
}

llvm::SmallVector<Outer> Finder::outerInputs(const CallNodes &entry) const {
  llvm::StringSet<> inner;
  llvm::SmallVector<Outer> result;
  for (int index : entry.nodes) {
    const ::onnx::NodeProto &node = *nodes[index].proto;
    for (auto [position, input] : llvm::enumerate(node.input())) {
      if (input.empty() || inner.contains(input) || numbers.contains(input))
        continue;
      if (file.find(input) && !signature.isParameter(input)) {
        auto entry = folded.find(input);
        if (entry == folded.end() ||
            llvm::none_of(entry->second, [&](StringRef name) {
              return signature.isParameter(name);
            }))
          continue; // a number, or a buffer
      }
      result.push_back({index, int(position), input});
    }
    for (const std::string &output : node.output())
      inner.insert(output);
  }
  return result;
}

bool Finder::place(const CallNodes &entry) {
  llvm::SmallVector<StringRef> arguments;
  // Neither buffers nor sizes have gradients.
  for (StringRef value : entry.call.values())
    if (values.contains(value) ||
        (!value.starts_with("b_") && !value.starts_with("sym_")))
      arguments.push_back(value);
  if (llvm::none_of(arguments, [&](StringRef a) { return isMissingDetach(a); }))
    return true;
  llvm::SmallVector<Outer> outer = outerInputs(entry);
  return placeByNames(arguments, outer) || placeByPosition(arguments, outer);
}

bool Finder::isSharedWithAnother(const CallNodes &entry) const {
  auto function = [](StringRef name) {
    StringRef stem = name.rtrim("0123456789");
    return stem.ends_with("_") ? stem.drop_back() : name;
  };
  auto readsAnother = [&](int reader) {
    FxCall call = fxCall(*nodes[reader].proto);
    return llvm::any_of(call.values(), [&](StringRef value) {
      return value != entry.call.result && resolve(value).empty() &&
             function(value) == function(entry.call.result);
    });
  };
  bool stops = false, shared = false;
  for (int index : entry.nodes) {
    const ::onnx::NodeProto &node = *nodes[index].proto;
    for (int input = 0; input < node.input_size(); ++input)
      stops |= found.contains({index, input});
    for (const std::string &output : node.output())
      if (auto entry = readers.find(output); entry != readers.end())
        shared |= llvm::any_of(entry->second, readsAnother);
  }
  return stops && shared;
}

bool Finder::placeByNames(llvm::ArrayRef<StringRef> arguments,
                          llvm::ArrayRef<Outer> outer) {
  llvm::StringSet<> missing;
  llvm::SmallVector<StringRef> known;
  for (StringRef argument : arguments)
    if (StringRef name = resolve(argument); !name.empty())
      known.push_back(name);
    else if (isDetachName(argument))
      missing.insert(argument);
    else
      return false;
  llvm::StringSet<> left;
  for (const Outer &input : outer)
    if (llvm::none_of(known,
                      [&](StringRef name) { return means(input.value, name); }))
      left.insert(input.value);
  if (left.size() != missing.size())
    return false;
  for (const Outer &input : outer)
    if (left.contains(input.value))
      found.insert({input.node, input.input});
  return true;
}

bool Finder::placeByPosition(llvm::ArrayRef<StringRef> arguments,
                             llvm::ArrayRef<Outer> outer) {
  if (outer.size() != arguments.size() ||
      outer.front().node != outer.back().node)
    return false;
  for (auto [argument, input] : llvm::zip_equal(arguments, outer))
    if (StringRef name = resolve(argument);
        !name.empty() && !means(input.value, name))
      return false;
  for (auto [argument, input] : llvm::zip_equal(arguments, outer))
    if (isMissingDetach(argument))
      found.insert({input.node, input.input});
  return true;
}

llvm::Expected<DetachedInputs> findDetached(const ModelFile &file,
                                            llvm::ArrayRef<Node> nodes) {
  return Finder(file, nodes).run();
}

} // namespace shardc::onnx
