// The graph's nodes with model-local functions inlined: what the decoders see.
#ifndef SHARDC_FRONTEND_ONNX_FLATGRAPH_H
#define SHARDC_FRONTEND_ONNX_FLATGRAPH_H

#include "frontend/onnx/ModelFile.h"

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
};

/// Inlines functions; owns the nodes that this makes.
class Flattener {
public:
  explicit Flattener(const ModelFile &file) : file(file) {}

  /// Appends the nodes of a graph (or of a taken branch: `origin` >= 0 then is
  /// the index of its If node). An error names a recursive function, or a call
  /// that does not fit its function.
  llvm::Error
  flatten(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
          std::vector<Node> &result, int origin = -1);

private:
  using Names = llvm::StringMap<std::string>;
  using Attributes = llvm::StringMap<const ::onnx::AttributeProto *>;

  const ::onnx::FunctionProto *
  findFunction(const ::onnx::NodeProto &node) const;
  llvm::Error inlineCall(const ::onnx::NodeProto &call, llvm::StringRef name,
                         const ::onnx::FunctionProto &function, int origin,
                         std::vector<Node> &result);
  llvm::Error append(const ::onnx::NodeProto &node, llvm::StringRef prefix,
                     int64_t opset, int origin, std::vector<Node> &result);
  void substitute(::onnx::NodeProto &node, Names &names,
                  const Attributes &attributes, llvm::StringRef prefix);

  const ModelFile &file;
  std::deque<::onnx::NodeProto> owned;
  std::vector<const ::onnx::FunctionProto *> callStack;
  size_t calls = 0;
};

} // namespace shardc::onnx

#endif
