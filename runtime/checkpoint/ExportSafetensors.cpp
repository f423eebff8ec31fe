// --export-safetensors and --export-gradients.
#include "runtime/checkpoint/ExportSafetensors.h"

#include "runtime/DType.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>

namespace shardc::runtime {

constexpr int64_t pieceBytes = int64_t{4} << 20;

static plan::DType exportedType(const plan::Unit &unit,
                                SafetensorsExport::Values values) {
  if (values == SafetensorsExport::Values::Parameters)
    return unit.master_dtype();
  return elementSize(unit.gradient_dtype()) == 2 ? plan::FLOAT32
                                                 : unit.gradient_dtype();
}

SafetensorsExport::SafetensorsExport(const plan::Plan &plan,
                                     const std::string &path, Values values)
    : plan(plan), file(path) {
  std::vector<SafetensorsEntry> entries;
  uint64_t bytes = 0;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    if (!parameter.trainable())
      continue;
    SafetensorsEntry entry;
    entry.name = parameter.name();
    entry.dtype = exportedType(plan.units(parameter.unit()), values);
    dtypes.push_back(entry.dtype);
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
  std::vector<std::byte> piece(pieceBytes);
  for (size_t i = 0; i < parameters.size(); ++i) {
    int64_t size = elementSize(dtypes[i]);
    int64_t elements = elementCount(plan.parameters(parameters[i]));
    for (int64_t begin = 0; begin < elements;) {
      int64_t end = std::min(elements, begin + pieceBytes / size);
      values.read(parameters[i], begin, end, dtypes[i], piece.data());
      file.write(piece.data(), (end - begin) * size);
      begin = end;
    }
  }
  file.commit();
}

} // namespace shardc::runtime
