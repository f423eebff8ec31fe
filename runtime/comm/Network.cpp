// The driver's loop, and how it ends.
#include "runtime/comm/Network.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Communicator.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using Clock = std::chrono::steady_clock;

/// How long those who are to know that this process gives up are given.
static constexpr std::chrono::seconds tellingTime{1};
/// How long a process that is gone is given for its last words, or another's.
static constexpr std::chrono::milliseconds hearingTime{200};
/// A driver that has done nothing for so long did not wait: it never waits
/// longer than `idleTime`, and what it calls is shorter.
static constexpr std::chrono::seconds standstillTime{2};
static constexpr std::chrono::seconds idleTime{1};
/// Within which it is taken for the reason that others are gone: UCX looks
/// after them every two seconds.
static constexpr std::chrono::seconds standstillEcho{5};
/// And those who have not come to the end of a run yet.
static constexpr std::chrono::seconds goodbyeTime{30};

Network::Network(std::unique_ptr<Transport> given, Nodes nodes,
                 std::vector<std::string> names,
                 std::function<void(const std::string &)> failed,
                 std::function<std::string(const std::string &)> firstOf)
    : transport(std::move(given)), nodes(std::move(nodes)),
      ownProcess(transport->process()), transportName(transport->name()),
      names(std::move(names)), failed(std::move(failed)),
      firstOf(std::move(firstOf)), heard(processes()) {
  driver = std::thread([this] { run(); });
}

Network::~Network() { end(); }

Network::End Network::end() {
  if (driver.joinable()) {
    post([this] { ends = true; });
    driver.join();
  }
  return ended;
}

/// Of all that is done: the driver counts it before it hears of the question.
Traffic Network::traffic() {
  if (!driver.joinable())
    return {};
  auto moved = std::make_shared<std::optional<Traffic>>();
  post([this, moved] {
    std::lock_guard lock(mutex);
    *moved = transport->traffic();
    news.notify_all();
  });
  std::unique_lock lock(mutex);
  news.wait(lock, [&] { return *moved || hasStopped; });
  Traffic all = moved->value_or(Traffic());
  all.read = bytesRead;
  return all;
}

void Network::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    posted.push_back(std::move(work));
  }
  transport->wake();
}

void Network::onStopped(std::function<void()> given) {
  std::unique_lock lock(mutex);
  if (!hasStopped) {
    stopped = std::move(given);
    return;
  }
  lock.unlock();
  given();
}

std::vector<std::string> Network::exchange(const std::string &mine) {
  struct Told {
    std::vector<int64_t> sizes;
    std::vector<std::string> texts;
    int left;
  };
  // What the driver does may come to an end after the caller's waiting.
  auto told = std::make_shared<Told>(
      Told{std::vector<int64_t>(processes(), int64_t(mine.size())),
           std::vector<std::string>(processes(), mine), 3 * (processes() - 1)});
  post([this, told] {
    auto done = [this, told] {
      std::lock_guard lock(mutex);
      if (--told->left == 0)
        news.notify_all();
    };
    for (int other = 0; other < processes(); ++other) {
      if (other == ownProcess)
        continue;
      const std::string &own = told->texts[ownProcess];
      send(other, 1, &told->sizes[ownProcess], sizeof(int64_t), done);
      send(other, 1, own.data(), int64_t(own.size()), done);
      receive(other, 1, &told->sizes[other], sizeof(int64_t),
              [this, other, told, done] {
                std::string &text = told->texts[other];
                text.resize(told->sizes[other]);
                receive(other, 1, text.data(), told->sizes[other], done);
              });
    }
  });
  std::unique_lock lock(mutex);
  news.wait(lock, [&] { return told->left == 0 || hasStopped; });
  if (told->left > 0)
    throw Aborted(failure);
  return told->texts;
}

void Network::watch(int ranks, std::chrono::milliseconds interval,
                    std::function<ProcessNotes()> own, PlaceText place) {
  post([this, ranks, interval, own = std::move(own), place = std::move(place)] {
    placeText = place;
    auto begun = std::make_shared<Heartbeats>(
        *transport, 2, ranks, interval, [this, own] {
          ProcessNotes mine = own();
          mine.moves = moves.load(std::memory_order_relaxed);
          mine.told = Clock::now();
          return mine;
        });
    std::lock_guard lock(mutex);
    heartbeats = std::move(begun);
  });
}

std::vector<ProcessNotes> Network::notes() const {
  std::shared_ptr<Heartbeats> begun;
  {
    std::lock_guard lock(mutex);
    begun = heartbeats;
  }
  return begun ? begun->notes() : std::vector<ProcessNotes>();
}

void Network::giveUp(const std::string &text) {
  post([this, text] { stop(text, true); });
}

void Network::send(int to, Transport::Channel channel, const void *data,
                   int64_t bytes, Transport::Done done) {
  moves.fetch_add(1, std::memory_order_relaxed);
  transport->send(to, channel, data, bytes, std::move(done));
}
void Network::receive(int from, Transport::Channel channel, void *data,
                      int64_t bytes, Transport::Done done) {
  transport->receive(from, channel, data, bytes, std::move(done));
}

