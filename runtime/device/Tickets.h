// The collectives of a program that are on their way, by the plan's ids.
#ifndef SHARDC_RUNTIME_DEVICE_TICKETS_H
#define SHARDC_RUNTIME_DEVICE_TICKETS_H

#include "runtime/device/Entries.h"

#include <unordered_map>

namespace shardc::runtime {

/// Starts and awaits collectives of communicators whose waits block.
class Tickets {
public:
  void start(const entry::StartAllGather &entry);
  void start(const entry::StartReduceScatter &entry, const StepNumbers &numbers,
             ResultReader *reader = nullptr);
  void start(const entry::StartAllReduce &entry, const StepNumbers &numbers);
  void start(const entry::StartAllToAll &entry);
  void start(const entry::StartBarrier &entry);
  void wait(const entry::Wait &entry);
  void finish(const entry::Finish &entry);

private:
  struct Started {
    Communicator *group;
    Communicator::Ticket ticket;
  };
  void keep(uint32_t id, Communicator *group, Communicator::Ticket ticket);

  std::unordered_map<uint32_t, Started> started; // and not waited for
  std::unordered_map<uint32_t, Started> open;    // and not finished
};

} // namespace shardc::runtime

#endif
