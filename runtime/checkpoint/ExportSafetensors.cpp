// --export-safetensors and --export-gradients.
#include "runtime/checkpoint/ExportSafetensors.h"

#include "runtime/DType.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>

namespace shardc::runtime {

constexpr int64_t pieceBytes = int64_t{4} << 20;

SafetensorsExport::SafetensorsExport(const plan::Plan &plan,
                                     const std::string &path)
    : plan(plan), file(path) {
  std::vector<SafetensorsEntry> entries;
  uint64_t bytes = 0;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    if (!parameter.trainable())
      continue;
    SafetensorsEntry entry;
    entry.name = parameter.name();
    entry.dtype = parameter.dtype();
    entry.shape.assign(parameter.shape().begin(), parameter.shape().end());
    entries.push_back(std::move(entry));
    parameters.push_back(i);
    bytes += elementCount(parameter) * elementSize(parameter.dtype());
  }
  header = safetensorsHeader(entries);
  file.checkSpace(header.size() + bytes);
}

void SafetensorsExport::write(const ParameterSource &values) {
  file.write(header.data(), header.size());
  std::vector<std::byte> piece(pieceBytes);
  for (int index : parameters) {
    const plan::Parameter &parameter = plan.parameters(index);
    int64_t size = elementSize(parameter.dtype());
    int64_t elements = elementCount(parameter);
    for (int64_t begin = 0; begin < elements;) {
      int64_t end = std::min(elements, begin + pieceBytes / size);
      values.read(index, begin, end, parameter.dtype(), piece.data());
      file.write(piece.data(), (end - begin) * size);
      begin = end;
    }
  }
  file.commit();
}

} // namespace shardc::runtime
