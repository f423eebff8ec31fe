// Where PyTorch stopped gradients: what the dynamo exporter's metadata tells of
// detach().
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_DETACHED_H
#define SHARDC_FRONTEND_ONNX_GRAPH_DETACHED_H

#include "frontend/onnx/graph/Exporter.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc::onnx {

/// Node inputs (index in the flat graph, position) through which no gradient
/// flows.
using DetachedInputs = llvm::DenseSet<std::pair<int, int>>;

/// Finds them. A graph that was not optimized has an Identity for each detach;
/// in one that was, the calls that read a detached value still name it, and
/// the input that stands for it is found by the names of the others, or by its
/// position. An error names the node where neither tells: what is trained
/// would be another model. Files without metadata say nothing of detach().
llvm::Expected<DetachedInputs> findDetached(const ModelFile &file,
                                            llvm::ArrayRef<Node> nodes);

} // namespace shardc::onnx

#endif
