// What moves between this process and the others: a thread that drives the
// transport.
#ifndef SHARDC_RUNTIME_COMM_NETWORK_H
#define SHARDC_RUNTIME_COMM_NETWORK_H

#include "runtime/comm/Heartbeats.h"
#include "runtime/comm/Nodes.h"
#include "runtime/comm/Transport.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shardc::runtime {

/// Of one process. Exchanges (Exchange.h) run on its thread, the driver, as
/// callbacks of messages; none of them waits. The thread sleeps when nothing
/// moves.
class Network {
public:
  /// The first channels are the network's own; others are exchanges'.
  static constexpr Transport::Channel ownChannels = 3;

  /// `transport` is given over: from now on the driver alone uses it. `names`:
  /// what processes are called, by process.
  /// `failed`: what the run ends with, called once, on the driver: another
  /// process gave up or is gone, or a message is not what it should be. Then
  /// nothing moves any more. `firstOf`: tells what this process takes for the
  /// reason of the end, and returns what the first process did that was asked.
  Network(std::unique_ptr<Transport> transport, Nodes nodes,
          std::vector<std::string> names,
          std::function<void(const std::string &)> failed,
          std::function<std::string(const std::string &)> firstOf = {});
  ~Network();

  /// How it came to its end.
  enum class End { Orderly, OwnFailure, OthersFailure };
  /// Says goodbye, when nothing failed: waits for the other processes' goodbye.
  /// The destructor calls it, too.
  End end();

  int process() const { return ownProcess; }
  int processes() const { return int(nodes.of.size()); }
  int nodeOf(int process) const { return nodes.of[process]; }
  std::string name() const { return transportName; }
  /// So far.
  Traffic traffic();

  /// Tells all others `mine`, and returns what all told, by process. Of any
  /// thread but the driver, one at a time. Throws Aborted where the network
  /// fails.
  std::vector<std::string> exchange(const std::string &mine);

  /// Begins with heartbeats to the others, which have as many ranks each;
  /// `own`: the notes of this process's. `place`: for the last ones of a process
  /// that is gone.
  void watch(int ranks, std::chrono::milliseconds interval,
             std::function<ProcessNotes()> own, PlaceText place);
  /// Those of all, by process; empty before watch().
  std::vector<ProcessNotes> notes() const;
  /// Whether a process has been stopped by a signal; known of those of this
  /// node.
  bool isStopped(int process) const {
    return nodeOf(process) == nodeOf(ownProcess) && nodes.isStopped(process);
  }

  /// Calls `work` on the driver. From any thread; also the driver, to let other
  /// messages go first.
  void post(std::function<void()> work);
  /// Tells all other processes why this one gives up, as far as that goes
  /// within a second; then nothing moves any more, and `stopped` is called.
  /// From any thread.
  void giveUp(const std::string &text);
  /// Called on the driver, once, when nothing will move any more: no buffer is
  /// touched afterwards.
  void onStopped(std::function<void()> stopped);

  // On the driver:
  void send(int to, Transport::Channel channel, const void *data, int64_t bytes,
            Transport::Done done);
  void receive(int from, Transport::Channel channel, void *data, int64_t bytes,
               Transport::Done done);
  void read(int process, const void *from, void *to, int64_t bytes) {
    moves.fetch_add(1, std::memory_order_relaxed);
    nodes.read(process, from, to, bytes);
    bytesRead += bytes;
  }

private:
  static constexpr size_t textBytes = 1024;
  using Text = std::array<char, textBytes>;

  void run();
  bool runPosted();
  void noticeStandstill();
  bool turn();
  void listen();
  void lose(int process, const std::string &why);
  std::string goneText(int process, const std::string &why) const;
  /// Ends what the driver does: after a failure, of this process or not.
  void stop(const std::string &text, bool isOwn);
  void tellOthers(const std::string &text);
  void sayStopped();

  std::shared_ptr<Heartbeats> heartbeats; // null before watch()
  PlaceText placeText;                    // the driver's
  std::unique_ptr<Transport> transport;
  Nodes nodes;
  int ownProcess;
  std::string transportName;
  std::vector<std::string> names;
  std::function<void(const std::string &)> failed;
  std::function<std::string(const std::string &)> firstOf;
  std::vector<Text> heard; // by process: why it gives up
  struct Lost {
    std::string text;
    std::chrono::steady_clock::time_point until; // others are heard
  };
  std::optional<Lost> lost;                       // the first; the driver's
  std::chrono::steady_clock::time_point lastTurn; // of the driver's loop
  struct Standstill {
    std::chrono::steady_clock::duration time;
    std::chrono::steady_clock::time_point end;
  };
  std::optional<Standstill> stoodStill; // the last one; the driver's
  std::atomic<uint64_t> moves{0};       // messages and reads that were begun

  mutable std::mutex mutex;
  std::vector<std::function<void()>> posted;
  std::function<void()> stopped;
  std::condition_variable news; // of an exchange(), or the end
  std::string failure;
  std::atomic<int64_t> bytesRead = 0;
  std::atomic<bool> hasStopped = false;
  bool ends = false;              // of the driver alone
  End ended = End::OthersFailure; // its word, until it is joined
  std::thread driver;
};

} // namespace shardc::runtime

#endif
