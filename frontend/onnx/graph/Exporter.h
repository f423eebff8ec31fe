// What PyTorch's two exporters tell about names: the dynamo exporter in
// metadata, the legacy one in the names of nodes.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_EXPORTER_H
#define SHARDC_FRONTEND_ONNX_GRAPH_EXPORTER_H

#include "frontend/onnx/graph/FlatGraph.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace shardc::onnx {

/// Whether one of PyTorch's exporters wrote the file, and nothing has rewritten
/// it since.
bool isPyTorchs(const ModelFile &file);

/// The dynamo exporter's list of everything that a program takes.
struct GraphSignature {
  bool present = false;
  /// Parameters in PyTorch's order.
  std::vector<std::string> parameters;
  /// Position in `parameters` by name.
  llvm::StringMap<size_t> order;
  /// From an FX placeholder (p_layers_0_weight, b_mask) to the name of the
  /// parameter or buffer.
  llvm::StringMap<std::string> placeholders;
  llvm::StringSet<> buffers;
  /// Of them, those that the forward pass changes in place.
  llvm::StringSet<> changed;

  bool isParameter(llvm::StringRef name) const { return order.count(name); }
};
GraphSignature readSignature(const ::onnx::GraphProto &graph);

/// Names of the parameters that stand as arguments in the FX node that an ONNX
/// node was made from, in order and as often as they stand there.
std::vector<std::string> parameterArguments(const ::onnx::NodeProto &node,
                                            const GraphSignature &signature);

/// The same of parameters and buffers.
std::vector<std::string> tensorArguments(const ::onnx::NodeProto &node,
                                         const GraphSignature &signature);

/// The function that the FX node of an ONNX node calls,
/// "torch.ops.aten.linear.default"; empty where not known.
llvm::StringRef fxTarget(const ::onnx::NodeProto &node);

/// The function that torch.fx named a value after: "layer_norm" of
/// "layer_norm_12".
llvm::StringRef fxFunction(llvm::StringRef value);

/// Names of the values that a constant was folded from (dynamo); empty where
/// not known.
std::vector<std::string> foldedFrom(const ::onnx::ValueInfoProto &value);

/// Module path that a node belongs to ("layers.0.attn.q_proj"), from its
/// metadata or from its name; empty where not known.
std::string moduleScope(const Node &node);

/// Class of each module that a node belongs to, by path: "layers.0.attn":
/// "pkg.Attention"; the model itself is left out. Empty where not known.
std::map<std::string, std::string> moduleClasses(llvm::ArrayRef<Node> nodes);

/// Whether an exporter made this name up (val_152, onnx::MatMul_846,
/// /layers.0/Constant_output_0).
bool isGeneratedName(llvm::StringRef name);

/// Whether two names differ in numbers only: copies of one layer
/// (layers.0.weight, layers.1.weight).
bool differInNumbersOnly(llvm::StringRef lhs, llvm::StringRef rhs);

} // namespace shardc::onnx

#endif
