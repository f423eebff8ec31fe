// Messages between the processes of a run. An implementation is in
// UcxTransport.h (TCP and what else UCX speaks) and MpiTransport.h (fabrics
// that an MPI library reaches). One conformance suite runs over all of them:
// test/runtime/comm/TransportTest.cpp.
#ifndef SHARDC_RUNTIME_COMM_TRANSPORT_H
#define SHARDC_RUNTIME_COMM_TRANSPORT_H

#include "runtime/base/Error.h"
#include "runtime/base/Traffic.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Tells all processes `mine`, and returns what each has told, by process.
using TextExchange =
    std::function<std::vector<std::string>(const std::string &mine)>;

/// One process's end. One thread, the driver, calls all of it but wake(); it
/// polls for many messages at once, since between channels there is no order
/// that all processes share.
class Transport {
public:
  /// Messages of one channel from one process to another arrive in the order
  /// in which they were sent; channels do not wait for each other. Smaller
  /// than maxChannels.
  using Channel = uint32_t;
  static constexpr Channel maxChannels = 32767; // tags that any MPI has
  /// Called by progress(), once, when a message's memory is the caller's again.
  using Done = std::function<void()>;
  /// Called by progress(), once for each process that is gone: `why` is the
  /// library's word for it. What is on its way to and from it is never done,
  /// and later messages to it are dropped.
  using Lost = std::function<void(int process, const std::string &why)>;

  virtual ~Transport() = default;
  /// What carries the messages, for people: "UCX 1.13.1, tcp".
  virtual std::string name() const = 0;
  virtual int process() const = 0;
  virtual int processes() const = 0;
  virtual void onLost(Lost lost) = 0;

  /// Sends `bytes` >= 0 at `data`, which may not change until `done`.
  virtual void send(int to, Channel channel, const void *data, int64_t bytes,
                    Done done) = 0;
  /// Takes the next message of this channel, which has `bytes`: another size is
  /// an Error, thrown by progress(). `done` is called in the order of the
  /// receives of a sender and channel, also where a later message was there
  /// first.
  virtual void receive(int from, Channel channel, void *data, int64_t bytes,
                       Done done) = 0;
  /// Moves what can be moved, and returns whether anything was.
  virtual bool progress() = 0;
  /// Returns when progress() may have something to do, after wake() (also one
  /// that came just before), or at `deadline`. Takes no processor time.
  virtual void sleep(std::chrono::steady_clock::time_point deadline) = 0;
  /// Ends a sleep(), from any thread.
  virtual void wake() = 0;
  /// Of messages so far, but for those of a channel that was left out.
  Traffic traffic() const { return moved; }
  void leaveOut(Channel channel) { leftOut = channel; }
  /// Waits, until `deadline`, for what was sent, and says goodbye: a process
  /// that ends later is not lost to others. All processes call it.
  virtual void close(std::chrono::steady_clock::time_point deadline) = 0;

protected:
  /// Where the bytes of a channel's messages are counted.
  Traffic &trafficOf(Channel channel) {
    return channel == leftOut ? aside : moved;
  }

private:
  Traffic moved, aside;
  Channel leftOut = maxChannels;
};

} // namespace shardc::runtime

#endif
