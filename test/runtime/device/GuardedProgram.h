// A program of a guarded device: each entry is held against what is under way
// before it is queued.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_GUARDEDPROGRAM_H
#define SHARDC_TEST_RUNTIME_DEVICE_GUARDEDPROGRAM_H

#include "runtime/base/Error.h"
#include "runtime/cpu/bind/Bind.h"
#include "test/runtime/device/GuardedDevice.h"

#include <deque>
#include <map>
#include <random>

namespace shardc::runtime {

class GuardedProgram final : public DeviceProgram {
public:
  explicit GuardedProgram(GuardedDevice &device)
      : device(device), draw(device.seed) {}
  /// Work that is under way refers to its entries.
  ~GuardedProgram() override {
    device.communicator.leave();
    try {
      device.settle();
    } catch (const Error &) { // said where the run ended
    }
  }

  void add(PlacedEntry entry) override;
  int64_t size() const override { return std::ssize(entries); }
  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measurements) override;

private:
  struct Operand {
    Tensor tensor; // as the engine has it
    entry::Access access;
    const char *name;
  };
  struct Bound {
    PlacedEntry placed;
    std::vector<Operand> operands;
    cpu::Task task; // on the device's own addresses
  };
  /// A collective that goes on.
  struct Open {
    const Bound *start;
    bool isDone = false; // its results are there; others may still read
  };

  void check(const Bound &entry);
  void checkAgainst(const Bound &entry, const Operand &operand,
                    const Open &open);
  void markWritten(const Bound &entry);
  [[noreturn]] static void complain(const Bound &entry,
                                    const std::string &text) {
    throw Error(entry.placed.place + ": " + text);
  }

  GuardedDevice &device;
  std::mt19937_64 draw;
  std::vector<std::unique_ptr<Bound>> entries;
  std::map<uint32_t, Open> open; // by id
  /// Starts that communication has not been given yet, in their order.
  struct Held {
    uint32_t id;
    std::function<void()> start;
    int64_t entriesLeft; // that run before it begins, at most
  };
  std::deque<Held> held;

  void release(size_t count);
};

} // namespace shardc::runtime

#endif
