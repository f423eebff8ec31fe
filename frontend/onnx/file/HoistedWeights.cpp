// A walk over the graph and its bodies, inner ones first.
#include "frontend/onnx/file/HoistedWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace shardc::onnx {
namespace {

bool isHalf(int dtype) {
  return dtype == TensorProto::FLOAT16 || dtype == TensorProto::BFLOAT16;
}

bool isFloat(const TensorProto &tensor) {
  return tensor.data_type() == TensorProto::FLOAT ||
         tensor.data_type() == TensorProto::DOUBLE ||
         isHalf(tensor.data_type());
}

/// Whether a tensor may be a weight: floats, and not one number alone.
bool mayBeWeight(const TensorProto &tensor) {
  return isFloat(tensor) && tensor.dims_size() > 0 &&
         llvm::all_of(tensor.dims(), [](int64_t dim) { return dim > 0; });
}

/// The tensor of a Constant node that may hold a weight, else null.
TensorProto *weightOf(NodeProto &node) {
  if (node.op_type() != "Constant" ||
      (!node.domain().empty() && node.domain() != "ai.onnx") ||
      node.output_size() != 1 || node.output(0).empty())
    return nullptr;
  for (auto &attribute : *node.mutable_attribute())
    if (attribute.name() == "value" && attribute.has_t() &&
        mayBeWeight(attribute.t()))
      return attribute.mutable_t();
  return nullptr;
}

/// Calls `visit` with each graph that is an attribute of the node.
void forBodies(NodeProto &node, llvm::function_ref<void(GraphProto &)> visit) {
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (GraphProto &graph : *attribute.mutable_graphs())
      visit(graph);
  }
}

class Hoister {
public:
  explicit Hoister(::onnx::ModelProto &model)
      : model(model),
        takesConstants(model.producer_name() != "pytorch" &&
                       llvm::none_of(model.graph().initializer(), isFloat)) {}

  HoistedWeights run() {
    addNames(*model.mutable_graph(), /*isBody=*/false);
    visit(*model.mutable_graph(), /*isBody=*/false);
    if (!hoisted.empty()) {
      for (TensorProto &tensor : hoisted)
        *model.mutable_graph()->add_initializer() = std::move(tensor);
      // Before version 4 an initializer had to be an input, too.
      model.set_ir_version(std::max<int64_t>(model.ir_version(), 4));
    }
    for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
      makeRaw(tensor);
    return std::move(result);
  }

private:
  /// Counts the values of a graph and of its bodies by their names, which bodies
  /// may repeat.
  void addNames(GraphProto &graph, bool isBody) {
    for (const TensorProto &tensor : graph.initializer())
      ++definitions[tensor.name()];
    for (const auto &input : graph.input())
      if (isBody || !isInitializer(graph, input.name()))
        ++definitions[input.name()];
    for (NodeProto &node : *graph.mutable_node()) {
      for (const std::string &output : node.output())
        ++definitions[output];
      forBodies(node, [&](GraphProto &body) { addNames(body, true); });
    }
  }

  static bool isInitializer(const GraphProto &graph, llvm::StringRef name) {
    return llvm::any_of(graph.initializer(), [&](const TensorProto &tensor) {
      return tensor.name() == name;
    });
  }

  /// Takes what may be a weight out of a graph, and renames what a body calls as
  /// the graph around it calls something else.
  void visit(GraphProto &graph, bool isBody);

  /// Removes what `isTaken` takes; the others keep their order.
  template <typename T, typename Take>
  static void takeOut(google::protobuf::RepeatedPtrField<T> &list,
                      Take isTaken) {
    int kept = 0;
    for (int i = 0; i < list.size(); ++i)
      if (!isTaken(list[i]))
        list.SwapElements(i, kept++);
    list.DeleteSubrange(kept, list.size() - kept);
  }

