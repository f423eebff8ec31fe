// Calls of PyTorch's that compute as one kernel, and that the dynamo exporter
// writes as several nodes.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_SPLITCALLS_H
#define SHARDC_FRONTEND_ONNX_GRAPH_SPLITCALLS_H

#include "frontend/onnx/graph/FlatGraph.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc::onnx {

/// What a node is of such a call. In 16 bits nothing inside of it is rounded:
/// the cube of 100 is more than float16 holds, the 3-norm is not.
enum class CallPart { Inside, Result };

/// The nodes (index in the flat graph) of norms with another exponent than 1
/// and 2, which ONNX has operators for: |x|, its power, their sum, its root.
/// They are known by the metadata of the dynamo exporter.
llvm::DenseMap<int, CallPart> findSplitCalls(llvm::ArrayRef<Node> nodes);

} // namespace shardc::onnx

#endif
