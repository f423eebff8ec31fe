// What a run is, for outputs that compare runs: names and values.
#ifndef SHARDC_RUNTIME_TRAIN_DESCRIPTION_H
#define SHARDC_RUNTIME_TRAIN_DESCRIPTION_H

#include "runtime/train/Trainer.h"

#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// The model, how it is cut and computed, and the flags without their dashes:
/// first what holds by default as well, then what else was given.
std::vector<std::pair<std::string, std::string>> describe(const Run &run);

/// Bytes that a rank allocates, by pool; none that is empty.
std::vector<std::pair<std::string, int64_t>> memoryOf(const Run &run);

/// The words behind the program's name, as a shell takes them.
std::string commandText(const Options &options);

/// Whose process it is; "unknown" where the system does not say.
std::string userName();

} // namespace shardc::runtime

#endif
