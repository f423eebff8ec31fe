// UCX's tagged messages: a tag is the sender and the channel.
#include "runtime/comm/UcxTransport.h"

#include "runtime/base/Error.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/ReceiveOrder.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <ucp/api/ucp.h>
#include <unistd.h>
#include <unordered_set>
#include <utility>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

void require(ucs_status_t status, const char *what) {
  if (status != UCS_OK)
    fail("cannot ", what, ": ", ucs_status_string(status));
}

class UcxTransport final : public Transport {
public:
  UcxTransport(int process, int processes, const TextExchange &exchange);
  ~UcxTransport() override;

  std::string name() const override {
    unsigned major, minor, release;
    ucp_get_version(&major, &minor, &release);
    return concat("UCX ", major, ".", minor, ".", release, ", tcp");
  }
  int process() const override { return own; }
  int processes() const override { return int(ends.size()); }
  void onLost(Lost given) override { lost = std::move(given); }

  void send(int to, Channel channel, const void *data, int64_t bytes,
            Done done) override;
  void receive(int from, Channel channel, void *data, int64_t bytes,
               Done done) override;
  bool progress() override;
  void sleep(Clock::time_point deadline) override;
  void wake() override;
  void close(Clock::time_point deadline) override;

private:
  /// A message that is on its way.
  struct Message {
    UcxTransport &transport;
    int process; // the other
    Channel channel;
    int64_t bytes;
    Done done; // of one that is sent
    // Of one that is received:
    ReceiveOrder::Number number = 0;
    void *request = nullptr;
    bool *hasEnded = nullptr;
  };
  /// The other end of a connection.
  struct End {
    UcxTransport *transport = nullptr;
    int process = 0;
    ucp_ep_h endpoint = nullptr;
    std::string problem; // it is lost
    bool isLost = false, isTold = false, saidGoodbye = false;

    /// UCX 1.13 may abort where it ends an endpoint that has requests (an
    /// assertion of ucp_ep.c): such a one is left to the end of this process.
    bool isBroken() const { return isTold || (isLost && !saidGoodbye); }
  };

  void connect(const TextExchange &exchange);
  static uint64_t tagOf(int from, Channel channel) {
    return uint64_t(from) << 32 | channel;
  }
  static void sent(void *request, ucs_status_t status, void *message);
  static void received(void *request, ucs_status_t status,
                       const ucp_tag_recv_info_t *info, void *message);
  void endSend(Message *message, ucs_status_t status);
  void endReceive(Message *message, ucs_status_t status, int64_t got);
  template <typename Condition>
  void progressUntil(Clock::time_point deadline, Condition condition);

  int own;
  std::vector<End> ends; // by process
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  int events = -1, wakes = -1;
  Lost lost;
  std::vector<Done> ended; // to be called
  std::string problem;     // to be thrown
  std::unordered_set<Message *> sends, receives;
  ReceiveOrder order;
  bool isClosed = false;
};

/// A channel of this file alone.
constexpr Transport::Channel goodbye = Transport::maxChannels;

UcxTransport::UcxTransport(int process, int processes,
                           const TextExchange &exchange)
    : own(process), ends(processes) {
  ucp_config_t *config = nullptr;
  require(ucp_config_read(nullptr, nullptr, &config), "read UCX's settings");
  // Where a user has not said otherwise; with peers that may fail UCX has
  // nothing but networks.
  if (!getenv("UCX_TLS"))
    ucp_config_modify(config, "TLS", "tcp");
  ucp_config_modify(config, "KEEPALIVE_INTERVAL", "2s");
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  ucs_status_t begun = ucp_init(&parameters, config, &context);
  ucp_config_release(config);
  require(begun, "begin with UCX");

  ucp_worker_params_t of{};
  of.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  of.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  require(ucp_worker_create(context, &of, &worker), "make UCX's worker");
  require(ucp_worker_get_efd(worker, &events), "wait for UCX's events");
  wakes = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wakes < 0)
    failErrno("cannot make an eventfd");
  connect(exchange);
}

