// The values of --data and --eval-data.
#ifndef SHARDC_RUNTIME_CLI_PARSEDATA_H
#define SHARDC_RUNTIME_CLI_PARSEDATA_H

#include "runtime/data/NamedFile.h"

#include <string>

namespace shardc::runtime::cli {

/// NAME=PATH,KEY=VALUE,...: the path ends where a key begins. Or
/// synthetic:SEED.
NamedFile parseNamedFile(const std::string &flag, const std::string &text);

} // namespace shardc::runtime::cli

#endif
