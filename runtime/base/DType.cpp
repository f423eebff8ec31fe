// Element types: sizes and names.
#include "runtime/base/DType.h"

namespace shardc::runtime {

using plan::DType;

namespace {

struct Names {
  DType dtype;
  size_t size;
  const char *numpy;
  const char *safetensors;
  int32_t onnx;
};
constexpr Names table[] = {
    {plan::FLOAT32, 4, "float32", "F32", 1},
    {plan::FLOAT64, 8, "float64", "F64", 11},
    {plan::BFLOAT16, 2, "bfloat16", "BF16", 16},
    {plan::FLOAT16, 2, "float16", "F16", 10},
    {plan::INT64, 8, "int64", "I64", 7},
    {plan::INT32, 4, "int32", "I32", 6},
    {plan::BOOL, 1, "bool", "BOOL", 9},
    {plan::UINT8, 1, "uint8", "U8", 2},
    {plan::INT8, 1, "int8", "I8", 3},
    {plan::UINT16, 2, "uint16", "U16", 4},
    {plan::INT16, 2, "int16", "I16", 5},
    {plan::UINT32, 4, "uint32", "U32", 12},
    {plan::UINT64, 8, "uint64", "U64", 13},
};

const Names *find(DType dtype) {
  for (const Names &names : table)
    if (names.dtype == dtype)
      return &names;
  return nullptr;
}

} // namespace

size_t elementSize(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->size : 0;
}
const char *dtypeName(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->numpy : "invalid";
}
const char *safetensorsName(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->safetensors : "";
}
DType dtypeFromSafetensorsName(const std::string &name) {
  for (const Names &names : table)
    if (name == names.safetensors)
      return names.dtype;
  return plan::INVALID;
}
DType dtypeFromOnnx(int32_t onnx) {
  for (const Names &names : table)
    if (onnx == names.onnx)
      return names.dtype;
  return plan::INVALID;
}
int32_t onnxDtype(DType dtype) {
  const Names *names = find(dtype);
  return names ? names->onnx : 0;
}

bool isFloat(DType dtype) {
  return dtype == plan::FLOAT32 || dtype == plan::FLOAT64 || isHalf(dtype);
}

bool isSigned(DType dtype) {
  return isFloat(dtype) || dtype == plan::INT64 || dtype == plan::INT32 ||
         dtype == plan::INT16 || dtype == plan::INT8;
}

bool isConvertible(DType from, DType to) {
  return find(from) && find(to) && isFloat(from) == isFloat(to);
}

} // namespace shardc::runtime
