// Weights that a file keeps where no initializer of its graph is: in Constant
// nodes (paddle2onnx), in bodies of If, Loop and Scan (onnxslim), and 16-bit
// floats that are stored as numbers of 32 bits.
#ifndef SHARDC_FRONTEND_ONNX_FILE_HOISTEDWEIGHTS_H
#define SHARDC_FRONTEND_ONNX_FILE_HOISTEDWEIGHTS_H

#include "onnx/onnx.pb.h"
#include "llvm/ADT/StringSet.h"

namespace shardc::onnx {

struct HoistedWeights {
  /// Whether there were any.
  bool changed = false;
  /// Names of those that were Constant nodes, which may be literals, too.
  llvm::StringSet<> constants;
};

/// Makes them initializers of the graph, with raw data. Their values need not be
/// there. Float tensors with dims count. Constant nodes stay where they are
/// literals of the program, in files of PyTorch's exporters and beside floats that
/// are initializers, and in functions, each call of which has its own.
HoistedWeights hoistWeights(::onnx::ModelProto &model);

} // namespace shardc::onnx

#endif
