// What the names of tensors say about their roles, as the tools give them that
// write ONNX.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_NAMEHINTS_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_NAMEHINTS_H

#include "llvm/ADT/StringRef.h"

namespace shardc::onnx {

/// Names that PyTorch's own modules give to parameters: Linear.weight,
/// MultiheadAttention.in_proj_bias, LSTM.weight_ih_l0, WeightNorm.weight_g.
bool isParameterName(llvm::StringRef name);

/// Names that modules give to buffers of numbers that no rule shows:
/// statistics, frequencies that were scaled, biases that are set and not
/// learned.
bool isBufferName(llvm::StringRef name);

/// Names of tables and masks, where their values are not there to be seen.
bool isTableName(llvm::StringRef name, size_t rank);

/// Whether the name is an exporter's, not a module's.
bool isExportersName(llvm::StringRef name);

/// Whether an exporter that is not PyTorch's gave a number to what it stores,
/// parameters among them: const_12 (jax2onnx), const_fold_opt__12 (tf2onnx),
/// Constant_1_output (spox).
bool isNumberedName(llvm::StringRef name);

/// Whether a tensor of one element has a name for a number: one without a module
/// before it, or that a tool counted ("scales.0" is a number of a list, and more
/// often that). Paths of TensorFlow's have dots in their modules.
bool isNumber(llvm::StringRef name);

/// Whether Paddle named a parameter: linear_0.w_0, batch_norm_3.b_0.
bool isPaddlesName(llvm::StringRef name);

/// Whether TensorFlow read a variable: dense/BiasAdd/ReadVariableOp:0.
bool isVariableName(llvm::StringRef name);

/// Whether it is a number of the program: layer_norm/add/y:0 and lambda/Const:0
/// of TensorFlow's, helper.constant.2 and p2o.pd_op.full.2.0 of Paddle's.
bool isLiteralName(llvm::StringRef name);

} // namespace shardc::onnx

#endif