  /// The name, where no other value of the model has it.
  std::string freeName(const std::string &name) {
    if (definitions[name] == 1)
      return name;
    std::string own;
    for (int number = 1; own.empty() || definitions.contains(own); ++number)
      own = name + "_" + std::to_string(number);
    ++definitions[own];
    --definitions[name];
    return own;
  }

  /// Renames what a graph reads, and its bodies where they have no other value of
  /// that name.
  static void rename(GraphProto &graph, const std::string &from,
                     const std::string &to) {
    for (NodeProto &node : *graph.mutable_node()) {
      for (std::string &input : *node.mutable_input())
        if (input == from)
          input = to;
      forBodies(node, [&](GraphProto &body) {
        if (!defines(body, from))
          rename(body, from, to);
      });
    }
  }

  static bool defines(const GraphProto &graph, const std::string &name) {
    return isInitializer(graph, name) ||
           llvm::any_of(
               graph.input(),
               [&](const auto &input) { return input.name() == name; }) ||
           llvm::any_of(graph.node(), [&](const NodeProto &node) {
             return llvm::is_contained(node.output(), name);
           });
  }

  /// onnx.proto: 16-bit floats in int32_data, one in the low bits of each.
  void makeRaw(TensorProto &tensor) {
    if (!isHalf(tensor.data_type()) || tensor.int32_data().empty() ||
        tensor.has_raw_data() ||
        llvm::any_of(tensor.int32_data(),
                     [](int32_t bits) { return bits < 0 || bits > 0xffff; }))
      return;
    std::string bytes;
    bytes.reserve(tensor.int32_data_size() * 2);
    for (int32_t bits : tensor.int32_data()) {
      bytes.push_back(char(bits));
      bytes.push_back(char(bits >> 8));
    }
    tensor.clear_int32_data();
    tensor.set_raw_data(std::move(bytes));
    result.changed = true;
  }

  ::onnx::ModelProto &model;
  const bool takesConstants;
  HoistedWeights result;
  llvm::StringMap<int> definitions;
  std::vector<TensorProto> hoisted;
};

void Hoister::visit(GraphProto &graph, bool isBody) {
  for (NodeProto &node : *graph.mutable_node())
    forBodies(node, [&](GraphProto &body) { visit(body, true); });
  // What a graph hands out, or takes, is its own; what it defines twice is an
  // error that the import finds.
  llvm::StringSet<> own, seen;
  for (const auto &output : graph.output())
    own.insert(output.name());
  if (isBody)
    for (const auto &input : graph.input())
      own.insert(input.name());
  auto define = [&](const std::string &name) {
    if (!seen.insert(name).second)
      own.insert(name);
  };
  for (const TensorProto &tensor : graph.initializer())
    define(tensor.name());
  for (const NodeProto &node : graph.node())
    llvm::for_each(node.output(), define);
  auto take = [&](TensorProto &tensor) {
    std::string name = freeName(tensor.name());
    if (name != tensor.name())
      rename(graph, tensor.name(), name);
    tensor.set_name(name);
    hoisted.push_back(std::move(tensor));
    result.changed = true;
  };
  if (takesConstants)
    takeOut(*graph.mutable_node(), [&](NodeProto &node) {
      TensorProto *weight = weightOf(node);
      if (!weight || own.contains(node.output(0)))
        return false;
      weight->set_name(node.output(0));
      take(*weight);
      result.constants.insert(hoisted.back().name());
      return true;
    });
  if (isBody)
    takeOut(*graph.mutable_initializer(), [&](TensorProto &tensor) {
      if (own.contains(tensor.name()))
        return false;
      if (mayBeWeight(tensor)) {
        take(tensor);
        return true;
      }
      // Of the body alone, whatever has its name outside.
      if (std::string name = freeName(tensor.name()); name != tensor.name()) {
        rename(graph, tensor.name(), name);
        tensor.set_name(name);
        result.changed = true;
      }
      return false;
    });
}

} // namespace

HoistedWeights hoistWeights(::onnx::ModelProto &model) {
  return Hoister(model).run();
}

} // namespace shardc::onnx
