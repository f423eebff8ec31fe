// What may run again and what it is made of, in numbers.
#ifndef SHARDC_PASSES_ANALYSES_RECOMPUTATIONGRAPH_H
#define SHARDC_PASSES_ANALYSES_RECOMPUTATIONGRAPH_H

#include "passes/analyses/MinCut.h"

#include <cstdint>
#include <vector>

namespace shardc {

/// Ops that may run again, from the first to the last, and the values that they
/// read and make. Without an op that makes it, a value is kept where anything
/// reads it.
struct RecomputationGraph {
  /// Bytes of a value that nothing may keep: what reads it runs again only
  /// together with what makes it.
  static constexpr int64_t unkeepable = FlowNetwork::unlimited;

  struct Op {
    double seconds = 0;
    std::vector<int64_t> operands; // values
  };
  struct Value {
    int64_t bytes = 0;
    int64_t producer = -1; // one of the ops
    bool isNeeded = false; // backward reads it
  };
  std::vector<Op> ops;
  std::vector<Value> values;

  /// What runs again, by op, and what that leaves to be kept and takes.
  struct Choice {
    std::vector<bool> again;
    int64_t bytes = 0;
    double seconds = 0;
  };
  /// The choice that runs again those of `again` that anything requires.
  Choice evaluate(const std::vector<bool> &again) const;
  /// The values that are kept with it.
  std::vector<bool> keptValues(const Choice &choice) const;
};

/// A graph as a network that is cut at many prices.
class RecomputationNetwork {
public:
  /// `fineness`: units of capacity per byte.
  explicit RecomputationNetwork(const RecomputationGraph &graph,
                                int64_t fineness = 1);

  enum class Fixed : int8_t { No, Again, Kept };
  /// What must, or must not, run again from now on.
  void fix(int64_t op, Fixed how);

  /// The ops that are better run again, once for all that reads them, than
  /// their results kept, when a second costs `bytesPerSecond`.
  std::vector<bool> at(double bytesPerSecond);

private:
  struct OpNode {
    int64_t node, price, demand; // edges from the source and to the sink
    double seconds;
    Fixed fixed = Fixed::No;
  };
  FlowNetwork network;
  int64_t source, sink, fineness;
  std::vector<OpNode> ops;
};

} // namespace shardc

#endif
