// From the last arrival to the exchange, and back.
#include "runtime/comm/SpanningGroup.h"

namespace shardc::runtime {

void SpanningOperation::reset() {
  arrived = finished = 0;
  hasResults = isReleased = false;
  for (Copy &copy : copies)
    copy.claimed = copy.done = false;
}

GroupSides groupSides(const Placement &placement, const Network &network,
                      int base, int stride, int size) {
  GroupSides group;
  group.base = base, group.stride = stride;
  for (int member = 0; member < size; ++member) {
    int process = placement.processOf(base + member * stride);
    if (group.sides.empty() || group.sides.back().process != process) {
      int node = network.nodeOf(process);
      if (group.sides.empty() ||
          network.nodeOf(group.sides.back().process) != node)
        group.nodes.push_back({int(group.sides.size()), 0});
      if (process == placement.process)
        group.own = int(group.sides.size());
      group.sides.push_back({process, member, member});
      group.nodeOf.push_back(int(group.nodes.size()) - 1);
    }
    ++group.sides.back().end;
    group.nodes.back().end = int(group.sides.size());
  }
  return group;
}

SpanningGroup::SpanningGroup(ThreadProcess &process, Network &network,
                             GroupSides sides, Transport::Channel firstChannel)
    : process(process), sides(std::move(sides)), network(network),
      firstChannel(firstChannel), records(members()) {
  process.onWake([this] { wakeAll(); });
}

void SpanningGroup::start(uint64_t number) {
  network.post([this, number] {
    waiting.push_back(number);
    next();
  });
}

void SpanningGroup::next() {
  if (isBusy || waiting.empty())
    return;
  isBusy = true;
  uint64_t number = waiting.front();
  waiting.pop_front();
  SpanningOperation &operation = records.at(number);
  ExchangeContext context{
      network, sides, firstChannel, number, operation.contributions,
      [this, &operation] {
        operation.hasResults = true;
        operation.event.notify();
        isBusy = false;
        network.post([this] { next(); });
      },
      // The exchange calls this: it goes afterwards.
      [this, number] { network.post([this, number] { drop(number); }); }};
  auto [at, isNew] =
      exchanges.emplace(number, Exchange::of(std::move(context)));
  at->second->begin();
}

void SpanningGroup::drop(uint64_t number) {
  exchanges.erase(number);
  SpanningOperation &operation = records.at(number);
  operation.isReleased = true;
  operation.event.notify();
}

} // namespace shardc::runtime
