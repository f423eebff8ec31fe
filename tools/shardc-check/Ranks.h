// Which ranks communicate, and which part of a unit each of them has.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_RANKS_H
#define SHARDC_TOOLS_SHARDC_CHECK_RANKS_H

#include "tools/shardc-check/Plans.h"
#include "tools/shardc-check/Values.h"

#include <map>

namespace shardc::check {

/// Answers hold for every rank: each question is asked of all of them once, and
/// the answer kept. An empty answer: it holds; otherwise what does not.
class Ranks {
public:
  explicit Ranks(const plan::Plan &plan) : plan(plan) {}

  /// Mesh and groups: each group's ranks are a partition of all, and every rank
  /// finds its own number among them.
  void check(Findings &findings) const;

  /// The ranks that the collectives of a chain reach from each rank, as ranges
  /// [stride, end) of digits of its number; none where one is reached twice.
  using Reach = std::vector<std::pair<int64_t, int64_t>>;
  std::optional<Reach> reach(const std::vector<Link> &chain) const;
  /// Whether a sum through these collectives has each rank's part exactly once,
  /// on every rank.
  std::string sumsAll(const std::vector<Link> &chain);
  /// Whether what is left of a sum, scattered through the chain, is on every
  /// rank its optimizer slice of `shards`.
  std::string isOptimizerSlice(const std::vector<Link> &chain, int64_t shards);
  /// Whether the ranks of a group have between them all slices of a unit in
  /// their order: a gather over it is the unit.
  std::string gathersAll(uint32_t group, int64_t shards);
  /// Whether the ranks of a group have between them all optimizer slices of
  /// their common slice of the parameters, in their order.
  std::string gathersUpdates(uint32_t group, int64_t shards,
                             int64_t optimizerShards);

private:
  int64_t number(uint32_t group, int64_t rank) const {
    const plan::Group &of = plan.groups(int(group));
    return rank / of.stride() % of.size();
  }
  int64_t base(uint32_t group, int64_t rank) const {
    return rank - number(group, rank) * plan.groups(int(group)).stride();
  }
  int64_t coordinates(const google::protobuf::RepeatedField<int64_t> &dims,
                      int64_t rank) const;
  int64_t slice(int64_t shards, int64_t rank) const;
  int64_t optimizerSlice(int64_t shards, int64_t rank) const;
  std::string remember(const std::string &question,
                       const std::function<std::string()> &ask);

  const plan::Plan &plan;
  std::map<std::string, std::string> answers;
};

} // namespace shardc::check

#endif
