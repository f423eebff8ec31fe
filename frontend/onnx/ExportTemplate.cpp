// Undoes in the graph what Parameters.cpp undid on paper.
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/ImportedModel.h"

#include "google/protobuf/arena.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

namespace shardc::onnx {
namespace {

class TemplateBuilder {
public:
  explicit TemplateBuilder(const ImportedModel &imported)
      : file(*imported.file), nodes(imported.nodes),
        parameters(imported.parameters),
        model(*google::protobuf::Arena::CreateMessage<ModelProto>(&arena)) {
    model.CopyFrom(file.model());
  }

  ExportTemplate run() {
    collectNames();
    for (const Initializer &initializer : file.initializers())
      if (auto use = parameters.byInitializer(initializer.name))
        holder[initializer.name] = use->first;
    for (auto [index, node] : llvm::enumerate(nodes))
      for (int input = 0; input < node.proto->input_size(); ++input)
        if (auto use = parameters.use(index, input))
          settleUse(node, input, *use);
    for (int index : llvm::reverse(removed))
      model.mutable_graph()->mutable_node()->DeleteSubrange(index, 1);
    takeInitializers();
    result.model = model.SerializeAsString();
    return std::move(result);
  }

private:
  void collectNames() {
    for (const Initializer &initializer : file.initializers())
      names.insert(initializer.name);
    for (const auto &input : file.graph().input())
      names.insert(input.name());
    for (const Node &node : nodes)
      for (const std::string &output : node.proto->output())
        names.insert(output);
  }

  /// Makes the value that a node reads hold the parameter that it means.
  void settleUse(const Node &node, int input, std::pair<int, int> use) {
    StringRef name = node.proto->input(input);
    auto entry = holder.find(name);
    int held = entry == holder.end() ? -1 : entry->second;
    const NodeProto *original = &file.graph().node(node.origin);
    if (node.proto->op_type() == "Identity" && node.proto == original &&
        node.proto->output_size() == 1) {
      holder[node.proto->output(0)] = use.first;
      if (held != use.first) { // it only gave a merged parameter its name
        add(node.proto->output(0), use);
        removed.push_back(node.origin);
      }
      return;
    }
    if (held == use.first)
      return;
    const std::string &own = splitName(use);
    NodeProto &rewritten = *model.mutable_graph()->mutable_node(node.origin);
    if (node.proto == original) {
      rewritten.set_input(input, own);
      return;
    }
    rename(rewritten, name, own);
  }

  /// What is inside a function is passed by its call; a branch of an If reads
  /// what is around it.
  static void rename(NodeProto &node, StringRef from, const std::string &to) {
    llvm::SmallVector<NodeProto *> open = {&node};
    while (!open.empty()) {
      NodeProto *next = open.pop_back_val();
      for (std::string &argument : *next->mutable_input())
        if (argument == from)
          argument = to;
      for (auto &attribute : *next->mutable_attribute())
        if (attribute.has_g())
          for (NodeProto &inner : *attribute.mutable_g()->mutable_node())
            open.push_back(&inner);
    }
  }

  /// The initializer that holds a merged parameter alone.
  const std::string &splitName(std::pair<int, int> use) {
    auto [entry, inserted] = splits.try_emplace(use);
    if (inserted) {
      std::string name = parameters.parameters()[use.first].name;
      while (!names.insert(name).second)
        name += "_";
      entry->second = name;
      add(name, use);
    }
    return entry->second;
  }

  void add(StringRef name, std::pair<int, int> use) {
    const Parameter &parameter = parameters.parameters()[use.first];
    const Binding &binding = parameter.bindings[use.second];
    result.initializers.push_back(
        {name.str(), parameter.name, binding.transposed,
         binding.initializer->bytes.value_or(ByteRange()),
         binding.initializer->dims, binding.initializer->dtype});
  }

  /// Takes parameters, and constants that are stored elsewhere, out of the
  /// graph.
  void takeInitializers() {
    std::vector<TemplateInitializer> split = std::move(result.initializers);
    result.initializers.clear();
    auto &stored = *model.mutable_graph()->mutable_initializer();
    google::protobuf::RepeatedPtrField<::onnx::TensorProto> kept;
    for (const Initializer &initializer : file.initializers()) {
      ::onnx::TensorProto &tensor = stored[initializer.index];
      if (auto use = parameters.byInitializer(initializer.name))
        add(initializer.name, *use);
      else if (initializer.bytes &&
               (!initializer.bytes->file.empty() || isStripped(tensor)))
        result.initializers.push_back({initializer.name, "", false,
                                       *initializer.bytes, initializer.dims,
                                       initializer.dtype});
      else
        kept.Add(std::move(tensor));
    }
    stored.Swap(&kept);
    llvm::append_range(result.initializers, split);
  }

  /// Whether the model was parsed without this tensor's data.
  static bool isStripped(const ::onnx::TensorProto &tensor) {
    return !tensor.has_raw_data() && tensor.float_data_size() == 0 &&
           tensor.double_data_size() == 0 && tensor.int32_data_size() == 0 &&
           tensor.int64_data_size() == 0 && tensor.uint64_data_size() == 0;
  }

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  const ParameterTable &parameters;
  google::protobuf::Arena arena; // thousands of nodes go away at once
  ModelProto &model;
  llvm::StringSet<> names;
  /// The parameter that a name holds in the exported graph.
  llvm::StringMap<int> holder;
  std::map<std::pair<int, int>, std::string> splits;
  std::vector<int> removed;
  ExportTemplate result;
};

} // namespace

ExportTemplate makeExportTemplate(const ImportedModel &model) {
  return TemplateBuilder(model).run();
}

llvm::Expected<std::string> exportInitialValues(const ImportedModel &imported) {
  ExportTemplate exported = makeExportTemplate(imported);
  ModelProto model;
  if (!model.ParseFromString(exported.model))
    return llvm::createStringError("the graph to be written is too large");
  for (const TemplateInitializer &initializer : exported.initializers) {
    llvm::Expected<std::string> data = imported.file->read(initializer.source);
    if (!data)
      return llvm::createStringError("initializer '" + initializer.name +
                                     "': " + llvm::toString(data.takeError()));
    ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(initializer.name);
    tensor.set_data_type(initializer.dtype);
    for (int64_t dim : initializer.dims)
      tensor.add_dims(dim);
    tensor.set_raw_data(std::move(*data));
  }
  return model.SerializeAsString();
}

} // namespace shardc::onnx
