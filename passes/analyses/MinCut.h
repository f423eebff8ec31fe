// The cheapest edges that separate two nodes of a network.
#ifndef SHARDC_PASSES_ANALYSES_MINCUT_H
#define SHARDC_PASSES_ANALYSES_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace shardc {

/// A directed network with capacities. The least capacity of edges that
/// separate a source from a sink is the largest flow between them (Ford and
/// Fulkerson, 1956); found by Dinic's algorithm (1970).
class FlowNetwork {
public:
  /// Of an edge that no cut may contain.
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;

  int64_t addNode() { return nodes++; }
  /// The edge's number. `capacity` is at least 0.
  int64_t addEdge(int64_t from, int64_t to, int64_t capacity);
  void setCapacity(int64_t edge, int64_t capacity);

  struct Cut {
    int64_t capacity = 0;
    /// By node: whether it stays with the source. The smallest such side where
    /// several cuts are as cheap.
    std::vector<bool> withSource;
  };
  /// A capacity of `unlimited` or more says that every path cannot be cut.
  Cut minCut(int64_t source, int64_t sink);

private:
  struct Edge {
    int64_t to;
    int64_t capacity;
    int64_t left = 0; // of the capacity, without flow
  };
  /// Lists the edges of each node.
  void arrange();
  /// Numbers nodes by their distance from `source` along edges with room.
  void findDistances(int64_t source);
  /// Sends flow along shortest paths until none has room.
  int64_t sendBlockingFlow(int64_t source, int64_t sink);

  int64_t nodes = 0;
  std::vector<Edge> edges; // 2i and its reverse 2i + 1
  /// Edges by the node that they leave, those of node n from firstEdge[n] on.
  std::vector<int64_t> edgesOf, firstEdge;
  std::vector<int64_t> distance, next;
};

} // namespace shardc

#endif
