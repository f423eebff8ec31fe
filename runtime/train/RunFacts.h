// What all processes of a run must have alike.
#ifndef SHARDC_RUNTIME_TRAIN_RUNFACTS_H
#define SHARDC_RUNTIME_TRAIN_RUNFACTS_H

#include "runtime/data/Dataset.h"
#include "runtime/launch/World.h"
#include "runtime/train/Options.h"
#include "runtime/train/RunSettings.h"

namespace shardc::runtime {

/// The flags that change numbers, the samples (of files their
/// fingerprints: paths may differ), and where the run goes on.
/// `evalData` may be null.
Facts factsOf(const Options &options, const RunSettings &settings,
              const Dataset &data, const Dataset *evalData);

} // namespace shardc::runtime

#endif
