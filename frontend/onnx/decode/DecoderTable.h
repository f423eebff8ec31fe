// The decoders of all operators, by domain, name and opset.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_DECODERTABLE_H
#define SHARDC_FRONTEND_ONNX_DECODE_DECODERTABLE_H

#include "frontend/onnx/decode/Decoder.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::onnx {

class DecoderTable {
public:
  DecoderTable();
  /// The decoder of a node; null where there is none.
  const Decoder *find(const Node &node) const;
  /// Names of all operators, sorted.
  std::vector<llvm::StringRef> names() const;
  /// Why `find` has none: the domain is unknown or not imported, the operator is
  /// of later opsets, or unknown; then the names that are nearest to it.
  std::string whyUnsupported(const Node &node) const;
  /// A line per operator, sorted: its name, and the opsets from which on a
  /// definition of it is supported ("Softmax 13").
  std::string list() const;

private:
  /// The domains besides the default one.
  llvm::SmallVector<llvm::StringRef> otherDomains() const;

  llvm::StringMap<llvm::SmallVector<Decoder, 1>> table;
};

} // namespace shardc::onnx

#endif
