// From options to a trainer: the phases in order, each ending in a verified
// module.
#ifndef SHARDC_TOOLS_SHARDC_COMPILER_H
#define SHARDC_TOOLS_SHARDC_COMPILER_H

#include "tools/shardc/Options.h"

namespace shardc {

/// Compiles; errors are one line each on stderr. Returns the process's exit
/// code: 0, or 1 after an error.
int compile(const Options &options);

/// Plans for the first of the targets, and prints what explains `options.what`.
/// Errors and exit codes as of compile(); 1 also where the plan has nothing of
/// that name.
int explain(const Options &options);

} // namespace shardc

#endif
