// Intervals that flags name: steps, epochs and durations.
#ifndef SHARDC_RUNTIME_CLI_PARSESTEPS_H
#define SHARDC_RUNTIME_CLI_PARSESTEPS_H

#include <cstdint>
#include <string>

namespace shardc::runtime::cli {

/// "500" or "2e": the one or the other of both numbers.
void parseStepsOrEpochs(const std::string &flag, const std::string &text,
                        int64_t &steps, int64_t &epochs);

/// Seconds of "90", "90s", "30m" or "12h".
double parseDuration(const std::string &flag, const std::string &text);

} // namespace shardc::runtime::cli

#endif
