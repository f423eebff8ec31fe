// What a flag's value is in a file, as it would be on a command line.
#ifndef SHARDC_RUNTIME_FLAGS_CONFIGVALUES_H
#define SHARDC_RUNTIME_FLAGS_CONFIGVALUES_H

#include "runtime/flags/ConfigFile.h"
#include "runtime/flags/FlagTable.h"

#include <string>
#include <vector>

namespace shardc::runtime::cli {

struct ConfigValue {
  std::string text;
  int64_t line;
};

/// The values that `node` gives a flag: one, but for lists. Throws an Error that
/// begins with file and line where it is of another kind.
///
/// Of a list, tables are written out: {ids: A, labels: {path: B, pad: 0}} of
/// --data NAME=PATH becomes ids=A and labels=B,pad=0; {match: A, lr-scale: 2}
/// of others match=A,lr-scale=2. What is true there is a key without a value.
std::vector<ConfigValue> configValues(const Flag &flag, const ConfigNode &node,
                                      const std::string &path);

} // namespace shardc::runtime::cli

#endif
