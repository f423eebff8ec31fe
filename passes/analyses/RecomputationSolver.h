// What to run again where memory, or time, is limited.
#ifndef SHARDC_PASSES_ANALYSES_RECOMPUTATIONSOLVER_H
#define SHARDC_PASSES_ANALYSES_RECOMPUTATIONSOLVER_H

#include "passes/analyses/RecomputationGraph.h"

#include <optional>

namespace shardc {

/// Chooses among 2^ops sets. Prices of a second, each a minimum cut, give the
/// choices on the lower hull of bytes against seconds, and with that a bound on
/// what any choice reaches (Lagrange's; Everett, Operations Research 11(3),
/// 1963). The limit lies between two neighbours of the hull. What one of them
/// has and the other not falls into components that do not read each other's
/// values, as a model's layers do not: which of them fit is a knapsack. What is
/// left of the limit is searched for by branch and bound, to the end in graphs
/// as small as a few layers, else for a few steps.
class RecomputationSolver {
public:
  using Choice = RecomputationGraph::Choice;

  explicit RecomputationSolver(const RecomputationGraph &graph);

  /// The fewest bytes within `seconds`.
  Choice leastBytes(double seconds);
  /// The least time that leaves at most `bytes`; nothing where no choice does.
  std::optional<Choice> leastSeconds(int64_t bytes);
  /// The choice of the fewest bytes, whatever it takes.
  Choice fewestBytes();

  /// What nothing is below, of the last answer's bytes or seconds.
  double bound() const { return lastBound; }

private:
  struct Limit {
    bool isTime = false; // else bytes are limited, and seconds the goal
    double amount = 0;

    double goalOf(const Choice &choice) const {
      return isTime ? static_cast<double>(choice.bytes) : choice.seconds;
    }
    double usedBy(const Choice &choice) const {
      return isTime ? choice.seconds : static_cast<double>(choice.bytes);
    }
    bool allows(const Choice &choice) const {
      return usedBy(choice) <= amount * (1 + 1e-12) + 1e-15;
    }
  };
  /// Two choices between whose prices the limit lies, and the bound.
  struct Bracket {
    Choice more, less; // runs again
    double bound = 0;
    double price = 0; // that brings the bound
  };
  struct Component {
    std::vector<int64_t> ops;
    double savedBytes = 0, seconds = 0;
  };

  void solve();
  Choice cut(double price) { return graph.evaluate(network.at(price)); }
  /// What nothing is below where this choice is the cheapest at a price.
  double boundAt(double price, const Choice &cheapest) const;
  /// With what is fixed; keeps the best choice that it meets. `hint`: a price
  /// to try first.
  Bracket relax(double hint = 0);
  void offer(const Choice &choice);
  std::vector<Component> componentsBetween(const Choice &less,
                                           const Choice &more) const;
  /// The components that are added to the smaller choice.
  void fillUp(const Bracket &bracket);
  /// Searches around components of which one more, or less, does not fit.
  void divide(const Bracket &bracket);
  /// Searches below what is fixed.
  void search(const Bracket &bracket);
  bool isCloseEnough(double bound) const;

  const RecomputationGraph &graph;
  RecomputationNetwork network;
  std::vector<bool> isFixed;
  double highestPrice = 0, lowestPrice = 0;
  Limit limit;
  std::optional<Choice> best;
  double lastBound = 0;
  int64_t stepsLeft = 0;
};

} // namespace shardc

#endif
