// What goes to stdout.
#ifndef SHARDC_RUNTIME_METRICS_PRINT_H
#define SHARDC_RUNTIME_METRICS_PRINT_H

#include <string>

namespace shardc::runtime {

/// Prints at once. After something could not be printed the rest is left out,
/// and the run goes on: its results do not depend on who watches. A pipe that
/// nobody reads any more ends it, as the SIGPIPE that it is (Signals.h).
void print(const std::string &text);

/// Throws an Error where something could not be printed. `meanwhile`: what
/// became of the run, for the end of the line.
void checkPrinted(const std::string &meanwhile);

} // namespace shardc::runtime

#endif
