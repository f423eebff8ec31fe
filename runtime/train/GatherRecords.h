// The records of all ranks, for the one that reports.
#ifndef SHARDC_RUNTIME_TRAIN_GATHERRECORDS_H
#define SHARDC_RUNTIME_TRAIN_GATHERRECORDS_H

#include "runtime/engine/Executor.h"
#include "runtime/metrics/RankRecord.h"

#include <vector>

namespace shardc::runtime {

/// To be called by all ranks; every rank gets the records of all, in rank
/// order. `traffic`: of its process, in all steps.
std::vector<RankRecord> gatherRecords(Rank &rank, const Traffic &traffic);

} // namespace shardc::runtime

#endif
