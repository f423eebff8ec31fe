// Receives end in the order in which they were asked for.
#ifndef SHARDC_RUNTIME_COMM_RECEIVEORDER_H
#define SHARDC_RUNTIME_COMM_RECEIVEORDER_H

#include "runtime/comm/Transport.h"

#include <deque>
#include <map>
#include <utility>

namespace shardc::runtime {

/// Networks bring small messages whole, and fetch large ones while those behind
/// them are there already. What a message is followed by is held back here
/// until those before it, of its sender and channel, have ended.
class ReceiveOrder {
public:
  /// A receive, among those of its sender and channel.
  using Number = uint64_t;

  Number ask(int from, Transport::Channel channel, Transport::Done done) {
    Queue &queue = queues[{from, channel}];
    queue.asked.push_back({std::move(done), false});
    return queue.first + queue.asked.size() - 1;
  }

  /// The message is there: adds to `due` what may be called now.
  void end(int from, Transport::Channel channel, Number number,
           std::vector<Transport::Done> &due) {
    Queue &queue = queues[{from, channel}];
    queue.asked[number - queue.first].hasEnded = true;
    for (; !queue.asked.empty() && queue.asked.front().hasEnded;
         ++queue.first) {
      due.push_back(std::move(queue.asked.front().done));
      queue.asked.pop_front();
    }
  }

private:
  struct Receive {
    Transport::Done done;
    bool hasEnded;
  };
  struct Queue {
    Number first = 0; // of `asked`
    std::deque<Receive> asked;
  };
  std::map<std::pair<int, Transport::Channel>, Queue> queues;
};

} // namespace shardc::runtime

#endif
