// What --dry-run checks beside all that is checked before every run.
#ifndef SHARDC_RUNTIME_TRAIN_DRYRUN_H
#define SHARDC_RUNTIME_TRAIN_DRYRUN_H

#include "runtime/train/Trainer.h"

#include <string>

namespace shardc::runtime {

/// The most checkpoints that lie on a disk at once, one being written among
/// them; of those that a clock decides about, one where all are kept.
int64_t checkpointsAtOnce(const Options &options, const RunSettings &settings);

/// Every value of the data, the labels among them; the space for checkpoints;
/// that all processes have one folder for them. Trains nothing and leaves
/// nothing behind. Returns what was found, in lines; throws an Error for what
/// would end the run.
std::string checkDryRun(Run &run);

} // namespace shardc::runtime

#endif
