// What a rank's engine asks of a device: memory, copies, and programs of
// resolved entries. Nothing above knows threads, streams or whether an address
// can be read by the host.
#ifndef SHARDC_RUNTIME_DEVICE_DEVICE_H
#define SHARDC_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Error.h"
#include "runtime/base/Profile.h"
#include "runtime/device/Entries.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

class RankNote;

/// What went wrong on a device or on its way to others: nothing that a rank was
/// told to do, so that whoever reads it wants to know whose device that was.
class DeviceError : public Error {
public:
  using Error::Error;
};

/// An entry in its place.
struct PlacedEntry {
  entry::Any what;
  /// Of the plan's program; an entry of the plan may become several.
  int planEntry;
  /// Names it in errors: "plan entry NAME (train, forward)".
  std::string place;
  Turn turn = Turn::Each;
  /// nodesNear() of the plan's entry.
  std::string nodes = {};
};

/// What is measured of a program's runs, by entries of the plan.
struct Measurements {
  bool timed = false;     // keep the seconds of `profile`
  bool recording = false; // keep `events`
  Profile profile;
  std::vector<EntryEvent> events;
  RankNote *note = nullptr; // gets the entry that runs
};

/// Entries that are bound to a device, in their order.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;

  /// Throws an Error, without the place, for what the device cannot do.
  virtual void add(PlacedEntry entry) = 0;
  virtual int64_t size() const = 0;

  /// Begins the entries [begin, end) of a micro-batch. Entries take effect in
  /// their order, but for collectives, which go on between their start and
  /// their wait. Throws an Error that names the place of an entry that failed,
  /// here or at the next settle().
  virtual void run(int64_t begin, int64_t end, const StepNumbers &numbers,
                   Measurements &measurements) = 0;
};

/// One rank's. Used by one thread, but for downloads.
class Device {
public:
  virtual ~Device() = default;

  /// `bytes` of zeros, at a multiple of 64, for as long as the device lives;
  /// null for 0 bytes. Throws an Error with `name` when there are no more.
  virtual std::byte *allocate(const std::string &name, int64_t bytes) = 0;
  /// The same, for what collectives read and write: all ranks ask for as much, in
  /// the same order, and before their first collective.
  virtual std::byte *allocateCommunicated(const std::string &name,
                                          int64_t bytes) = 0;
  /// The same for all ranks of a group that are in this process at once; null
  /// where they cannot work on one memory. All of them ask in the same order.
  virtual std::byte *allocateShared(Communicator &group,
                                    const std::string &name, int64_t bytes) = 0;
  /// `bytes` of zeros of the pool host: transfers, upload() and download() alone
  /// take these addresses. A device has one such pool. Throws an Error with
  /// `name` where there is no room for it.
  virtual std::byte *allocateHost(const std::string &name, int64_t bytes) = 0;
  /// Says that of what was allocated for a group, this rank works on these
  /// bytes most.
  virtual void touch(std::byte *begin, int64_t bytes) = 0;

  /// Copies between host and device, behind all that was begun. The host's
  /// memory is free, or filled, on return. Another thread may download what no
  /// entry writes meanwhile.
  virtual void upload(std::byte *to, const void *from, int64_t bytes) = 0;
  virtual void download(void *to, const std::byte *from, int64_t bytes) = 0;

  virtual std::unique_ptr<DeviceProgram> newProgram() = 0;
  /// Returns when all that was begun is done. Throws what went wrong.
  virtual void settle() = 0;

  /// All of the run's programs are bound: it can say, and keep, what it chose for
  /// them.
  virtual void bound() {}

  /// Whether the host is free while programs run, which then are done when the
  /// device has settled, and not when they were begun.
  virtual bool runsBesideHost() const { return false; }
  /// Whether to time entries, which Measurements ask for, leaves programs as
  /// fast as they are.
  virtual bool timesEntriesForFree() const { return true; }

  /// Calls body(begin, end) on ranges of [0, extent) of the host's work for
  /// this rank, on as many of its threads as there are. Ranges have `grain`
  /// work items at least.
  virtual void
  onHost(int64_t extent, int64_t grain,
         const std::function<void(int64_t begin, int64_t end)> &body) = 0;
};

/// Makes the device of a rank.
using DeviceFactory =
    std::function<std::unique_ptr<Device>(Communicator &communicator)>;

} // namespace shardc::runtime

#endif
