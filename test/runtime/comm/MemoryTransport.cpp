// Queues of messages by sender and channel.
#include "test/runtime/comm/MemoryTransport.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

namespace shardc::runtime {

/// What has come to a process, and not been received.
struct Inbox {
  std::mutex mutex;
  std::condition_variable news;
  bool awake = false;
  std::map<std::pair<int, Transport::Channel>,
           std::deque<std::vector<std::byte>>>
      messages;

  void wake() {
    std::lock_guard lock(mutex);
    awake = true;
    news.notify_all();
  }
};

class MemoryFabric {
public:
  explicit MemoryFabric(int processes) : inboxes(processes) {}
  std::vector<Inbox> inboxes;
};

namespace {

class MemoryTransport final : public Transport {
public:
  MemoryTransport(std::shared_ptr<MemoryFabric> fabric, int own)
      : fabric(std::move(fabric)), own(own) {}

  std::string name() const override { return "memory"; }
  int process() const override { return own; }
  int processes() const override { return int(fabric->inboxes.size()); }
  void onLost(Lost) override {}

  void send(int to, Channel channel, const void *data, int64_t bytes,
            Done done) override {
    const auto *begin = static_cast<const std::byte *>(data);
    Inbox &inbox = fabric->inboxes[to];
    {
      std::lock_guard lock(inbox.mutex);
      inbox.messages[{own, channel}].emplace_back(begin, begin + bytes);
    }
    inbox.wake();
    trafficOf(channel).sent += bytes;
    ended.push_back(std::move(done));
  }

  void receive(int from, Channel channel, void *data, int64_t bytes,
               Done done) override {
    receives[{from, channel}].push_back({data, bytes, std::move(done)});
  }

  bool progress() override {
    std::vector<Done> calls;
    std::swap(calls, ended);
    {
      Inbox &inbox = fabric->inboxes[own];
      std::lock_guard lock(inbox.mutex);
      for (auto &[key, messages] : inbox.messages)
        while (!messages.empty() && !receives[key].empty()) {
          Receive &receive = receives[key].front();
          if (int64_t(messages.front().size()) != receive.bytes)
            fail("expected a message of ", receive.bytes, " bytes, got ",
                 messages.front().size());
          if (receive.bytes > 0)
            std::memcpy(receive.data, messages.front().data(), receive.bytes);
          trafficOf(key.second).received += receive.bytes;
          calls.push_back(std::move(receive.done));
          receives[key].pop_front();
          messages.pop_front();
        }
    }
    for (Done &call : calls)
      if (call)
        call();
    return !calls.empty();
  }

  void sleep(std::chrono::steady_clock::time_point deadline) override {
    Inbox &inbox = fabric->inboxes[own];
    std::unique_lock lock(inbox.mutex);
    inbox.news.wait_until(lock, deadline, [&] { return inbox.awake; });
    inbox.awake = false;
  }
  void wake() override { fabric->inboxes[own].wake(); }
  void close(std::chrono::steady_clock::time_point) override {}

private:
  struct Receive {
    void *data;
    int64_t bytes;
    Done done;
  };
  std::shared_ptr<MemoryFabric> fabric;
  int own;
  std::map<std::pair<int, Channel>, std::deque<Receive>> receives;
  std::vector<Done> ended;
};

} // namespace

std::vector<std::unique_ptr<Transport>> memoryTransports(int processes) {
  auto fabric = std::make_shared<MemoryFabric>(processes);
  std::vector<std::unique_ptr<Transport>> ends;
  for (int process = 0; process < processes; ++process)
    ends.push_back(std::make_unique<MemoryTransport>(fabric, process));
  return ends;
}

} // namespace shardc::runtime
