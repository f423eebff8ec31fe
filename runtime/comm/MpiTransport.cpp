// MPI's messages, polled: a tag is a channel.
#include "runtime/comm/MpiTransport.h"

#include "runtime/comm/ReceiveOrder.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <sys/prctl.h>
#include <utility>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

class MpiTransport final : public Transport {
public:
  MpiTransport(std::shared_ptr<MpiLibrary> library, int64_t pieceBytes)
      : library(std::move(library)), calls(this->library->calls()),
        pieceBytes(pieceBytes), ends(this->library->processes()) {
    this->library->require(calls.join(), "prepare MPI for messages");
  }

  std::string name() const override { return library->name(); }
  int process() const override { return library->process(); }
  int processes() const override { return library->processes(); }
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
    int process; // the other
    bool isSent;
    Channel channel;
    int64_t bytes;
    Done done;                       // of one that is sent
    ReceiveOrder::Number number = 0; // of one that is received
    int piecesLeft = 0;
  };
  /// A piece of one: the request of the same place in `requests`.
  struct Piece {
    std::shared_ptr<Message> message;
    int bytes;
  };
  /// Another process.
  struct End {
    std::string problem; // it is lost
    bool isLost = false, isTold = false;
  };

  template <typename Begin>
  void beginPieces(const std::shared_ptr<Message> &message, Begin begin);
  std::byte *requestAt(size_t piece) {
    return requests.data() + piece * size_t(calls.requestBytes);
  }
  /// Looks which pieces have ended, and returns whether any has.
  bool test();
  void end(const Piece &piece, const ShardcMpiEnd &how);
  void lose(int process, int error);

  std::shared_ptr<MpiLibrary> library;
  const ShardcMpi &calls;
  int64_t pieceBytes;
  std::vector<End> ends;           // by process
  std::vector<Piece> pieces;       // in the order of their beginning
  std::vector<std::byte> requests; // MPI's, one after the other
  int sends = 0;                   // messages among them
  ReceiveOrder order;
  Lost lost;
  std::vector<Done> ended; // to be called
  std::string problem;     // to be thrown

  static constexpr microseconds leastPause{1}, mostPause{1000};
  microseconds pause = leastPause;
  bool hasSlept = false;
  std::mutex mutex;
  std::condition_variable wakes;
  bool isWoken = false;
};

/// A channel of this file alone.
constexpr Transport::Channel goodbye = Transport::maxChannels;

template <typename Begin>
void MpiTransport::beginPieces(const std::shared_ptr<Message> &message,
                               Begin begin) {
  int64_t done = 0;
  do {
    auto bytes = int(std::min(message->bytes - done, pieceBytes));
    requests.resize((pieces.size() + 1) * size_t(calls.requestBytes));
    int error = begin(done, bytes, requestAt(pieces.size()));
    if (error)
      return lose(message->process, error);
    pieces.push_back({message, bytes});
    ++message->piecesLeft;
    done += bytes;
  } while (done < message->bytes);
}

void MpiTransport::send(int to, Channel channel, const void *data,
                        int64_t bytes, Done done) {
  if (ends[to].isLost)
    return;
  ++sends;
  beginPieces(
      std::make_shared<Message>(to, true, channel, bytes, std::move(done)),
      [&](int64_t from, int size, void *request) {
        return calls.send(static_cast<const char *>(data) + from, size, to,
                          int(channel), request);
      });
}

void MpiTransport::receive(int from, Channel channel, void *data, int64_t bytes,
                           Done done) {
  auto message =
      std::make_shared<Message>(from, false, channel, bytes, nullptr,
                                order.ask(from, channel, std::move(done)));
  beginPieces(message, [&](int64_t begin, int size, void *request) {
    return calls.receive(static_cast<char *>(data) + begin, size, from,
                         int(channel), request);
  });
}

void MpiTransport::lose(int process, int error) {
  if (ends[process].isLost)
    return;
  ends[process].isLost = true;
  ends[process].problem = library->errorText(error);
}

