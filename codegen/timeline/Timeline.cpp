// Streams take up collectives in order; links divide themselves among streams.
#include "codegen/timeline/Timeline.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace shardc::timeline {

namespace {

/// Collectives on their way.
class Network {
public:
  explicit Network(llvm::ArrayRef<Collective> collectives)
      : collectives(collectives), spans(collectives.size()),
        hasEnded(collectives.size(), false) {
    for (const Collective &collective : collectives)
      if (collective.stream >= streams.size())
        streams.resize(collective.stream + 1);
  }

  void start(size_t collective, double time) {
    advance(time);
    Stream &stream = streams[collectives[collective].stream];
    stream.queue.push_back(collective);
    if (stream.queue.size() == 1)
      takeUp(stream);
  }

  /// Lets time pass until the collective has ended, and says when that was.
  double finish(size_t collective) {
    while (!hasEnded[collective] && proceed(infinity))
      ;
    return spans[collective].end;
  }

  /// Lets time pass from `time` on until so many seconds of work are done, and
  /// says when that is.
  double work(double time, double seconds, double slowdown) {
    advance(time);
    for (;;) {
      double rate = isSlow() ? 1 - slowdown : 1, before = now;
      double end = now + seconds / rate;
      if (!proceed(end) || now >= end)
        return now = end;
      seconds = std::max(0.0, seconds - (now - before) * rate);
    }
  }

  void finishAll() {
    while (proceed(infinity))
      ;
  }

  std::vector<Span> takeSpans() { return std::move(spans); }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  enum Part { Latency, Between, Inside, PartCount };

  struct Stream {
    std::deque<size_t> queue; // the first one is on its way
    int part = Latency;
    double left = 0; // of the part, in seconds of a link of its own
  };

  double secondsOf(size_t collective, int part) const {
    const Collective &of = collectives[collective];
    return part == Latency   ? of.latency
           : part == Between ? of.between
                             : of.inside;
  }

  bool isSlow() const {
    return std::any_of(streams.begin(), streams.end(), [&](const Stream &each) {
      return !each.queue.empty() &&
             collectives[each.queue.front()].takesProcessors;
    });
  }

  void takeUp(Stream &stream) {
    spans[stream.queue.front()].begin = now;
    stream.part = Latency;
    stream.left = secondsOf(stream.queue.front(), Latency);
  }

  /// Whoever else is in this part slows it down, but for messages.
  double shareOf(const Stream &stream) const {
    if (stream.part == Latency)
      return 1;
    auto busy =
        std::count_if(streams.begin(), streams.end(), [&](const Stream &other) {
          return !other.queue.empty() && other.part == stream.part;
        });
    return 1.0 / static_cast<double>(busy);
  }

  void advance(double until) {
    while (now < until && proceed(until))
      ;
    now = std::max(now, until);
  }

  /// Goes on to the next end of a part, or to `until` where that is earlier;
  /// false where no stream has anything to do.
  bool proceed(double until) {
    double next = infinity;
    for (const Stream &stream : streams)
      if (!stream.queue.empty())
        next = std::min(next, stream.left / shareOf(stream));
    if (next == infinity)
      return false;
    double passed = std::min(next, until - now);
    llvm::SmallVector<double, 8> shares;
    for (const Stream &stream : streams)
      shares.push_back(stream.queue.empty() ? 0 : shareOf(stream));
    now += passed;
    for (auto [index, stream] : llvm::enumerate(streams)) {
      if (stream.queue.empty())
        continue;
      // What ends next has nothing left, whatever was rounded.
      bool ends = passed == next && stream.left / shares[index] <= next;
      stream.left = ends ? 0 : stream.left - passed * shares[index];
      if (ends)
        endPart(stream);
    }
    return true;
  }

  void endPart(Stream &stream) {
    size_t collective = stream.queue.front();
    while (++stream.part < PartCount) {
      stream.left = secondsOf(collective, stream.part);
      if (stream.left > 0)
        return;
    }
    spans[collective].end = now;
    hasEnded[collective] = true;
    stream.queue.pop_front();
    if (!stream.queue.empty())
      takeUp(stream);
  }

  llvm::ArrayRef<Collective> collectives;
  std::vector<Span> spans;
  std::vector<bool> hasEnded;
  std::vector<Stream> streams;
  double now = 0;
};

} // namespace

Timeline simulate(llvm::ArrayRef<Step> steps,
                  llvm::ArrayRef<Collective> collectives, double slowdown) {
  Timeline timeline;
  timeline.steps.reserve(steps.size());
  Network network(collectives);
  double now = 0;
  for (const Step &step : steps) {
    double begin = now;
    switch (step.kind) {
    case Step::Compute:
      now = slowdown > 0 ? network.work(now, step.seconds, slowdown)
                         : now + step.seconds;
      break;
    case Step::Start:
      now += step.seconds;
      timeline.exposed += step.seconds;
      network.start(step.collective, now);
      break;
    case Step::Wait:
      now = std::max(now, network.finish(step.collective));
      timeline.exposed += now - begin;
      break;
    }
    timeline.steps.push_back({begin, now});
  }
  network.finishAll();
  timeline.collectives = network.takeSpans();
  timeline.seconds = now;
  return timeline;
}

} // namespace shardc::timeline
