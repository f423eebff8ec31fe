// --export-safetensors and --export-gradients: tensors under PyTorch's names,
// in PyTorch's orientation.
#ifndef SHARDC_RUNTIME_WEIGHTS_EXPORTSAFETENSORS_H
#define SHARDC_RUNTIME_WEIGHTS_EXPORTSAFETENSORS_H

#include "runtime/files/OutputFile.h"
#include "runtime/weights/ParameterSource.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What of the parameters is written: those that are chosen, where there is a
/// choice, and in which type, where that is not theirs.
struct ExportSelection {
  ParameterChoice isChosen = {};
  std::optional<plan::DType> dtype = {};
};

class SafetensorsExport {
public:
  /// Parameters have the type of the master weights, frozen ones their stored
  /// type where that is wider; gradients that of their sums, float32 for those
  /// of 16 bits, which are still to be multiplied.
  enum class Values { Parameters, Gradients };

  /// Opens the output and sees to it that there is room. Parameters are
  /// written, trained or frozen; buffers are the model's own, not the run's.
  SafetensorsExport(const plan::Plan &plan, const std::string &path,
                    Values values = Values::Parameters,
                    const ExportSelection &selection = {});
  /// Writes all values, in chunks, and makes the file appear.
  void write(const ParameterSource &values);
  /// The file, once write() has made it appear; else empty.
  const std::string &written() const { return done; }

private:
  const plan::Plan &plan;
  OutputFile file;
  std::vector<int> parameters;
  std::vector<plan::DType> dtypes; // of `parameters`
  std::string header, done;
};

} // namespace shardc::runtime

#endif
