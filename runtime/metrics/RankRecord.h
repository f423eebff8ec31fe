// What a rank tells of itself when a run ends.
#ifndef SHARDC_RUNTIME_METRICS_RANKRECORD_H
#define SHARDC_RUNTIME_METRICS_RANKRECORD_H

#include "runtime/base/Profile.h"
#include "runtime/base/Traffic.h"
#include "runtime/metrics/Process.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

struct RankRecord {
  int rank = 0;
  Profile train;                  // of the training program
  std::vector<EntryEvent> events; // of the steps that were traced
  std::vector<int64_t> poolBytes; // allocated, in the order of the plan
  /// Of its process, which has so many ranks; 0: another of them tells.
  int64_t ranksOfProcess = 0;
  ProcessMemory memory;
  Traffic traffic; // of all steps

  /// As bytes, for other ranks of the same program on machines alike.
  std::vector<std::byte> encode() const;
  static RankRecord decode(std::span<const std::byte> bytes);
};

} // namespace shardc::runtime

#endif
