// Times of collectives and of arithmetic on a machine, from its description.
// What is estimated here decides units; nothing of it is measured.
#ifndef SHARDC_PASSES_ANALYSES_COSTMODEL_H
#define SHARDC_PASSES_ANALYSES_COSTMODEL_H

#include "passes/options/Cluster.h"

#include <cstdint>
#include <string>

namespace shardc {

/// Ranks that communicate: r, r + stride, ... (size of them), as fsdp.group
/// has them.
struct RankGroup {
  int64_t stride = 1;
  int64_t size = 1;
};

/// Seconds. A collective of half the bytes has half the transfer and all of the
/// latency.
struct CollectiveTime {
  double latency = 0;
  double transfer = 0;
  /// The part of the transfer that goes between nodes, which comes first.
  double between = 0;

  double total() const { return latency + transfer; }
};

class CostModel {
public:
  explicit CostModel(Cluster cluster) : cluster(std::move(cluster)) {}

  /// A ring over S ranks that gathers `bytes` (all slices together) in S - 1
  /// steps of a slice each:
  ///
  ///   t = (S - 1) * latency + (S - 1) / S * bytes / bandwidth
  ///
  /// (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication
  /// Operations in MPICH, 2005, section 4.1; the factor (S - 1) / S is that of
  /// nccl-tests, doc/PERFORMANCE.md.) A group on N nodes with L ranks each
  /// gathers first between nodes, where each rank gets the N slices of its
  /// place in the node, bytes / L together, then inside: the sum of two rings.
  CollectiveTime allGather(double bytes, RankGroup group) const;
  /// The same steps the other way round.
  CollectiveTime reduceScatter(double bytes, RankGroup group) const {
    return allGather(bytes, group);
  }
  /// A reduce-scatter and an all-gather; or, where that is less, a tree of
  /// pairs up and down again, which has fewer messages on the way and moves all
  /// bytes twice:
  ///
  ///   t = 2 * ceil(log2 S) * latency + 2 * bytes / bandwidth
  ///
  /// inside the nodes, and on those of one place in the node between them
  /// (Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast,
  /// reduction and scan, Parallel Computing 35, 2009).
  CollectiveTime allReduce(double bytes, RankGroup group) const;
  /// Each rank gets `bytes` in all, as much from every rank, itself included. On
  /// N nodes with L ranks each, what goes to one node goes through one rank of
  /// the own node, as a message of all its ranks: (N - 1) / N of the bytes
  /// between nodes, in N - 1 messages, and (L - 1) / L of them inside, in L - 1
  /// (NCCL's PXN: NVIDIA, Doubling all2all Performance with NCCL 2.12, 2022).
  CollectiveTime allToAll(double bytes, RankGroup group) const;

  /// Seconds for `flops` (nn's CostModel: a multiply-add counts 2) on values of
  /// `elementBytes` (2, 4 or 8) at the machine's full rate: no run is faster.
  double compute(double flops, int64_t elementBytes) const {
    return flops / cluster.flopsPerSecond(elementBytes);
  }

  const Cluster cluster;
};

/// Three digits and a unit, of which each is 1000 of the one before: "28.3 MB",
/// "1.50 GFLOP", "71 us".
std::string bytesText(double bytes);
std::string operationsText(double operations);
std::string timeText(double seconds);

} // namespace shardc

#endif
