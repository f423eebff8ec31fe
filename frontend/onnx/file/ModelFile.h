// A .onnx file as the importer sees it: the graph without the weights' bytes,
// and where each initializer's bytes lie. Nothing here allocates by a size that
// the file declares.
#ifndef SHARDC_FRONTEND_ONNX_FILE_MODELFILE_H
#define SHARDC_FRONTEND_ONNX_FILE_MODELFILE_H

#include "frontend/onnx/file/ByteRange.h"
#include "frontend/onnx/file/WireFormat.h"
#include "google/protobuf/arena.h"
#include "onnx/onnx.pb.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>

namespace shardc::onnx {

/// An initializer of the graph.
struct Initializer {
  std::string name;
  llvm::SmallVector<int64_t> dims;
  /// TensorProto.DataType.
  int dtype = 0;
  int64_t elements = 0;
  /// Where the values lie as little-endian elements of `dtype`; none where the
  /// file stores them as varints.
  std::optional<ByteRange> bytes;
  /// The declared external file, or the bytes asked of it, are not there.
  bool missing = false;
  /// It is a Constant node of the file, which holds a weight or a literal.
  bool mayBeLiteral = false;
  /// Index in GraphProto.initializer.
  int index = 0;
};

/// Width in bytes of one element of a TensorProto.DataType; 0 for types that
/// shardc does not know.
int64_t elementBytes(int dtype);
/// Name as in the ONNX specification: "float", "int64", ...
llvm::StringRef dtypeName(int dtype);

class ModelFile {
public:
  /// Reads and checks `path`: a truncated or non-ONNX file, an initializer
  /// whose data disagrees with its shape, external data outside of the model's
  /// folder, missing or short (unless `allowMissingWeights`) are errors of one
  /// line that names the file.
  static llvm::Expected<std::unique_ptr<ModelFile>>
  open(llvm::StringRef path, bool allowMissingWeights);

  /// The model; initializers whose data is large have none in here.
  const ::onnx::ModelProto &model() const { return proto; }
  const ::onnx::GraphProto &graph() const { return proto.graph(); }
  llvm::StringRef path() const { return modelPath; }
  /// The file as it is stored.
  llvm::ArrayRef<uint8_t> bytes() const {
    return llvm::arrayRefFromStringRef(
        (original ? original : buffer)->getBuffer());
  }
  /// Whether weights of it were no initializers: ranges of the model file then
  /// lie in `content`, and nowhere in the file.
  bool isRewritten() const { return original != nullptr; }
  llvm::StringRef content() const { return buffer->getBuffer(); }
  /// Version of an operator set that the model imports; 0 if it does not.
  int64_t opset(llvm::StringRef domain) const;

  const Initializer *find(llvm::StringRef name) const;
  llvm::ArrayRef<Initializer> initializers() const { return table; }
  /// Paths of the external data files that are there.
  llvm::SmallVector<std::string> externalFiles() const;

  /// The initializer's bytes, at most `limit` of them; an error where they are
  /// missing or more than that.
  llvm::Expected<std::string> read(const Initializer &initializer,
                                   int64_t limit) const;
  /// A range of bytes; an error where they are not there.
  llvm::Expected<std::string> read(const ByteRange &range) const;
  /// Whether all elements have the same bytes; none where the data is missing.
  /// Reads until the first difference.
  std::optional<bool> isUniform(const Initializer &initializer) const;
  /// A hash of the first and the last element, which a transposition leaves
  /// where they are; none where the data is missing or empty.
  std::optional<uint64_t> corners(const Initializer &initializer) const;
  /// Whether `lhs` holds the same elements as `rhs`, or, with `transposed`, its
  /// transpose (2-d); none where data is missing.
  std::optional<bool> sameValues(const Initializer &lhs, const Initializer &rhs,
                                 bool transposed) const;

private:
  llvm::Error damaged(const llvm::Twine &why) const;
  /// Parses the buffer without its weights, and says where these lie in it.
  llvm::Error parse();
  /// Replaces the buffer by a model whose weights are all initializers.
  llvm::Error rewrite();
  llvm::Error describeInitializers(bool allowMissingWeights);
  llvm::Error describe(const ::onnx::TensorProto &tensor, int index,
                       bool allowMissingWeights);
  llvm::Error locateExternal(const ::onnx::TensorProto &tensor,
                             Initializer &initializer,
                             bool allowMissingWeights);
  /// The bytes of an initializer, mapped; none where missing.
  std::optional<llvm::StringRef> map(const Initializer &initializer) const;

  std::string modelPath;
  /// What is read, and the file where that is rewritten.
  std::unique_ptr<llvm::MemoryBuffer> buffer, original;
  llvm::StringSet<> literals;
  google::protobuf::Arena arena; // thousands of nodes
  ::onnx::ModelProto &proto =
      *google::protobuf::Arena::CreateMessage<::onnx::ModelProto>(&arena);
  /// Per initializer: raw_data or packed typed data in the file.
  std::vector<StoredData> dataRanges;
  std::vector<Initializer> table;
  llvm::StringMap<size_t> byName;
  mutable llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> mapped;
};

} // namespace shardc::onnx

#endif
