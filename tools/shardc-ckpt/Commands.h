// The commands of shardc-ckpt. Each throws an Error for what it cannot do.
#ifndef SHARDC_TOOLS_SHARDC_CKPT_COMMANDS_H
#define SHARDC_TOOLS_SHARDC_CKPT_COMMANDS_H

#include <cstdint>
#include <optional>
#include <string>

namespace shardc::runtime {

/// Elements that are held in memory at a time, whatever a tensor has.
inline constexpr int64_t elementsAtOnce = 1 << 20;

/// A checkpoint, or the last one in a folder of them.
std::string checkpointAt(const std::string &path);

/// Prints what the manifest says, and the tensors; `tensors`: each of them.
void inspect(const std::string &path, bool tensors);

/// Compares all files of a checkpoint, or of each in a folder, with their
/// hashes, and sees whether the chunks are all there.
void verify(const std::string &path);

/// Prints the tensors that differ. Returns whether there are any.
bool diff(const std::string &first, const std::string &second);

/// Removes all but the last `keep` checkpoints in a folder.
void prune(const std::string &folder, int64_t keep);

struct ExportOptions {
  std::string checkpoint;
  std::string to; // hf, onnx or dcp
  std::string output;
  /// hf and dcp: bytes of a file at most.
  uint64_t shardBytes = 5'000'000'000;
  /// hf: what floats are rounded to; none: they stay what they are.
  std::optional<plan::DType> dtype;
  /// hf: a folder whose configuration and tokenizer are copied.
  std::optional<std::string> like;
  /// onnx: the trainer whose graph it is.
  std::optional<std::string> trainer;
};
void exportTo(const ExportOptions &options);

} // namespace shardc::runtime

#endif
