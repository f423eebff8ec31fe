// Memory that the ranks of one communicator share, be they threads or processes:
// who they are, how far each has come, and room for what they exchange. It has
// no name, and is gone with the last of them.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_SEGMENT_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_SEGMENT_H

#include "runtime/cuda/api/Nccl.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace shardc::test::cuda {

using namespace shardc::cuda;

/// A call as the ranks compare it: two are the same if all but the text is.
struct CallSummary {
  struct Other {
    uint64_t communicator, issued;
  };
  uint64_t position = 0; // in its lane
  uint32_t kind = 0, type = 0, op = 0;
  uint64_t count = 0, offset = 0;
  /// How many calls this rank had issued on its other communicators.
  Other others[8] = {};
  char text[160] = "";
};

/// What ranks meet at: collectives in streams, and calls of the host.
enum class Lane { Stream, Host };

/// A process, told from a later one of the same id.
struct ProcessId {
  int32_t id = 0;
  uint64_t startTime = 0;

  static ProcessId own();
  /// False of one that has ended and waits to be collected.
  bool isAlive() const;
};

class Segment {
public:
  static constexpr size_t areaBytes = 256 << 10;

  /// What ncclUniqueId holds.
  struct Id {
    char magic[16];
    ProcessId maker; // holds `descriptor`, until all ranks are there
    int32_t descriptor;
    uint64_t nonce;
  };
  static Id make();

  /// Joins as `rank`. Throws a std::runtime_error where the maker has ended, or
  /// the ranks disagree on their number.
  Segment(const Id &id, int ranks, int rank, const std::string &device);
  ~Segment();
  Segment(const Segment &) = delete;

  /// Waits for all ranks to come as far as this one. Calls `tick` now and then,
  /// and returns false when that does.
  bool meet(Lane lane, const std::function<bool()> &tick);
  /// Says to the others what this rank is about to do; to be met for.
  void say(Lane lane, const CallSummary &call);
  const CallSummary &said(Lane lane, int rank) const;
  /// One of a rank's two rooms.
  std::byte *area(int rank, int which) const;

  /// Wakes all that wait.
  void ring();
  void markAborted();
  void markLeft();
  bool hasAborted(int rank) const;
  bool hasLeft(int rank) const;
  bool hasJoined(int rank) const;
  bool hasCome(Lane lane, int rank) const; // as far as this rank
  ProcessId processOf(int rank) const;
  std::string deviceOf(int rank) const;
  /// To be called when all have joined: the maker closes its descriptor.
  void allHaveJoined();

  const Id id;
  const int ranks, rank;

private:
  struct Header;
  struct Member;
  Header &header() const { return *reinterpret_cast<Header *>(base); }
  Member &member(int rank) const;

  std::byte *base = nullptr;
  size_t bytes = 0;
  uint64_t met[2] = {};
};

} // namespace shardc::test::cuda

#endif
