// What a path given as --weights holds.
#ifndef SHARDC_RUNTIME_WEIGHTS_WEIGHTSPATH_H
#define SHARDC_RUNTIME_WEIGHTS_WEIGHTSPATH_H

#include "runtime/weights/StoredParameters.h"

#include <map>
#include <string>

namespace shardc::runtime {

enum class WeightsFormat {
  Onnx,
  Safetensors,
  SafetensorsIndex, // JSON: which file of several holds a tensor
};

struct WeightsPath {
  std::string file;
  WeightsFormat format;
};

/// The file that `path` means, and its format, judged by its first bytes and
/// only where these say nothing by its name. In a folder that is the file with
/// the name of the compiled `model`, else model.safetensors.index.json, else
/// model.safetensors (as Hugging Face names them). Throws an Error where there
/// is none of these, or the format is a known one that is not read.
WeightsPath findWeights(const std::string &path, const std::string &model,
                        OpenFiles &files);

/// The `weight_map` of an index: files, relative to the index, by the names of
/// the tensors that they hold. Throws an Error with the path.
std::map<std::string, std::string>
readSafetensorsIndex(const OpenFiles::File &index);

} // namespace shardc::runtime

#endif
