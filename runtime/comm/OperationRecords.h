// The collectives of a group that are on their way, by number.
#ifndef SHARDC_RUNTIME_COMM_OPERATIONRECORDS_H
#define SHARDC_RUNTIME_COMM_OPERATIONRECORDS_H

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace shardc::runtime {

/// Records are used again and never freed before the group is, so that a late
/// notify finds its event. `Operation` has reset().
template <typename Operation> class OperationRecords {
public:
  /// Made with `ranks`.
  explicit OperationRecords(int ranks) : ranks(ranks) {}

  /// Returns the record of the collective with this number; the first rank that
  /// asks for it makes it.
  Operation &at(uint64_t number) {
    std::lock_guard lock(mutex);
    while (first + open.size() <= number) {
      if (unused.empty()) {
        records.push_back(std::make_unique<Operation>(ranks));
        unused.push_back(records.back().get());
      }
      open.push_back(unused.back());
      unused.pop_back();
    }
    return *open[number - first];
  }

  /// Takes back the record of `number`, which all ranks have finished.
  void retire(uint64_t number) {
    std::lock_guard lock(mutex);
    Operation *&slot = open[number - first];
    slot->reset();
    unused.push_back(slot);
    slot = nullptr;
    while (!open.empty() && !open.front()) {
      open.pop_front();
      ++first;
    }
  }

  /// Wakes all ranks that wait, after an abort.
  void wakeAll() {
    std::lock_guard lock(mutex);
    for (Operation *operation : open)
      if (operation)
        operation->event.notify();
  }

private:
  const int ranks;
  std::mutex mutex;
  std::deque<Operation *> open; // number `first` is at the front
  uint64_t first = 0;
  std::vector<Operation *> unused;
  std::vector<std::unique_ptr<Operation>> records;
};

} // namespace shardc::runtime

#endif
