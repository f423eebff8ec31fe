// Questions about all ranks of the mesh.
#include "tools/shardc-check/Ranks.h"

#include <algorithm>

namespace shardc::check {

int64_t Ranks::coordinates(const google::protobuf::RepeatedField<int64_t> &dims,
                           int64_t rank) const {
  const plan::Mesh &mesh = plan.mesh();
  int64_t all = 0;
  for (int64_t dim : dims) {
    int64_t below = 1;
    for (int d = int(dim) + 1; d < mesh.dims_size(); ++d)
      below *= mesh.dims(d);
    all = all * mesh.dims(int(dim)) + rank / below % mesh.dims(int(dim));
  }
  return all;
}

int64_t Ranks::slice(int64_t shards, int64_t rank) const {
  return shards == 1 ? 0 : coordinates(plan.mesh().shard_dims(), rank);
}
int64_t Ranks::optimizerSlice(int64_t shards, int64_t rank) const {
  return shards == 1 ? 0 : coordinates(plan.mesh().optimizer_dims(), rank);
}

void Ranks::check(Findings &findings) const {
  const plan::Mesh &mesh = plan.mesh();
  int64_t ranks = 1, shards = 1, optimizerShards = 1;
  for (int64_t dim : mesh.dims()) {
    if (dim < 1 || dim > 1 << 20 || (ranks *= dim) > 1 << 20)
      return findings.add("the mesh", "has a dim of ", dim, " ranks");
  }
  if (ranks != mesh.ranks())
    return findings.add("the mesh", "has ", mesh.ranks(), " ranks, its dims ",
                        ranks);
  for (auto [dims, count] :
       {std::pair(&mesh.shard_dims(), &shards),
        std::pair(&mesh.optimizer_dims(), &optimizerShards)}) {
    std::set<int64_t> seen;
    for (int64_t dim : *dims) {
      if (dim < 0 || dim >= mesh.dims_size() || !seen.insert(dim).second)
        return findings.add("the mesh", "is cut over dim ", dim, " of ",
                            mesh.dims_size());
      *count *= mesh.dims(int(dim));
    }
  }
  if (shards != mesh.shards() || optimizerShards != mesh.optimizer_shards())
    findings.add("the mesh", "has ", mesh.shards(), " and ",
                 mesh.optimizer_shards(), " slices, its dims make ", shards,
                 " and ", optimizerShards);
  for (int d = 0; d < mesh.shard_dims_size(); ++d)
    if (d >= mesh.optimizer_dims_size() ||
        mesh.optimizer_dims(d) != mesh.shard_dims(d))
      findings.add("the mesh", "cuts optimizers over other dims than "
                               "parameters");
  if (plan.groups_size() == 0)
    return findings.add("the mesh", "has no groups of ranks");
  for (int g = 0; g < plan.groups_size(); ++g) {
    const plan::Group &group = plan.groups(g);
    const std::string where = "group " + group.name();
    if (group.stride() < 1 || group.size() < 1 || group.stride() > ranks ||
        group.size() > ranks) {
      findings.add(where, "has ", group.size(), " ranks, ", group.stride(),
                   " apart");
      continue;
    }
    // Who is in a group finds the same first rank, another number, and all are
    // ranks: then each group is met by its members alone.
    std::map<int64_t, std::vector<bool>> members;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t first = base(g, rank), own = number(g, rank);
      int64_t last = first + (group.size() - 1) * group.stride();
      std::vector<bool> &here = members[first];
      here.resize(group.size());
      if (first < 0 || last >= ranks || here[own]) {
        findings.add(where, "is no partition of ", ranks, " ranks: rank ", rank,
                     " is in ", first, " to ", last, " as number ", own);
        break;
      }
      here[own] = true;
    }
    for (const auto &[first, here] : members)
      if (std::ranges::count(here, false)) {
        findings.add(where, "lacks ranks that it waits for: of the group from ",
                     "rank ", first, " on");
        break;
      }
  }
  const plan::Group &world = plan.groups(0);
  if (world.stride() != 1 || world.size() != ranks)
    findings.add("group " + world.name(), "is not all ranks");
}

