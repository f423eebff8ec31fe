// What the mains of tools with commands share.
#ifndef SHARDC_TOOLS_TOOLMAIN_H
#define SHARDC_TOOLS_TOOLMAIN_H

#include "runtime/flags/CommandLine.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Reads the words, runs the command and returns the exit code: 2 where the
/// words are wrong, and the command's, with one line, for what it throws. `name`
/// begins each error and must stay.
int toolMain(const char *name, const std::string &description,
             const std::vector<cli::Command> &commands, int argc, char **argv);

} // namespace shardc::runtime

#endif