void UcxTransport::connect(const TextExchange &exchange) {
  ucp_address_t *address = nullptr;
  size_t length = 0;
  require(ucp_worker_get_address(worker, &address, &length),
          "get this process's address in the network");
  std::string mine(reinterpret_cast<const char *>(address), length);
  ucp_worker_release_address(worker, address);
  std::vector<std::string> all = exchange(mine);
  for (int to = 0; to < processes(); ++to) {
    ends[to].transport = this;
    ends[to].process = to;
    if (to == own)
      continue;
    ucp_ep_params_t end{};
    end.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                     UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                     UCP_EP_PARAM_FIELD_ERR_HANDLER;
    end.address = reinterpret_cast<const ucp_address_t *>(all[to].data());
    end.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    end.err_handler.arg = &ends[to];
    end.err_handler.cb = [](void *argument, ucp_ep_h, ucs_status_t status) {
      auto *end = static_cast<End *>(argument);
      end->isLost = true;
      end->problem = ucs_status_string(status);
    };
    ucs_status_t made = ucp_ep_create(worker, &end, &ends[to].endpoint);
    if (made != UCS_OK)
      throw Aborted(concat("cannot connect to process ", to, ": ",
                           ucs_status_string(made)));
  }
}

UcxTransport::~UcxTransport() {
  // What is on its way ends with the worker, and its memory here. UCX 1.13 may
  // abort, too, where an answer of its own still waits for a process that has
  // stopped: a worker that nobody said goodbye to is left to the end of this
  // process.
  bool mayEnd = isClosed && sends.empty();
  for (const End &end : ends)
    mayEnd &= !end.isBroken();
  if (worker && mayEnd)
    ucp_worker_destroy(worker);
  if (context && mayEnd)
    ucp_cleanup(context);
  for (auto *messages : {&sends, &receives})
    for (Message *message : *messages)
      delete message;
  if (wakes >= 0)
    ::close(wakes);
}

void UcxTransport::send(int to, Channel channel, const void *data,
                        int64_t bytes, Done done) {
  if (ends[to].isLost)
    return;
  auto *message = new Message{*this, to, channel, bytes, std::move(done)};
  sends.insert(message);
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = sent;
  how.user_data = message;
  void *request = ucp_tag_send_nbx(ends[to].endpoint, data, size_t(bytes),
                                   tagOf(own, channel), &how);
  if (!UCS_PTR_IS_PTR(request))
    endSend(message, UCS_PTR_STATUS(request));
}

void UcxTransport::sent(void *request, ucs_status_t status, void *message) {
  auto *of = static_cast<Message *>(message);
  of->transport.endSend(of, status);
  ucp_request_free(request);
}

void UcxTransport::endSend(Message *message, ucs_status_t status) {
  if (status == UCS_OK) {
    trafficOf(message->channel).sent += message->bytes;
    ended.push_back(std::move(message->done));
  } else if (!ends[message->process].isLost) {
    ends[message->process].isLost = true;
    ends[message->process].problem = ucs_status_string(status);
  }
  sends.erase(message);
  delete message;
}

void UcxTransport::receive(int from, Channel channel, void *data, int64_t bytes,
                           Done done) {
  auto *message =
      new Message{*this, from,    channel,
                  bytes, nullptr, order.ask(from, channel, std::move(done))};
  receives.insert(message);
  bool hasEnded = false; // before the call returns
  message->hasEnded = &hasEnded;
  ucp_request_param_t how{};
  // Only the callback is told how long a message is.
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                     UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  how.cb.recv = received;
  how.user_data = message;
  void *request = ucp_tag_recv_nbx(worker, data, size_t(bytes),
                                   tagOf(from, channel), ~uint64_t(0), &how);
  if (hasEnded)
    return;
  if (!UCS_PTR_IS_PTR(request))
    return endReceive(message, UCS_PTR_STATUS(request), 0);
  message->request = request;
  message->hasEnded = nullptr;
}

