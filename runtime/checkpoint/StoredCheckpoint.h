// A checkpoint as it is read: any rows of any tensor, for ranks that cut them
// otherwise than those that wrote it.
#ifndef SHARDC_RUNTIME_CHECKPOINT_STOREDCHECKPOINT_H
#define SHARDC_RUNTIME_CHECKPOINT_STOREDCHECKPOINT_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/files/Descriptor.h"
#include "runtime/weights/ParameterSource.h"

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

  bool has(const std::string &key) const { return tensors.contains(key); }
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

class StoredCheckpoint {
public:
  /// Reads the manifest and compares all files with it. Throws an Error with
  /// the path and what is wrong.
  explicit StoredCheckpoint(const std::string &path);

  const std::string &where() const { return path; }
  const Manifest &manifest() const { return read; }

  /// Throws an Error unless it has what a run of this plan goes on with: each
  /// trained parameter in its shape, and its optimizer's states.
  void check(const plan::Plan &plan) const;
  /// The master weights of trained parameters; those that are not trained are
  /// `others`'s. All must live as long as the result.
  std::unique_ptr<ParameterSource>
  parameters(const plan::Plan &plan, const ParameterSource &others) const;
  /// The state of that name.
  std::unique_ptr<ParameterSource> states(const plan::Plan &plan,
                                          const std::string &state) const;

private:
  std::string path;
  Manifest read;
  std::unique_ptr<StoredTensors> model, optim;
};

} // namespace shardc::runtime

#endif
