// What each process tells the others, again and again, of where its ranks are.
#ifndef SHARDC_RUNTIME_COMM_HEARTBEATS_H
#define SHARDC_RUNTIME_COMM_HEARTBEATS_H

#include "runtime/comm/RankNote.h"
#include "runtime/comm/Transport.h"

#include <functional>
#include <mutex>
#include <vector>

namespace shardc::runtime {

/// Used by the network's driver, but for notes().
class Heartbeats {
public:
  using Clock = std::chrono::steady_clock;

  /// `own`: the notes of this process, which has as many ranks as each other
  /// one. `interval`: between two messages to a process.
  Heartbeats(Transport &transport, Transport::Channel channel, int ranks,
             Clock::duration interval, std::function<ProcessNotes()> own);

  /// Tells the others, where it is time for that.
  void beat(Clock::time_point now);
  /// When it will be.
  Clock::time_point next() const { return nextBeat; }

  /// What each process has told last.
  std::vector<ProcessNotes> notes() const;

private:
  /// A message: moves, then the notes of each rank.
  struct Peer {
    std::vector<std::byte> out, in;
    bool isSending = false;
  };
  void listen(int from);
  void hear(int from);

  Transport &transport;
  Transport::Channel channel;
  int ranks;
  Clock::duration interval;
  std::function<ProcessNotes()> own;
  Clock::time_point nextBeat;
  std::vector<Peer> peers; // by process
  mutable std::mutex mutex;
  std::vector<ProcessNotes> heard;
};

} // namespace shardc::runtime

#endif
