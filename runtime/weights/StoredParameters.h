// Initial values from files: byte ranges of an ONNX model, its external data or
// a safetensors file, or of the trainer itself.
#ifndef SHARDC_RUNTIME_WEIGHTS_STOREDPARAMETERS_H
#define SHARDC_RUNTIME_WEIGHTS_STOREDPARAMETERS_H

#include "runtime/files/Descriptor.h"
#include "runtime/files/Safetensors.h"
#include "runtime/weights/ParameterSource.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Part of the trainer's own file: the section of embedded weights. No length:
/// there is none. Whoever opens it has checked it (TrainerFile.h).
struct EmbeddedWeights {
  std::string path;
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string name; // what errors call the file; empty: its path
};

/// Files that values are read from, each opened once.
class OpenFiles {
public:
  struct File {
    Descriptor descriptor;
    std::string path;
    uint64_t size = 0;
  };
  /// `name`: what errors call it; empty: its path.
  const File &open(const std::string &path, const std::string &name = "");
  /// A file that the file `owner` names, see ConfinedOpen.h.
  const File &openConfined(const std::string &owner,
                           const std::string &relative);
  /// Where those that are open were found.
  std::vector<std::string> paths() const;

private:
  std::map<std::string, std::unique_ptr<File>> files;
};

/// Where one tensor's values lie.
struct StoredRange {
  const OpenFiles::File *file = nullptr;
  uint64_t offset = 0;
  plan::DType dtype = plan::INVALID;
  bool transposed = false; // the file holds the transpose (2-d)
};

/// All files are opened and all lengths checked when it is made; values are
/// read when they are asked for.
class StoredParameters : public ParameterSource {
public:
  /// The ranges that the compiler recorded: in the compiled model's files, or
  /// embedded in the trainer. `all`: else only those of parameters that cannot
  /// be drawn, for --init random. `isNeeded`: where the rest is known, whose
  /// files need not be there.
  static std::unique_ptr<StoredParameters>
  recorded(const plan::Plan &plan, const EmbeddedWeights &embedded, bool all,
           const ParameterChoice &isNeeded = {});
  /// --weights, see WeightsPath.h: an ONNX file (parameters by the names of its
  /// initializers, as compiled or as --export-onnx wrote them), or safetensors
  /// in one file or in shards (by PyTorch's names; buffers that they lack are
  /// those of the compiled model). Of parameters that `isTaken` leaves out it
  /// has nothing. All of safetensors' names may have a prefix (WrappedNames.h).
  static std::unique_ptr<StoredParameters>
  fromPath(const plan::Plan &plan, const std::string &path,
           const EmbeddedWeights &embedded,
           const ParameterChoice &isTaken = {});

  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;

  bool has(int parameter) const override { return ranges[parameter].file; }

  /// All files that values are read from.
  std::vector<std::string> paths() const { return files.paths(); }
  /// What the user should know of the file's names; empty: nothing.
  const std::string &namesText() const { return wrapped; }

private:
  /// Tensors of safetensors files by name, and the file of each.
  using Tensors =
      std::map<std::string,
               std::pair<SafetensorsEntry, const OpenFiles::File *>>;

  StoredParameters(const plan::Plan &plan, ParameterChoice isTaken)
      : plan(plan), isTaken(std::move(isTaken)) {}
  bool takes(const plan::Parameter &parameter) const {
    return !isTaken || isTaken(parameter);
  }
  void addOnnx(const std::string &path);
  void addSafetensors(const std::string &path, const EmbeddedWeights &embedded);
  void addShards(const std::string &index, const EmbeddedWeights &embedded);
  void addTensors(const std::string &path, const Tensors &tensors,
                  const EmbeddedWeights &embedded);
  void addRecorded(const plan::Parameter &parameter,
                   const EmbeddedWeights &embedded);
  void add(const plan::Parameter &parameter, StoredRange range,
           uint64_t length);
  void readTransposed(const plan::Parameter &parameter,
                      const StoredRange &range, int64_t begin, int64_t end,
                      plan::DType dtype, std::byte *destination) const;

  const plan::Plan &plan;
  ParameterChoice isTaken;
  std::string wrapped;
  OpenFiles files;
  std::vector<StoredRange> ranges; // by parameter
};

/// A range that the plan recorded. `parameter`: whose, for errors.
StoredRange locate(const plan::Plan &plan, const plan::Source &source,
                   const EmbeddedWeights &embedded, OpenFiles &files);

/// Throws unless the values at `range`, which locate() found, are those that
/// were compiled, as far as their sample tells.
void checkSample(const plan::Plan &plan, const plan::Source &source,
                 const StoredRange &range);

/// Throws unless the compiled model's file, in which offsets were recorded, is
/// still the same.
void checkModelUnchanged(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
