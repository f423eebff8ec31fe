// What a run does about checkpoints before its first step.
#ifndef SHARDC_RUNTIME_TRAIN_OPENCHECKPOINTS_H
#define SHARDC_RUNTIME_TRAIN_OPENCHECKPOINTS_H

#include "runtime/checkpoint/FolderLock.h"
#include "runtime/launch/Launch.h"
#include "runtime/train/Trainer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What every checkpoint of the run will say of it. `samples`: of its data;
/// none: it reads none.
Manifest manifestOf(const Options &options, const plan::Plan &plan,
                    const RunSettings &settings,
                    const StoredCheckpoint *resumed, const Dataset &data,
                    std::optional<int64_t> samples);

/// Throws an Error where --weights or --init says what the checkpoint that the
/// run goes on from says as well, but for --resume auto, whose first run begins
/// with it.
void checkWeightsAreRead(const Options &options, const plan::Plan &plan,
                         const StoredCheckpoint &resumed);

/// Flags by which the saved run learned and which this one is not given, as
/// "--lr 0.1, --clip 1"; empty: there are none. PyTorch's optimizers and
/// schedulers bring theirs with their state.
std::string forgottenFlags(const Manifest &saved, const Options &options);

/// Throws an Error where what is frozen is not as it was in the run that this
/// one goes on from, and adds to the run's manifest what it is. Returns
/// warnings. Of the process that leads; nothing has been written yet.
std::vector<std::string> checkFrozenValues(Run &run);

/// Before anything is looked for in the folder of --checkpoint-dir: another run
/// might write there meanwhile. Null where there is no folder yet, or none is
/// written.
std::unique_ptr<FolderLock> lockCheckpoints(const World &world,
                                            const Options &options);

/// Makes the folder, before the run begins, locks it unless that was done, and
/// sets aside what the run does not go on from.
void openCheckpoints(Run &run, std::unique_ptr<FolderLock> &lock);

/// Where a launcher has started the run again, and it had saved something,
/// --resume becomes auto, whatever it was: that has been followed.
void resumeAfterRestart(const Launch &launch, Options &options);

} // namespace shardc::runtime

#endif
