// Prices, components and a search.
#include "passes/analyses/RecomputationSolver.h"

#include "passes/analyses/Knapsack.h"

#include "llvm/ADT/IntEqClasses.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardc {

namespace {
/// Ties between bytes are settled in parts of one.
constexpr int64_t fineness = 1024;
/// Where the search may end: of the goal.
constexpr double closeEnough = 0.003;
/// Steps of the search: in graphs of a few layers it comes to an end, and where
/// there are many layers, the knapsack has divided them already.
constexpr int64_t fewOps = 50, stepsOfFew = 1000, stepsOfMany = 10;
/// Places where there are many layers that are searched as if they were alone,
/// the ops around each, and the steps.
constexpr int64_t mostPlaces = 3, opsAround = 24, stepsOfPlace = 10;
} // namespace

RecomputationSolver::RecomputationSolver(const RecomputationGraph &graph)
    : graph(graph), network(graph, fineness), isFixed(graph.ops.size()) {
  double bytes = 1, seconds = 0, shortest = 0;
  for (const RecomputationGraph::Value &value : graph.values)
    if (value.bytes != RecomputationGraph::unkeepable)
      bytes += static_cast<double>(value.bytes);
  for (const RecomputationGraph::Op &op : graph.ops) {
    seconds += op.seconds;
    if (op.seconds > 0 && (shortest == 0 || op.seconds < shortest))
      shortest = op.seconds;
  }
  // Above, nothing with a time runs again; below, all that saves a byte does.
  highestPrice = shortest > 0 ? 2 * bytes / shortest : 0;
  lowestPrice = seconds > 0 ? 0.5 / seconds : 0;
}

RecomputationSolver::Choice RecomputationSolver::fewestBytes() {
  return cut(lowestPrice);
}

RecomputationSolver::Choice RecomputationSolver::leastBytes(double seconds) {
  limit = {true, seconds};
  solve();
  // Nothing that takes time fits into none.
  return best ? *best : cut(highestPrice);
}

std::optional<RecomputationSolver::Choice>
RecomputationSolver::leastSeconds(int64_t bytes) {
  limit = {false, static_cast<double>(bytes)};
  solve();
  return best;
}

void RecomputationSolver::offer(const Choice &choice) {
  if (limit.allows(choice) &&
      (!best || limit.goalOf(choice) < limit.goalOf(*best)))
    best = choice;
}

bool RecomputationSolver::isCloseEnough(double bound) const {
  return best && limit.goalOf(*best) <= bound * (1 + closeEnough) + 1e-15;
}

void RecomputationSolver::solve() {
  best.reset();
  Bracket bracket = relax();
  lastBound = bracket.bound;
  fillUp(bracket);
  bool isSmall = static_cast<int64_t>(graph.ops.size()) <= fewOps;
  stepsLeft = isSmall ? stepsOfFew : stepsOfMany;
  search(bracket);
  if (!isSmall)
    divide(bracket);
}

double RecomputationSolver::boundAt(double price,
                                    const Choice &cheapest) const {
  double value = static_cast<double>(cheapest.bytes) + price * cheapest.seconds;
  return limit.isTime ? value - price * limit.amount
                      : (value - limit.amount) / price;
}

RecomputationSolver::Bracket RecomputationSolver::relax(double hint) {
  constexpr int mostPrices = 40;
  if (hint > 0) {
    // Where the price above was right, most of what is below is done with.
    Choice choice = cut(hint);
    offer(choice);
    if (double bound = boundAt(hint, choice); isCloseEnough(bound))
      return {choice, choice, bound, hint};
  }
  Bracket bracket{cut(lowestPrice), cut(highestPrice)};
  Choice &more = bracket.more, &less = bracket.less;
  // One of the ends reaches the goal without a price.
  const Choice &easiest = limit.isTime ? more : less;
  const Choice &hardest = limit.isTime ? less : more;
  offer(more);
  offer(less);
  bracket.bound = limit.goalOf(easiest);
  if (limit.allows(easiest))
    return bracket;
  if (!limit.allows(hardest)) {
    bracket.bound = std::numeric_limits<double>::infinity();
    return bracket;
  }
  for (int round = 0; round < mostPrices; ++round) {
    double seconds = more.seconds - less.seconds;
    double bytes = static_cast<double>(less.bytes - more.bytes);
    if (seconds <= 0 || bytes <= 0)
      break;
    double price = bytes / seconds;
    Choice between = cut(price);
    offer(between);
    bracket.price = price;
    bracket.bound = std::max(bracket.bound, boundAt(price, between));
    double ends = static_cast<double>(more.bytes) + price * more.seconds;
    if (static_cast<double>(between.bytes) + price * between.seconds >=
        ends * (1 - 1e-9))
      break;
    bool isMore = limit.isTime ? !limit.allows(between) : limit.allows(between);
    (isMore ? more : less) = std::move(between);
  }
  return bracket;
}

