// Which nodes the outputs depend on that are asked for.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_NEEDEDNODES_H
#define SHARDC_FRONTEND_ONNX_GRAPH_NEEDEDNODES_H

#include "frontend/onnx/graph/FlatGraph.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

namespace shardc::onnx {

/// Adds the names that the nodes of a branch read: those from outside of it are
/// among them.
void addReads(const ::onnx::GraphProto &branch, llvm::StringSet<> &names);

/// One bit for each of `nodes`, those of the graph itself, in the order of
/// evaluation: whether one of `outputs` depends on it, also through bodies.
llvm::BitVector neededNodes(llvm::ArrayRef<Node> nodes,
                            llvm::ArrayRef<std::string> outputs);

/// Those of the graph's outputs that are asked for, or all of them where none is,
/// or one that the graph has not.
std::vector<std::string> importedOutputs(const ::onnx::GraphProto &graph,
                                         llvm::ArrayRef<std::string> askedFor);

} // namespace shardc::onnx

#endif
