// A range of bytes in a file.
#ifndef SHARDC_FRONTEND_ONNX_FILE_BYTERANGE_H
#define SHARDC_FRONTEND_ONNX_FILE_BYTERANGE_H

#include <cstdint>
#include <string>

namespace shardc::onnx {

/// `file` is relative to the model's folder; empty: the model file itself.
struct ByteRange {
  std::string file;
  int64_t offset = 0;
  int64_t length = 0;
};

} // namespace shardc::onnx

#endif
