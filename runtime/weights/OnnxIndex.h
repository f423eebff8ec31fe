// Where an ONNX file keeps its initializers: names and byte ranges, read
// without ONNX's classes and without the values.
#ifndef SHARDC_RUNTIME_WEIGHTS_ONNXINDEX_H
#define SHARDC_RUNTIME_WEIGHTS_ONNXINDEX_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

struct OnnxInitializer {
  std::string name;
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape;
  bool external = false;
  std::string location; // external: relative to the model's folder
  uint64_t offset = 0;  // bytes into the external file, or into the model file
  uint64_t length =
      0; // bytes; 0 when the values are not stored as a plain range
};

/// The initializers of ModelProto.graph. Throws an Error that begins with
/// `name` for bytes that are no such message.
std::map<std::string, OnnxInitializer>
indexOnnx(std::span<const std::byte> model, const std::string &name);

} // namespace shardc::runtime

#endif
