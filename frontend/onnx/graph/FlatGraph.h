// The graph's nodes with model-local functions inlined: what the decoders see.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_FLATGRAPH_H
#define SHARDC_FRONTEND_ONNX_GRAPH_FLATGRAPH_H

#include "frontend/onnx/graph/FunctionTable.h"

#include <deque>
#include <vector>

namespace shardc::onnx {

/// A node outside of any function.
struct Node {
  const ::onnx::NodeProto *proto = nullptr;
  /// The node's name, or "Op:output" where it has none; a node from a function
  /// has its call's name in front.
  std::string name;
  /// Version of its domain's operator set that defines it.
  int64_t opset = 0;
  /// Index of the node of the graph that it is, or was inlined from.
  int origin = 0;
  /// Whether one of PyTorch's exporters wrote it.
  bool isPyTorchs = false;
};

/// Inlines functions, however deep they are nested; owns the nodes that this
/// makes.
class Flattener {
public:
  explicit Flattener(const ModelFile &file) : file(file), functions(file) {}

  /// Appends the nodes of a graph (or of a taken branch: `origin` >= 0 then is
  /// the index of its If node). An error names a recursive function, a call
  /// that does not fit its function, or the number of nodes where that is above
  /// `maxNodes` for all that was appended so far.
  llvm::Error
  flatten(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
          std::vector<Node> &result, int origin = -1);

private:
  using Names = llvm::StringMap<std::string>;
  using Attributes = llvm::StringMap<const ::onnx::AttributeProto *>;
  /// A call whose function's nodes are being appended.
  struct Call {
    const ::onnx::FunctionProto *function;
    int next = 0; // of the function's nodes
    /// In front of the names of nodes, and of values that the call does not
    /// name.
    std::string prefix, valuePrefix;
    Names names;
    std::vector<::onnx::AttributeProto> defaults;
    Attributes attributes;
  };

  /// Appends a node, or opens a call.
  llvm::Error append(const ::onnx::NodeProto &node, llvm::StringRef prefix,
                     int64_t opset, int origin, std::vector<Node> &result);
  llvm::Error openCall(const ::onnx::NodeProto &node, llvm::StringRef name,
                       const ::onnx::FunctionProto &function);
  void substitute(::onnx::NodeProto &node, Names &names,
                  const Attributes &attributes, llvm::StringRef prefix);

  const ModelFile &file;
  FunctionTable functions;
  std::deque<::onnx::NodeProto> owned;
  std::vector<std::unique_ptr<Call>> open; // the innermost last
  size_t calls = 0;
  int64_t appended = 0;
};

} // namespace shardc::onnx

#endif
