// Where a run's initial values come from: --weights, --init, or what the trainer
// was compiled with.
#ifndef SHARDC_RUNTIME_TRAIN_INITIALVALUES_H
#define SHARDC_RUNTIME_TRAIN_INITIALVALUES_H

#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/train/Options.h"
#include "runtime/weights/DividedParameters.h"
#include "runtime/weights/RandomParameters.h"
#include "runtime/weights/ShardedParameters.h"
#include "runtime/weights/StoredParameters.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

struct InitialValues {
  /// Of --weights, or of the compiled model; with `divided` of what the rest
  /// needs of that. Always there.
  std::unique_ptr<StoredParameters> stored;
  std::unique_ptr<ShardedParameters> sharded;
  std::unique_ptr<RandomParameters> random;
  std::unique_ptr<StoredParameters> chosen; // of --weights with --weights-match
  std::unique_ptr<DividedParameters> divided; // of these and the rest

  const ParameterSource &source() const;
  /// The files that are read.
  std::vector<std::string> paths() const;
  /// What the user should know of the files' names; empty: nothing.
  std::string namesText() const;
};

/// The parameters in whose names a flag's regular expression is found; without
/// one all (null). Throws an Error where there is none.
ParameterChoice choiceOf(const char *flag,
                         const std::optional<std::string> &pattern,
                         const plan::Plan &plan);

/// Of all parameters that `resumed` (null: the run begins anew) does not have.
/// Throws an Error where a file is not there, or has not what the plan asks for.
InitialValues openInitialValues(const Options &options, const plan::Plan &plan,
                                const EmbeddedWeights &embedded,
                                const StoredCheckpoint *resumed);

} // namespace shardc::runtime

#endif
