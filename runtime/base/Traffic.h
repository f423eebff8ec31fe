// Bytes that go between processes.
#ifndef SHARDC_RUNTIME_BASE_TRAFFIC_H
#define SHARDC_RUNTIME_BASE_TRAFFIC_H

#include <cstdint>

namespace shardc::runtime {

/// Of one process.
struct Traffic {
  /// Of messages; headers of the network and heartbeats aside.
  int64_t sent = 0, received = 0;
  /// Of other processes' memory.
  int64_t read = 0;

  Traffic &operator+=(const Traffic &other) {
    sent += other.sent, received += other.received, read += other.read;
    return *this;
  }
  Traffic operator-(const Traffic &other) const {
    return {sent - other.sent, received - other.received, read - other.read};
  }
};

} // namespace shardc::runtime

#endif
