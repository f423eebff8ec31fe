// What is wrong in the data of a run, as every device says it.
#ifndef SHARDC_RUNTIME_DEVICE_DATAERRORS_H
#define SHARDC_RUNTIME_DEVICE_DATAERRORS_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Of an id that is no row of a table.
inline std::string wrongId(int64_t id, int64_t position, int64_t rows) {
  return concat("id ", id, " at position ", position,
                " is outside the table's [0, ", rows, ")");
}

/// Of an index into an axis of `size`, where negative ones count from the end.
inline std::string wrongIndex(int64_t index, int64_t position, int64_t size) {
  return concat("index ", index, " at position ", position, " is outside [",
                -size, ", ", size, ")");
}

/// Of a label that is no class.
inline std::string wrongLabel(int64_t label, int64_t row, int64_t classes,
                              int64_t ignored) {
  return concat("label ", label, " in row ", row,
                " of the labels is outside [0, ", classes,
                ") and is not the ignored ", ignored);
}

} // namespace shardc::runtime

#endif
