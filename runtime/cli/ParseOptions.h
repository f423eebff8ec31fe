// The command line of a trainer.
#ifndef SHARDC_RUNTIME_CLI_PARSEOPTIONS_H
#define SHARDC_RUNTIME_CLI_PARSEOPTIONS_H

#include "runtime/plan.pb.h"
#include "runtime/train/Options.h"

namespace shardc::runtime {

/// Reads the command line and checks all that can be checked without a plan.
/// Throws an Error of one line. `plan`: for the part of --help that depends on
/// the model; null where there is none.
Options parseOptions(int argc, const char *const *argv, const plan::Plan *plan);

} // namespace shardc::runtime

#endif
