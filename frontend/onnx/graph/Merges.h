// Nodes that the dynamo exporter's optimizer merged because they computed the
// same when the model was exported: what reads the second one's result still
// names it in its FX call.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_MERGES_H
#define SHARDC_FRONTEND_ONNX_GRAPH_MERGES_H

#include "frontend/onnx/graph/Exporter.h"

namespace shardc::onnx {

/// A call of PyTorch's whose result is another call's in the file.
struct Merge {
  /// Node that stands for both, and its parameters.
  int kept = 0;
  std::vector<std::string> parameters;
  /// FX name of the result that is gone ("layer_norm_3").
  std::string gone;
};

/// The merges of nodes that read parameters: those of other nodes change no
/// gradient.
std::vector<Merge> findMerges(llvm::ArrayRef<Node> nodes,
                              const GraphSignature &signature);

} // namespace shardc::onnx

#endif