void MpiTransport::end(const Piece &piece, const ShardcMpiEnd &how) {
  Message &message = *piece.message;
  --message.piecesLeft;
  if (!message.isSent && (how.error == ShardcMpiTooLong ||
                          (!how.error && how.bytes != piece.bytes))) {
    if (problem.empty())
      problem = concat("expected a message of ", piece.bytes, " bytes, got ",
                       how.error ? "more" : std::to_string(how.bytes));
    return;
  }
  if (how.error)
    lose(message.process, how.error);
  else {
    Traffic &moved = trafficOf(message.channel);
    (message.isSent ? moved.sent : moved.received) += piece.bytes;
  }
  if (message.piecesLeft > 0)
    return;
  sends -= message.isSent;
  if (ends[message.process].isLost)
    return;
  if (message.isSent)
    ended.push_back(std::move(message.done));
  else
    order.end(message.process, message.channel, message.number, ended);
}

bool MpiTransport::test() {
  bool any = false;
  for (size_t first = 0; first < pieces.size(); first += ShardcMpiMostAsked) {
    ShardcMpiEnd found[ShardcMpiMostAsked];
    auto asked =
        int(std::min<size_t>(pieces.size() - first, ShardcMpiMostAsked));
    int count = 0;
    library->require(calls.test(requestAt(first), asked, found, &count),
                     "ask MPI for messages");
    std::sort(found, found + count,
              [](const auto &a, const auto &b) { return a.index < b.index; });
    for (const ShardcMpiEnd &each : std::span(found, size_t(count))) {
      Piece &piece = pieces[first + size_t(each.index)];
      end(piece, each);
      piece.message = nullptr;
      any = true;
    }
  }
  if (!any)
    return false;
  size_t kept = 0;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].message) {
      if (kept < i) {
        pieces[kept] = std::move(pieces[i]);
        std::memcpy(requestAt(kept), requestAt(i), size_t(calls.requestBytes));
      }
      ++kept;
    }
  pieces.resize(kept);
  return true;
}

bool MpiTransport::progress() {
  bool any = test();
  std::vector<Done> due;
  std::swap(due, ended);
  for (Done &call : due)
    if (call)
      call();
  if (!problem.empty())
    fail(std::exchange(problem, {}));
  for (int of = 0; of < processes(); ++of)
    if (ends[of].isLost && !std::exchange(ends[of].isTold, true) && lost)
      lost(of, ends[of].problem);
  if (any)
    pause = leastPause;
  return any;
}

void MpiTransport::sleep(Clock::time_point deadline) {
  // Else the kernel makes 50 microseconds of one.
  if (!std::exchange(hasSlept, true))
    prctl(PR_SET_TIMERSLACK, 1UL);
  std::unique_lock lock(mutex);
  wakes.wait_until(lock, std::min(deadline, Clock::now() + pause),
                   [&] { return isWoken; });
  pause = std::exchange(isWoken, false) ? leastPause
                                        : std::min(2 * pause, mostPause);
}

void MpiTransport::wake() {
  {
    std::lock_guard lock(mutex);
    isWoken = true;
  }
  wakes.notify_one();
}

void MpiTransport::close(Clock::time_point deadline) {
  // Who has all goodbyes gets no more messages.
  int awaited = processes() - 1;
  for (int of = 0; of < processes(); ++of)
    if (of != process()) {
      send(of, goodbye, nullptr, 0, {});
      receive(of, goodbye, nullptr, 0, [&awaited] { --awaited; });
    }
  while ((sends > 0 || awaited > 0) && Clock::now() < deadline)
    if (!progress())
      sleep(deadline);
  if (sends > 0 || awaited > 0)
    fail(awaited, " of ", processes() - 1,
         " other processes have not come to the end of the run");
  for (size_t i = 0; i < pieces.size(); ++i)
    library->require(calls.cancel(requestAt(i)), "give up a message of MPI's");
  pieces.clear();
}

} // namespace

std::unique_ptr<Transport> mpiTransport(std::shared_ptr<MpiLibrary> library,
                                        int64_t pieceBytes) {
  return std::make_unique<MpiTransport>(std::move(library), pieceBytes);
}

} // namespace shardc::runtime
