// What a run reads: samples, the checkpoint that it goes on from, and initial
// values.
#ifndef SHARDC_RUNTIME_TRAIN_RUNINPUTS_H
#define SHARDC_RUNTIME_TRAIN_RUNINPUTS_H

#include "runtime/checkpoint/FolderLock.h"
#include "runtime/checkpoint/Resume.h"
#include "runtime/data/Dataset.h"
#include "runtime/launch/World.h"
#include "runtime/train/InitialValues.h"
#include "runtime/train/Options.h"
#include "runtime/train/ResumedData.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace shardc::runtime {

struct RunInputs {
  /// Opens and checks all of it. Throws an Error for what does not fit the plan
  /// or each other.
  RunInputs(const World &world, const Options &options, const plan::Plan &plan,
            const EmbeddedWeights &embedded);

  /// Null: there is no --eval-data.
  const Dataset *evaluated() const { return evalData ? &*evalData : nullptr; }
  /// Null: the run begins anew.
  const Manifest *manifest() const {
    if (begun)
      return &*begun;
    return resumed.checkpoint ? &resumed.checkpoint->manifest() : nullptr;
  }
  /// Those of the checkpoint included.
  const ParameterSource &initialValues(const plan::Plan &plan);

  Dataset data;
  std::optional<int64_t> samples; // of the data; none: it is not read
  std::optional<Dataset> evalData;
  std::unique_ptr<FolderLock> lock; // see lockCheckpoints()
  Resumed resumed;
  ResumedData met; // how --data meets the checkpoint
  InitialValues values;

private:
  std::unique_ptr<ParameterSource> goneOnFrom;
  std::optional<Manifest> begun; // where the data is new
};

} // namespace shardc::runtime

#endif