std::vector<RecomputationSolver::Component>
RecomputationSolver::componentsBetween(const Choice &less,
                                       const Choice &more) const {
  auto isBetween = [&](int64_t op) {
    return op >= 0 && more.again[op] && !less.again[op];
  };
  std::vector<bool> kept = graph.keptValues(less);
  llvm::IntEqClasses classes(graph.ops.size());
  std::map<int64_t, int64_t> keptFor; // value -> op; for the components alone
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!isBetween(op))
      continue;
    for (int64_t operand : graph.ops[op].operands) {
      int64_t producer = graph.values[operand].producer;
      if (isBetween(producer))
        classes.join(op, producer);
      else if (!kept[operand] && !(producer >= 0 && less.again[producer]))
        classes.join(op, keptFor.try_emplace(operand, op).first->second);
    }
  }
  std::map<unsigned, Component> components; // by their first op
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (isBetween(op)) {
      Component &component = components[classes.findLeader(op)];
      component.ops.push_back(op);
      component.seconds += graph.ops[op].seconds;
    }
  for (size_t value = 0; value < graph.values.size(); ++value)
    if (int64_t producer = graph.values[value].producer;
        kept[value] && isBetween(producer))
      components[classes.findLeader(producer)].savedBytes +=
          static_cast<double>(graph.values[value].bytes);
  for (auto [value, reader] : keptFor)
    components[classes.findLeader(reader)].savedBytes -=
        static_cast<double>(graph.values[value].bytes);
  std::vector<Component> result;
  for (auto &[leader, component] : components)
    result.push_back(std::move(component));
  return result;
}

void RecomputationSolver::fillUp(const Bracket &bracket) {
  std::vector<Component> components =
      componentsBetween(bracket.less, bracket.more);
  if (components.empty())
    return;
  // Where bytes are limited, what is left out of the larger choice is packed:
  // the last of equals, whose values would live for the shortest time.
  if (!limit.isTime)
    std::reverse(components.begin(), components.end());
  std::vector<double> sizes, worths;
  for (const Component &component : components) {
    sizes.push_back(limit.isTime ? component.seconds : component.savedBytes);
    worths.push_back(limit.isTime ? component.savedBytes : component.seconds);
  }
  double room =
      limit.amount - limit.usedBy(limit.isTime ? bracket.less : bracket.more);
  std::vector<bool> packed = packKnapsack(sizes, worths, room);
  Choice choice = bracket.less;
  for (size_t i = 0; i < components.size(); ++i)
    if (packed[i] == limit.isTime)
      for (int64_t op : components[i].ops)
        choice.again[op] = true;
  offer(graph.evaluate(choice.again));
}

void RecomputationSolver::divide(const Bracket &bracket) {
  using Fixed = RecomputationNetwork::Fixed;
  auto ops = static_cast<int64_t>(graph.ops.size());
  int64_t places = 0;
  std::vector<Component> components =
      componentsBetween(bracket.less, bracket.more);
  if (!limit.isTime)
    std::reverse(components.begin(), components.end());
  for (const Component &component : components) {
    if (!best || isCloseEnough(lastBound) || places == mostPlaces)
      return;
    // Of time, something is left for one that was left out; of bytes, one that
    // was taken saves too many.
    int64_t first = component.ops.front();
    if (best->again[first] == limit.isTime)
      continue;
    ++places;
    for (int64_t op = 0; op < ops; ++op)
      if (std::abs(op - first) > opsAround) {
        network.fix(op, best->again[op] ? Fixed::Again : Fixed::Kept);
        isFixed[op] = true;
      }
    Bracket inside = relax();
    if (!std::isinf(inside.bound)) {
      fillUp(inside);
      stepsLeft = stepsOfPlace;
      search(inside);
    }
    for (int64_t op = 0; op < ops; ++op)
      network.fix(op, Fixed::No);
    isFixed.assign(ops, false);
  }
}

void RecomputationSolver::search(const Bracket &bracket) {
  if (stepsLeft <= 0 || isCloseEnough(bracket.bound))
    return;
  // What the two choices do not agree on, the most expensive first.
  int64_t branch = -1;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (bracket.more.again[op] != bracket.less.again[op] && !isFixed[op] &&
        (branch < 0 || graph.ops[op].seconds > graph.ops[branch].seconds))
      branch = op;
  if (branch < 0)
    return;
  isFixed[branch] = true;
  using Fixed = RecomputationNetwork::Fixed;
  for (Fixed how : {Fixed::Again, Fixed::Kept}) {
    if (stepsLeft-- <= 0)
      break;
    network.fix(branch, how);
    Bracket below = relax(bracket.price);
    if (std::isinf(below.bound) || isCloseEnough(below.bound))
      continue;
    fillUp(below);
    search(below);
  }
  network.fix(branch, Fixed::No);
  isFixed[branch] = false;
}

} // namespace shardc