void UcxTransport::received(void *request, ucs_status_t status,
                            const ucp_tag_recv_info_t *info, void *message) {
  auto *of = static_cast<Message *>(message);
  of->transport.endReceive(of, status, int64_t(info->length));
  ucp_request_free(request);
}

void UcxTransport::endReceive(Message *message, ucs_status_t status,
                              int64_t got) {
  if (status == UCS_ERR_MESSAGE_TRUNCATED ||
      (status == UCS_OK && got != message->bytes)) {
    if (problem.empty())
      problem = concat("expected a message of ", message->bytes, " bytes, got ",
                       status == UCS_OK ? std::to_string(got) : "more");
  } else if (status == UCS_OK) {
    trafficOf(message->channel).received += got;
    order.end(message->process, message->channel, message->number, ended);
  }
  // Another failure is that of its sender, which its end has.
  if (message->hasEnded)
    *message->hasEnded = true;
  receives.erase(message);
  delete message;
}

bool UcxTransport::progress() {
  bool any = false;
  while (ucp_worker_progress(worker) > 0)
    any = true;
  std::vector<Done> calls;
  std::swap(calls, ended);
  for (Done &call : calls)
    if (call)
      call();
  if (!problem.empty())
    fail(std::exchange(problem, {}));
  for (End &end : ends)
    if (end.isLost && !end.saidGoodbye && !std::exchange(end.isTold, true) &&
        lost)
      lost(end.process, end.problem);
  return any || !calls.empty();
}

void UcxTransport::sleep(Clock::time_point deadline) {
  if (!ended.empty())
    return;
  ucs_status_t armed = ucp_worker_arm(worker);
  if (armed == UCS_ERR_BUSY)
    return;
  require(armed, "wait for messages");
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd waited[] = {{events, POLLIN, 0}, {wakes, POLLIN, 0}};
  poll(waited, 2, int(std::clamp<int64_t>(left.count(), 0, 60000)));
  uint64_t count;
  while (read(wakes, &count, sizeof(count)) > 0) {
  }
}

void UcxTransport::wake() {
  uint64_t one = 1;
  // It is not full: sleep() empties it.
  if (write(wakes, &one, sizeof(one)) < 0)
    return;
}

template <typename Condition>
void UcxTransport::progressUntil(Clock::time_point deadline,
                                 Condition condition) {
  while (!condition() && Clock::now() < deadline)
    if (!progress())
      sleep(std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
}

void UcxTransport::close(Clock::time_point deadline) {
  // Everything was sent, and everybody knows: then connections may break.
  int open = processes() - 1;
  for (End &end : ends) {
    if (end.process == own)
      continue;
    send(end.process, goodbye, nullptr, 0, {});
    receive(end.process, goodbye, nullptr, 0, [&end, &open] {
      end.saidGoodbye = true;
      --open;
    });
  }
  progressUntil(deadline, [&] { return sends.empty() && open <= 0; });
  for (Message *message : std::vector(receives.begin(), receives.end()))
    if (message->request)
      ucp_request_cancel(worker, message->request);
  // Orderly, as far as the others are still there.
  std::vector<void *> closing;
  for (End &end : ends) {
    if (end.isBroken())
      end.isTold = true; // nobody asks any more
    end.saidGoodbye = true;
    if (!end.endpoint || end.isBroken())
      continue;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = end.isLost ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    void *request = ucp_ep_close_nbx(end.endpoint, &how);
    end.endpoint = nullptr;
    if (UCS_PTR_IS_PTR(request))
      closing.push_back(request);
  }
  progressUntil(std::min(deadline, Clock::now() + std::chrono::seconds(2)),
                [&] {
                  std::erase_if(closing, [](void *request) {
                    if (ucp_request_check_status(request) == UCS_INPROGRESS)
                      return false;
                    ucp_request_free(request);
                    return true;
                  });
                  return closing.empty();
                });
  isClosed = closing.empty();
}

} // namespace

std::unique_ptr<Transport> ucxTransport(int process, int processes,
                                        const TextExchange &exchange) {
  return std::make_unique<UcxTransport>(process, processes, exchange);
}

} // namespace shardc::runtime
