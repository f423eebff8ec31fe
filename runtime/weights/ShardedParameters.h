// Initial values from a folder that a distributed checkpoint was written to:
// each parameter in pieces, in any number of safetensors files.
#ifndef SHARDC_RUNTIME_WEIGHTS_SHARDEDPARAMETERS_H
#define SHARDC_RUNTIME_WEIGHTS_SHARDEDPARAMETERS_H

#include "runtime/weights/ParameterSource.h"
#include "runtime/weights/StoredTensors.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The safetensors files of a folder, sorted; none where it is no folder, or
/// one with the names of a whole model (model.safetensors and its index).
std::vector<std::string> shardFiles(const std::string &folder);

/// Parameters by PyTorch's names. The files may lack what is not trained.
class ShardedParameters final : public ParameterSource {
public:
  /// Throws an Error where a trained parameter is missing or has another shape.
  /// `isTaken`: of others it has nothing; empty: of none.
  ShardedParameters(const plan::Plan &plan, const std::string &folder,
                    const ParameterChoice &isTaken);
  /// Whether the files have it.
  bool holds(const plan::Parameter &parameter) const {
    return tensors.has(parameter.name());
  }
  /// From now on it has what the files lack from there.
  void completeFrom(const ParameterSource &source) { others = &source; }

  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;
  bool has(int parameter) const override;
  const std::vector<std::string> &paths() const { return files; }

private:
  const plan::Plan &plan;
  std::vector<std::string> files;
  StoredTensors tensors;
  const ParameterSource *others = nullptr;
};

/// Throws an Error unless the tensor `key` of the files in `folder` is there
/// and has the parameter's shape.
void checkTensor(const StoredTensors &tensors, const std::string &key,
                 const plan::Parameter &parameter, const std::string &folder);

} // namespace shardc::runtime

#endif
