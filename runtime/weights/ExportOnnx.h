// --export-onnx: the compiled graph, names unchanged, with the trained values.
#ifndef SHARDC_RUNTIME_WEIGHTS_EXPORTONNX_H
#define SHARDC_RUNTIME_WEIGHTS_EXPORTONNX_H

#include "runtime/files/FileUses.h"
#include "runtime/files/OutputFile.h"
#include "runtime/weights/ParameterSource.h"
#include "runtime/weights/StoredParameters.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Adds the compiled model and its external data to what is read.
void readModel(FileUses &uses, const plan::Plan &plan);

/// Writes the template with the plan's exported initializers. Values lie inside
/// the file, as raw data, as long as it stays below `mostInlineBytes`; else the
/// larger ones lie beside it in PATH.data, as external data.
class OnnxExport {
public:
  /// Finds the initializers that are copied; writes nothing. `modelTemplate`
  /// must stay where it is.
  OnnxExport(const plan::Plan &plan, std::span<const std::byte> modelTemplate,
             const EmbeddedWeights &embedded, const std::string &path,
             uint64_t mostInlineBytes = defaultInlineBytes);
  /// The files that it will write: one or two.
  std::vector<std::string> outputs() const;
  /// Opens the outputs and sees to it that there is room.
  void open();
  /// Writes all values, in chunks, and makes the files appear. Opens them where
  /// that was not done.
  void write(const ParameterSource &values);
  /// The file, once write() has made it appear; else empty.
  const std::string &written() const { return done; }

  /// protobuf messages end at 2 GiB.
  static constexpr uint64_t defaultInlineBytes =
      (uint64_t{2} << 30) - (1 << 20);

private:
  struct Initializer {
    const plan::ExportedInitializer *plan;
    StoredRange copied;    // of an initializer that is no parameter
    uint64_t bytes = 0;    // of its values
    bool external = false; // its values lie in the data file
    uint64_t offset = 0;   // there
    std::string message;   // TensorProto without raw values
  };

  void locateInitializers(const EmbeddedWeights &embedded);
  void splitTemplate(std::span<const std::byte> modelTemplate);
  void describe(Initializer &initializer) const;
  void writeValues(const Initializer &initializer,
                   const ParameterSource &values, OutputFile &to) const;
  void writeTransposed(const Initializer &initializer,
                       const ParameterSource &values, OutputFile &to) const;

  const plan::Plan &plan;
  OpenFiles files;
  std::string path, dataPath; // the latter empty: all values are inline
  uint64_t bytes = 0;         // of both files, at most
  std::optional<OutputFile> file, dataFile;
  std::string done;
  std::vector<Initializer> initializers;
  std::vector<std::span<const std::byte>>
      modelParts; // fields of the model besides the graph
  std::vector<std::span<const std::byte>>
      graphParts; // fields of the graph besides those initializers
};

} // namespace shardc::runtime

#endif
