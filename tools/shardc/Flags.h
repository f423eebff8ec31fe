// The table of shardc's flags.
#ifndef SHARDC_TOOLS_SHARDC_FLAGS_H
#define SHARDC_TOOLS_SHARDC_FLAGS_H

#include "tools/shardc/OptionTable.h"
#include "tools/shardc/Options.h"

#include <string>
#include <vector>

namespace shardc {

/// What is read before it is checked.
struct Said {
  Options options;
  std::vector<std::string> dims;
  std::string compileTo = "trainer";
};

/// Puts the flags of a command into `table`, which reads them into `said`.
/// `remarkPasses`: the passes that --remarks can ask.
void declareFlags(Command command, const std::string &remarkPasses,
                  OptionTable &table, Said &said);

} // namespace shardc

#endif
