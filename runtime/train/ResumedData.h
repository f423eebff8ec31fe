// How a run that goes on meets the data of the one that was saved.
#ifndef SHARDC_RUNTIME_TRAIN_RESUMEDDATA_H
#define SHARDC_RUNTIME_TRAIN_RESUMEDDATA_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/Options.h"

#include <string>

namespace shardc::runtime {

struct ResumedData {
  /// Whether it is other data, or in another order, which --new-data allows: it
  /// is begun at its first sample.
  bool isNew = false;
  std::string warning; // empty: there is none
  bool isSame = false; // as far as can be seen

  /// Throws an Error where the run would take other samples than the one that
  /// was saved, and --new-data does not allow it. Files of other content and as
  /// many samples are a warning.
  static ResumedData of(const Options &options, const Dataset &data,
                        const Manifest &saved);
};

/// What a run goes on from whose data is new: the manifest, behind no sample.
Manifest withNewData(Manifest saved, const Options &options,
                     const Dataset &data);

} // namespace shardc::runtime

#endif