std::string Network::goneText(int process, const std::string &why) const {
  std::string text = concat(names[process], " is gone: ", why);
  // Then the others have gone on without this process. What they said of it
  // may be lost: UCX reads nothing more from a connection that it has failed to
  // send on.
  if (stoodStill && Clock::now() < stoodStill->end + standstillEcho)
    text = concat(
        names[ownProcess], " stood still for ",
        format("%.1f", std::chrono::duration<double>(stoodStill->time).count()),
        " s (a signal stopped it, or its machine slept or was too busy), and ",
        text);
  if (!heartbeats || !placeText)
    return text;
  ProcessNotes last = heartbeats->notes()[process];
  if (last.told == Clock::time_point())
    return text + "; it has not told where it was yet";
  int rank = last.cause();
  std::chrono::duration<double> before = Clock::now() - last.told;
  return concat(text, "; where it was ", format("%.1f", before.count()),
                " s before: rank ", process * int(last.ranks.size()) + rank,
                ", ", placeText(last.ranks[rank]));
}

/// What others say comes first, where both are there at once: a process that
/// was stopped for a while finds all of them gone, and why.
void Network::lose(int process, const std::string &why) {
  std::string text = goneText(process, why);
  // At a run's end nobody looks at what was lost but here.
  if (ends)
    stop(text, false);
  else if (!lost)
    lost = {text, Clock::now() + hearingTime};
}

/// Waits for what others have to say, which they do once.
void Network::listen() {
  for (int from = 0; from < processes(); ++from)
    if (from != ownProcess)
      transport->receive(from, 0, heard[from].data(), textBytes, [this, from] {
        std::string text(heard[from].data(),
                         strnlen(heard[from].data(), textBytes));
        stop(text, false);
      });
  transport->onLost(
      [this](int process, const std::string &why) { lose(process, why); });
}

void Network::tellOthers(const std::string &text) {
  Text message{};
  std::memcpy(message.data(), text.data(),
              std::min(text.size(), textBytes - 1));
  int told = 1;
  for (int to = 0; to < processes(); ++to)
    if (to != ownProcess)
      transport->send(to, 0, message.data(), textBytes, [&] { ++told; });
  Clock::time_point until = Clock::now() + tellingTime;
  while (told < processes() && Clock::now() < until)
    if (!transport->progress())
      transport->sleep(
          std::min(until, Clock::now() + std::chrono::milliseconds(10)));
}

void Network::stop(const std::string &text, bool isOwn) {
  if (hasStopped.exchange(true))
    return; // it was another's failure first
  // Who ends because another is gone will be gone for a third one.
  std::string first = firstOf ? firstOf(text) : text;
  {
    std::lock_guard lock(mutex);
    failure = first;
  }
  if (isOwn)
    ended = End::OwnFailure;
  if (!isOwn)
    failed(first);
  else
    try {
      tellOthers(text);
    } catch (const std::exception &) {
      // It gives up already.
    }
}

void Network::sayStopped() {
  std::function<void()> call;
  {
    std::lock_guard lock(mutex);
    hasStopped = true;
    call = std::move(stopped);
    stopped = nullptr;
    news.notify_all();
  }
  if (call)
    call();
}

/// That this process was stopped is seen by the time that has passed.
void Network::noticeStandstill() {
  Clock::time_point now = Clock::now();
  if (lastTurn != Clock::time_point() && now - lastTurn > standstillTime) {
    stoodStill = {now - lastTurn, now};
    // What others had to say meanwhile is read before anything is sent.
    transport->progress();
  }
  lastTurn = now;
}

/// Whether anything was done.
bool Network::turn() {
  try {
    bool any = runPosted();
    return ends || hasStopped || transport->progress() || any;
  } catch (const GoneProcess &gone) {
    lose(gone.process, gone.what());
    return true;
  }
}

bool Network::runPosted() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex);
    std::swap(work, posted);
  }
  for (std::function<void()> &each : work)
    if (!hasStopped)
      each();
  return !work.empty();
}

void Network::run() {
  try {
    listen();
    while (!ends && !hasStopped) {
      noticeStandstill();
      bool any = turn();
      if (ends || hasStopped)
        break;
      Clock::time_point now = Clock::now();
      if (lost && now >= lost->until && !hasStopped)
        stop(lost->text, false);
      Clock::time_point wake = now + idleTime;
      if (lost)
        wake = std::min(wake, lost->until);
      if (heartbeats) {
        heartbeats->beat(now);
        wake = std::min(wake, heartbeats->next());
      }
      if (!any)
        transport->sleep(wake);
    }
  } catch (const std::exception &error) {
    std::string text = concat(names[ownProcess], ": ", error.what());
    failed(text);
    stop(text, true);
  }
  // Behind progress(), which may have had more callbacks to call than the one
  // that stopped.
  if (hasStopped)
    return sayStopped();
  try {
    transport->close(Clock::now() + goodbyeTime);
    ended = End::Orderly;
  } catch (const std::exception &) {
    // What was to be said has been said.
  }
  sayStopped();
}

} // namespace shardc::runtime
