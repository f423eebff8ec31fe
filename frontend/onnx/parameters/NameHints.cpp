// Conventions, tool by tool.
#include "frontend/onnx/parameters/NameHints.h"
#include "frontend/onnx/graph/Exporter.h"
#include "frontend/onnx/parameters/ParameterNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace shardc::onnx {

bool isParameterName(StringRef name) {
  StringRef last = lastComponent(name);
  return last == "weight" || last == "bias" || last.starts_with("weight_") ||
         last.starts_with("bias_") || last.starts_with("in_proj_");
}

bool isBufferName(StringRef name) {
  StringRef last = lastComponent(name);
  static constexpr StringRef names[] = {
      "running_mean", "running_var", "inv_freq",    "cos_cached",
      "sin_cached",   "freqs_cis",   "masked_bias", "final_logits_bias"};
  return llvm::is_contained(names, last) || last.ends_with("_inv_freq");
}

bool isTableName(StringRef name, size_t rank) {
  StringRef last = lastComponent(name);
  static constexpr StringRef names[] = {"cos",    "sin",   "freqs", "mask",
                                        "slopes", "alibi", "pe"};
  return llvm::is_contained(names, last) || last.ends_with("_mask") ||
         last.starts_with("cos_") || last.starts_with("sin_") ||
         (last == "bias" && rank == 4);
}

bool isExportersName(StringRef name) {
  return isGeneratedName(name) || name.starts_with("scalar_tensor") ||
         name.contains("lifted_tensor") || name.contains("_tensor_constant");
}

bool isNumberedName(StringRef name) {
  return name.starts_with("const_") || name.starts_with("Constant_");
}

bool isNumber(StringRef name) {
  StringRef own = name.contains('/') ? name.rsplit('/').second : name;
  StringRef last = lastComponent(own);
  return last == own || llvm::all_of(last, llvm::isDigit);
}

bool isPaddlesName(StringRef name) {
  StringRef last = lastComponent(name);
  return (last.consume_front("w_") || last.consume_front("b_")) &&
         llvm::all_of(last, llvm::isDigit);
}

bool isVariableName(StringRef name) {
  name.consume_back(":0");
  StringRef last = name.rsplit('/').second;
  return last == "ReadVariableOp" || last.starts_with("ReadVariableOp_");
}

bool isLiteralName(StringRef name) {
  if (name.starts_with("helper.constant.") ||
      name.starts_with("p2o.pd_op.full."))
    return true;
  if (!name.consume_back(":0"))
    return false;
  // The operand of an operation that is written as a number has its argument's
  // name.
  StringRef last = name.rsplit('/').second;
  return last == "x" || last == "y" || last == "Const" ||
         last.starts_with("Const_");
}

} // namespace shardc::onnx
