// Tensors of sharded safetensors files, as PyTorch's distributed checkpoints
// have them (torch.distributed.checkpoint.HuggingFaceStorageWriter).
#ifndef SHARDC_RUNTIME_WEIGHTS_STOREDTENSORS_H
#define SHARDC_RUNTIME_WEIGHTS_STOREDTENSORS_H

#include "runtime/files/Descriptor.h"
#include "runtime/plan.pb.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The tensors of one folder of safetensors files, as PyTorch's distributed
/// checkpoints have them: each is put together from chunks, of any number of
/// files. Throws an Error with the file's name for what is damaged.
class StoredTensors {
public:
  /// Reads the headers of `files`. Chunks are whole rows.
  explicit StoredTensors(const std::vector<std::string> &files);

  std::vector<std::string> keys() const;
  bool has(const std::string &key) const { return tensors.contains(key); }
  /// That of its first chunk.
  plan::DType dtypeOf(const std::string &key) const {
    return tensors.at(key).pieces.front().dtype;
  }
  const std::vector<int64_t> &shapeOf(const std::string &key) const;
  /// Elements [begin, end) as `dtype`. Safe to call from several threads.
  void read(const std::string &key, int64_t begin, int64_t end,
            plan::DType dtype, std::byte *destination) const;

private:
  struct File {
    Descriptor descriptor;
    std::string path;
  };
  /// Elements [begin, end) of a tensor, in a file from `offset` on.
  struct Piece {
    int64_t begin = 0, end = 0;
    const File *file = nullptr;
    uint64_t offset = 0;
    plan::DType dtype = plan::INVALID;
  };
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<Piece> pieces; // one behind the other
  };
  void addFile(const std::string &path);
  /// That the chunks of each tensor are all there, each element once.
  void checkWhole();

  std::vector<std::unique_ptr<File>> files;
  std::map<std::string, Tensor> tensors;
};

} // namespace shardc::runtime

#endif
