// What the user should know of how parameters were recovered.
#include "frontend/onnx/parameters/ParameterWarnings.h"
#include "frontend/onnx/parameters/Roles.h"

using llvm::ArrayRef;

namespace shardc::onnx {

std::vector<std::string> parameterWarnings(const ParameterTable &parameters,
                                           bool isPyTorchs) {
  std::vector<std::string> warnings = roleWarnings(parameters.roles());
  auto few = [](ArrayRef<std::string> names) { return listFew(quoted(names)); };
  if (ArrayRef<std::string> lost = parameters.lost(); !lost.empty())
    warnings.push_back(
        "the exporter removed parameters from the graph, which are not "
        "trained: " +
        few(lost) +
        "; torch.onnx.export with optimize=False removes only what forward "
        "does not read");
  if (ArrayRef<std::string> unused = parameters.unused(); !unused.empty())
    warnings.push_back(
        "no node reads the parameters " + few(unused) +
        ": they are tied to others, PyTorch does not use them, or the "
        "exporter removed them; what was removed is not trained "
        "(torch.onnx.export with optimize=False removes only what forward "
        "does not read)");
  for (const std::string &name : parameters.reshaped())
    warnings.push_back(
        "parameter '" + name +
        "' is stored in the shape that the exporter's view left, and is "
        "exported in that shape (torch.onnx.export with optimize=False keeps "
        "PyTorch's)");
  if (ArrayRef<std::string> unnamed = parameters.unnamed(); !unnamed.empty())
    warnings.push_back(
        "trained under names that the exporter made "
        "up: " +
        few(unnamed) +
        (isPyTorchs
             ? "; it may have computed them from the model's parameters: "
               "torch.onnx.export with do_constant_folding=False keeps these"
             : "; it may have computed them from the model's parameters"));
  if (ArrayRef<std::string> unchanged = parameters.unchanged();
      !unchanged.empty())
    warnings.push_back(
        "PyTorch's forward pass changes the buffers " + few(unchanged) +
        ", and the file does not; they keep their values in training: of such "
        "state only the running statistics of a BatchNormalization are moved "
        "(for spectral_norm, remove_parametrizations before the export)");
  for (const auto &[name, row] : parameters.padded())
    warnings.push_back(
        "row " + std::to_string(row) + " of '" + name +
        "' is zeros, as padding_idx leaves it, and is trained as every other: "
        "the file does not tell" +
        (isPyTorchs ? "; torch.onnx.export with dynamo=True keeps "
                      "padding_idx, and so does shardc export"
                    : ""));
  if (ArrayRef<std::string> several = parameters.suspicious(); !several.empty())
    warnings.push_back(
        "several modules read each of '" + llvm::join(several, "', '") +
        "', which is one parameter: if they were several that had equal "
        "values, " +
        (isPyTorchs ? "torch.onnx.export with dynamo=True and optimize=False "
                      "keeps them apart, and "
                    : "") +
        "--untie REGEX gives each module its own");
  return warnings;
}

} // namespace shardc::onnx