std::string Ranks::remember(const std::string &question,
                            const std::function<std::string()> &ask) {
  auto [found, isNew] = answers.try_emplace(question);
  if (isNew)
    found->second = ask();
  return found->second;
}

static std::string text(const std::vector<Link> &chain) {
  std::string all;
  for (const Link &link : chain)
    all += concat(link.scatters ? " s" : " a", link.group);
  return all;
}

std::string Ranks::sumsAll(const std::vector<Link> &chain) {
  return remember("sums" + text(chain), [&]() -> std::string {
    std::optional<Reach> reached = reach(chain);
    if (!reached)
      return "the sum takes parts of ranks twice";
    int64_t ranks = plan.mesh().ranks();
    if (ranks == 1 || *reached == Reach{{1, ranks}})
      return "";
    return "the sum is not over all ranks";
  });
}

std::optional<Ranks::Reach> Ranks::reach(const std::vector<Link> &chain) const {
  // Groups are digits of a rank's number.
  Reach parts, merged;
  for (const Link &link : chain)
    if (const plan::Group &group = plan.groups(int(link.group));
        group.size() > 1)
      parts.push_back({group.stride(), group.stride() * group.size()});
  std::ranges::sort(parts);
  for (auto [begin, end] : parts) {
    if (!merged.empty() && begin < merged.back().second)
      return std::nullopt;
    if (!merged.empty() && begin == merged.back().second)
      merged.back().second = end;
    else
      merged.push_back({begin, end});
  }
  return merged;
}

std::string Ranks::isOptimizerSlice(const std::vector<Link> &chain,
                                    int64_t shards) {
  return remember(concat("slice ", shards, text(chain)), [&]() -> std::string {
    for (int64_t rank = 0; rank < plan.mesh().ranks(); ++rank) {
      int64_t own = 0, parts = 1;
      for (const Link &link : chain)
        if (link.scatters) {
          own = own * plan.groups(int(link.group)).size() +
                number(link.group, rank);
          parts *= plan.groups(int(link.group)).size();
        }
      if (parts != shards || own != optimizerSlice(shards, rank))
        return concat("rank ", rank, " has slice ", own, " of ", parts,
                      " of the gradients and slice ",
                      optimizerSlice(shards, rank), " of ", shards,
                      " of the optimizer's state");
    }
    return "";
  });
}

std::string Ranks::gathersAll(uint32_t group, int64_t shards) {
  return remember(concat("gathers ", group, " ", shards), [&]() -> std::string {
    const plan::Group &of = plan.groups(int(group));
    if (of.size() != shards)
      return concat("group ", of.name(), " has ", of.size(),
                    " ranks, the unit ", shards, " slices");
    for (int64_t r = 0; r < plan.mesh().ranks(); ++r)
      if (number(group, r) != slice(shards, r))
        return concat("rank ", r, " is number ", number(group, r), " of group ",
                      of.name(), ", and has slice ", slice(shards, r));
    return "";
  });
}

std::string Ranks::gathersUpdates(uint32_t group, int64_t shards,
                                  int64_t optimizerShards) {
  return remember(concat("updates ", group, " ", shards, " ", optimizerShards),
                  [&]() -> std::string {
                    const plan::Group &of = plan.groups(int(group));
                    int64_t parts = optimizerShards / shards;
                    if (of.size() != parts)
                      return concat("group ", of.name(), " has ", of.size(),
                                    " ranks, a slice of the parameters ", parts,
                                    " optimizer slices");
                    for (int64_t r = 0; r < plan.mesh().ranks(); ++r)
                      if (slice(shards, base(group, r)) != slice(shards, r) ||
                          slice(shards, r) * parts + number(group, r) !=
                              optimizerSlice(optimizerShards, r))
                        return concat("rank ", r, " is number ",
                                      number(group, r), " of group ", of.name(),
                                      ", and has slice ",
                                      optimizerSlice(optimizerShards, r),
                                      " of ", optimizerShards);
                    return "";
                  });
}

} // namespace shardc::check
