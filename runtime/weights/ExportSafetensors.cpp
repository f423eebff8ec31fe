// --export-safetensors and --export-gradients.
#include "runtime/weights/ExportSafetensors.h"

#include "runtime/base/DType.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/files/Safetensors.h"
#include "runtime/weights/GatheredParameters.h"

#include <algorithm>

namespace shardc::runtime {

/// INVALID for what is not written.
static plan::DType exportedType(const plan::Plan &plan,
                                const plan::Parameter &parameter,
                                SafetensorsExport::Values values) {
  const plan::Unit &unit = plan.units(parameter.unit());
  bool gradients = values == SafetensorsExport::Values::Gradients;
  if (isRunning(parameter) && gradients)
    return plan::INVALID;
  if (parameter.trainable() && gradients)
    return elementSize(unit.gradient_dtype()) == 2 ? plan::FLOAT32
                                                   : unit.gradient_dtype();
  if (parameter.trainable())
    return unit.master_dtype();
  if (!parameter.frozen() || gradients)
    return plan::INVALID;
  plan::DType stored = parameter.source().dtype();
  plan::DType master = plan.precision().master();
  return elementSize(stored) > elementSize(master) ? stored : master;
}

SafetensorsExport::SafetensorsExport(const plan::Plan &plan,
                                     const std::string &path, Values values,
                                     const ExportSelection &selection)
    : plan(plan), file(path) {
  std::vector<SafetensorsEntry> entries;
  uint64_t bytes = 0;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    plan::DType dtype = exportedType(plan, parameter, values);
    if (dtype == plan::INVALID ||
        (selection.isChosen && !selection.isChosen(parameter)))
      continue;
    dtype = selection.dtype.value_or(dtype);
    SafetensorsEntry entry;
    entry.name = parameter.name();
    entry.dtype = dtype;
    dtypes.push_back(dtype);
    entry.shape.assign(parameter.shape().begin(), parameter.shape().end());
    entries.push_back(std::move(entry));
    parameters.push_back(i);
    bytes += elementCount(parameter) * elementSize(dtypes.back());
  }
  header = safetensorsHeader(entries);
  file.checkSpace(header.size() + bytes);
}

void SafetensorsExport::write(const ParameterSource &values) {
  file.write(header.data(), header.size());
  std::vector<std::byte> chunk(chunkBytes);
  for (size_t i = 0; i < parameters.size(); ++i) {
    int64_t size = elementSize(dtypes[i]);
    int64_t elements = elementCount(plan.parameters(parameters[i]));
    for (int64_t begin = 0; begin < elements;) {
      int64_t end = std::min(elements, begin + chunkBytes / size);
      values.read(parameters[i], begin, end, dtypes[i], chunk.data());
      file.write(chunk.data(), (end - begin) * size);
      begin = end;
    }
  }
  file.commit();
  done = file.path();
}

} // namespace shardc::runtime
