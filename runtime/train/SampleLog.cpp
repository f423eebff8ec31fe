// The samples of all ranks, put together by a sum with zeros.
#include "runtime/train/SampleLog.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardc::runtime {

void SampleLog::add(int64_t microBatch, std::span<const int64_t> loaded) {
  int64_t part = microBatch * communicator.size() + communicator.rank();
  std::ranges::copy(loaded, samples.begin() + part * settings.batch);
}

void SampleLog::write(int64_t step, const Cursor &begin, MetricsFile *file,
                      Terminal &terminal) {
  Segment segment{samples.data(), static_cast<int64_t>(samples.size()),
                  plan::INT64};
  communicator.allReduce({&segment, 1});
  if (file) {
    nlohmann::ordered_json byRank = nlohmann::ordered_json::array();
    int ranks = communicator.size();
    for (int rank = 0; rank < ranks; ++rank) {
      nlohmann::ordered_json microBatches = nlohmann::ordered_json::array();
      for (int64_t i = 0; i < settings.microBatches; ++i) {
        auto first = samples.begin() + (i * ranks + rank) * settings.batch;
        microBatches.push_back(
            std::vector<int64_t>(first, first + settings.batch));
      }
      byRank.push_back(std::move(microBatches));
    }
    std::string failure = file->write({{"step", step},
                                       {"epoch", begin.epoch},
                                       {"position", begin.position},
                                       {"samples", std::move(byRank)}});
    if (!failure.empty())
      terminal.warning(failure + "; the run goes on without these lines");
  }
  std::ranges::fill(samples, 0);
}

} // namespace shardc::runtime
