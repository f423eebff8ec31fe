// The model-local functions by name, and what inlining a graph comes to before
// anything is inlined.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_FUNCTIONTABLE_H
#define SHARDC_FRONTEND_ONNX_GRAPH_FUNCTIONTABLE_H

#include "frontend/onnx/file/ModelFile.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc::onnx {

/// Nodes of a graph with its functions inlined, calls included. Nested
/// functions can grow exponentially; no real model comes near.
constexpr int64_t maxNodes = 1 << 17;

/// "ai.onnx" and "" are one domain.
bool sameDomain(llvm::StringRef lhs, llvm::StringRef rhs);

class FunctionTable {
public:
  explicit FunctionTable(const ModelFile &file);

  /// The function that a node calls; null where it is an operator.
  const ::onnx::FunctionProto *find(const ::onnx::NodeProto &node) const;

  /// How many nodes these become, each call counted as well. At most
  /// `INT64_MAX`: the true number may have thousands of digits. Branches, of
  /// which one at most is taken, do not count. An error names a function that
  /// calls itself, in a branch or not.
  llvm::Expected<int64_t> countInlined(
      const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes);

private:
  using Functions = llvm::SmallVector<const ::onnx::FunctionProto *>;

  llvm::Error countFunction(const ::onnx::FunctionProto &function);
  /// The functions that nodes call; those in branches as well.
  Functions calledBy(
      const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes) const;
  /// Of nodes whose functions are counted.
  int64_t
  sum(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes) const;

  const ModelFile &file;
  llvm::StringMap<const ::onnx::FunctionProto *> byName;
  llvm::DenseMap<const ::onnx::FunctionProto *, int64_t> counts;
};

} // namespace shardc::onnx

#endif
