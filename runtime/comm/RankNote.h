// What the ranks of a run are at, as each notes it while it goes: so that a run
// that stands still can say where, and who made it.
#ifndef SHARDC_RUNTIME_COMM_RANKNOTE_H
#define SHARDC_RUNTIME_COMM_RANKNOTE_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

enum class RankPhase : uint8_t {
  Starting, // until the first step
  Step,     // or between two
  Samples,  // waits for its batch
  Evaluation,
  Saving,
  Writing,  // exports, metrics
  Checking, // a step, against the unsharded one
  Ended,
};

/// A note as it is told to other processes.
struct RankNoteValue {
  uint64_t word = 0;  // phase, step and entry
  uint32_t round = 0; // changes where the word may come to be the same again
  uint32_t waits = 0; // 1: in a collective, for others

  RankPhase phase() const { return RankPhase(word >> 60); }
  int64_t step() const { return int64_t(word >> entryBits & stepMask); }
  /// Of the plan's program that runs in this phase; negative: of none yet.
  int entry() const { return int(word & entryMask) - 1; }
  /// Whether a rank has moved from one to the other.
  bool isAt(const RankNoteValue &other) const {
    return word == other.word && round == other.round;
  }

  static constexpr int entryBits = 24;
  static constexpr uint64_t entryMask = (1u << entryBits) - 1;
  static constexpr uint64_t stepMask = (uint64_t(1) << (60 - entryBits)) - 1;
};

/// Written by the rank's thread, for an entry with one relaxed store; read by
/// any.
class alignas(64) RankNote {
public:
  void enter(RankPhase phase, int64_t step) {
    base = uint64_t(phase) << 60 | (uint64_t(step) & RankNoteValue::stepMask)
                                       << RankNoteValue::entryBits;
    word.store(base, std::memory_order_relaxed);
    tick();
  }
  /// Runs an entry of the plan.
  void entry(int index) {
    word.store(base | (uint64_t(index + 1) & RankNoteValue::entryMask),
               std::memory_order_relaxed);
  }
  /// It goes on with what it was at.
  void tick() { round.fetch_add(1, std::memory_order_relaxed); }
  void waits(bool now) { waiting.store(now, std::memory_order_relaxed); }

  RankNoteValue value() const {
    return {word.load(std::memory_order_relaxed),
            round.load(std::memory_order_relaxed),
            waiting.load(std::memory_order_relaxed)};
  }

private:
  uint64_t base = 0;
  std::atomic<uint64_t> word{0};
  std::atomic<uint32_t> round{0};
  std::atomic<bool> waiting{false};
};

/// A rank is at something else for a while.
class InPhase {
public:
  InPhase(RankNote &note, RankPhase phase) : note(note), before(note.value()) {
    note.enter(phase, before.step());
  }
  ~InPhase() { note.enter(before.phase(), before.step()); }
  InPhase(const InPhase &) = delete;
  InPhase &operator=(const InPhase &) = delete;

private:
  RankNote &note;
  RankNoteValue before;
};

/// Where a rank is, in words.
using PlaceText = std::function<std::string(const RankNoteValue &)>;

/// Of the ranks of one process.
struct ProcessNotes {
  std::vector<RankNoteValue> ranks;
  uint64_t moves = 0; // messages that collectives have begun
  /// When it told this; the epoch: never.
  std::chrono::steady_clock::time_point told{};

  /// The rank to name where the process holds the others up: one that waits for
  /// nobody, where there is one.
  int cause() const {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (!ranks[rank].waits)
        return int(rank);
    return 0;
  }
};

} // namespace shardc::runtime

#endif
