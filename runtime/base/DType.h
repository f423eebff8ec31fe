// Element types: sizes, names, and conversion of stored values to the type that
// a program computes in.
#ifndef SHARDC_RUNTIME_BASE_DTYPE_H
#define SHARDC_RUNTIME_BASE_DTYPE_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Bytes of one element; 0 for INVALID.
size_t elementSize(plan::DType dtype);
/// numpy's name: "float32", "bool", ...
const char *dtypeName(plan::DType dtype);
/// "F32", "I64", ...: the names of the safetensors format.
const char *safetensorsName(plan::DType dtype);
/// INVALID for a name that is none.
plan::DType dtypeFromSafetensorsName(const std::string &name);
/// onnx.TensorProto.DataType; INVALID or 0 where there is no counterpart.
plan::DType dtypeFromOnnx(int32_t onnxDtype);
int32_t onnxDtype(plan::DType dtype);

/// The types in which parameters may be exported, by their names.
inline const std::vector<std::pair<std::string, plan::DType>> exportTypes = {
    {"float32", plan::FLOAT32},
    {"bfloat16", plan::BFLOAT16},
    {"float16", plan::FLOAT16}};

bool isFloat(plan::DType dtype);
/// Whether elements are 16-bit floats ("half" precision).
inline bool isHalf(plan::DType dtype) {
  return dtype == plan::BFLOAT16 || dtype == plan::FLOAT16;
}
/// Floats, and the integers that may be negative.
bool isSigned(plan::DType dtype);

/// What is computed with elements of a type: float64, or float32.
inline plan::DType computeDtype(plan::DType dtype) {
  return dtype == plan::FLOAT64 ? plan::FLOAT64 : plan::FLOAT32;
}

/// float32 for 16-bit floats, and the type itself for all others.
inline plan::DType widenedDtype(plan::DType dtype) {
  return isHalf(dtype) ? plan::FLOAT32 : dtype;
}

/// Whether convertElements takes this pair: floats to floats, integers and bool
/// to integers and bool.
bool isConvertible(plan::DType from, plan::DType to);

/// Converts `count` elements, rounding to nearest even. The ranges must not
/// overlap, unless the types are equal and the ranges are the same. Any
/// alignment.
void convertElements(const void *source, plan::DType from, void *destination,
                     plan::DType to, size_t count);

} // namespace shardc::runtime

#endif
