// What the processes of a run tell each other before they have a transport:
// texts under names, at one place that all of them reach.
#ifndef SHARDC_RUNTIME_STORE_STORE_H
#define SHARDC_RUNTIME_STORE_STORE_H

#include "runtime/base/Error.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

using Clock = std::chrono::steady_clock;
/// When a call gives up. It says then what it waited for, where, and how long.
using Deadline = Clock::time_point;

inline Deadline after(std::chrono::milliseconds time) {
  return Clock::now() + time;
}

/// A deadline passed.
class StoreTimeout : public Error {
public:
  using Error::Error;
};

/// The store is gone: who served it has ended.
class StoreLost : public Error {
public:
  using Error::Error;
};

/// Any thread may call any of it, also while another waits. Throws a
/// StoreTimeout at the deadline, and a StoreLost at once.
class Store {
public:
  virtual ~Store() = default;
  /// Where it is, for people: "127.0.0.1:29500".
  virtual std::string name() const = 0;

  /// Returns when the store has it.
  virtual void set(const std::string &key, const std::string &value,
                   Deadline deadline) = 0;
  /// Waits until the key is there.
  virtual std::string get(const std::string &key, Deadline deadline) = 0;
  /// Adds to a number, which is 0 where the key is not there, and returns the
  /// sum. get() has it in decimal.
  virtual int64_t add(const std::string &key, int64_t number,
                      Deadline deadline) = 0;
  /// Waits until all keys are there.
  virtual void wait(const std::vector<std::string> &keys,
                    Deadline deadline) = 0;
  /// Whether the key is there now.
  virtual bool has(const std::string &key, Deadline deadline) = 0;
  /// Sets the key to `desired` where its value is `expected`; an empty one is
  /// also that of a key that is not there. Returns what it has then. Of several
  /// that come with an empty `expected`, the first wins, and all learn who.
  virtual std::string compareSet(const std::string &key,
                                 const std::string &expected,
                                 const std::string &desired,
                                 Deadline deadline) = 0;
};

} // namespace shardc::runtime

#endif
