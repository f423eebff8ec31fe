// Protobuf's wire format, walked by hand: takes the weights' bytes out of a
// model before it is parsed, and says where they lie in the file.
#ifndef SHARDC_FRONTEND_ONNX_FILE_WIREFORMAT_H
#define SHARDC_FRONTEND_ONNX_FILE_WIREFORMAT_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::onnx {

/// One field of an encoded message.
struct Field {
  uint64_t number = 0;
  unsigned wireType = 0;
  llvm::StringRef whole;   // tag and value
  llvm::StringRef payload; // of a length-delimited field
};

/// Reads fields off the front of an encoded message.
class FieldReader {
public:
  explicit FieldReader(llvm::StringRef message) : rest(message) {}
  bool done() const { return rest.empty(); }
  /// None where the message is damaged.
  std::optional<Field> next();

private:
  bool skip(size_t count);
  bool varint(uint64_t &value);
  llvm::StringRef rest;
};

/// Where a tensor's data of fixed width lie in the file.
struct StoredData {
  int64_t offset = 0;
  int64_t length = -1; ///< -1: it has none, or in pieces
  bool isRaw = false;  ///< raw_data, not a typed field
};

struct StrippedModel {
  /// The ModelProto without the large data of its graph's initializers.
  std::string bytes;
  /// Per initializer of the graph, in order.
  std::vector<StoredData> data;
};

/// Walks a serialized ModelProto; none where it is damaged.
std::optional<StrippedModel> stripWeights(llvm::StringRef model);

/// How many branches (graphs that are attributes of nodes) lie in each other at
/// the deepest place of a serialized ModelProto, as far as it can be read.
int64_t branchNesting(llvm::StringRef model);

} // namespace shardc::onnx

#endif
