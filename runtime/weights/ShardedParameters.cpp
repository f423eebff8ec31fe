// Parameters from pieces.
#include "runtime/weights/ShardedParameters.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

namespace fs = std::filesystem;

std::vector<std::string> shardFiles(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::string name = each->path().filename().string();
    if (name == "model.safetensors" || name == "model.safetensors.index.json")
      return {};
    if (name.ends_with(".safetensors"))
      files.push_back(each->path().string());
  }
  std::ranges::sort(files);
  return files;
}

void checkTensor(const StoredTensors &tensors, const std::string &key,
                 const plan::Parameter &parameter, const std::string &folder) {
  if (!tensors.has(key))
    fail(folder, ": has no tensor ", key, ", which this trainer trains",
         "; if it was frozen there, give --weights that and --weights-match "
         "for the others, and begin anew");
  std::vector<int64_t> shape(parameter.shape().begin(),
                             parameter.shape().end());
  if (tensors.shapeOf(key) != shape)
    fail(folder, ": tensor ", key, " has the shape ",
         shapeText(tensors.shapeOf(key)), ", and this trainer expects ",
         shapeText(shape));
}

ShardedParameters::ShardedParameters(const plan::Plan &plan,
                                     const std::string &folder,
                                     const ParameterChoice &isTaken)
    : plan(plan), files(shardFiles(folder)), tensors(files) {
  for (const plan::Parameter &parameter : plan.parameters())
    if (isTaken && !isTaken(parameter))
      continue;
    else if (parameter.trainable() || tensors.has(parameter.name()))
      checkTensor(tensors, parameter.name(), parameter, folder);
}

void ShardedParameters::read(int parameter, int64_t begin, int64_t end,
                             plan::DType dtype, std::byte *destination) const {
  const std::string &name = plan.parameters(parameter).name();
  if (tensors.has(name))
    tensors.read(name, begin, end, dtype, destination);
  else
    others->read(parameter, begin, end, dtype, destination);
}

bool ShardedParameters::has(int parameter) const {
  return tensors.has(plan.parameters(parameter).name()) ||
         (others && others->has(parameter));
}

} // namespace shardc::runtime
