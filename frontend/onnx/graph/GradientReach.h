// Which values of a graph a gradient can reach, by what ONNX's operators
// compute: asked before anything is decoded, for that decides what is a
// parameter.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_GRADIENTREACH_H
#define SHARDC_FRONTEND_ONNX_GRAPH_GRADIENTREACH_H

#include "frontend/onnx/graph/FlatGraph.h"

#include "llvm/ADT/StringSet.h"

namespace shardc::onnx {

/// Whether an input says how a result is computed, as the scales of a Resize do:
/// the compiler has to know its numbers.
bool saysHow(const ::onnx::NodeProto &node, int input);

/// Whether a gradient of the node's results gives its input `input` one:
/// results of comparisons, shapes and conversions to integers have none, and
/// neither have inputs that say how to compute rather than with what (a ratio,
/// running statistics).
bool handsGradientOn(const ::onnx::NodeProto &node, int input);

/// Names of the values that a gradient of any graph output reaches.
llvm::StringSet<> gradientReach(const ::onnx::GraphProto &graph,
                                llvm::ArrayRef<Node> nodes);

} // namespace shardc::onnx

#endif
