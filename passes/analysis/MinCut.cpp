// Dinic's algorithm, without recursion: networks are as deep as models.
#include "passes/analysis/MinCut.h"

#include <algorithm>
#include <cassert>

namespace shardc {

void FlowNetwork::addEdge(int64_t from, int64_t to, int64_t capacity) {
  assert(capacity >= 0 && "a capacity is an amount");
  edgesOf[from].push_back(static_cast<int64_t>(edges.size()));
  edges.push_back({to, capacity});
  edgesOf[to].push_back(static_cast<int64_t>(edges.size()));
  edges.push_back({from, 0});
}

void FlowNetwork::findDistances(int64_t source) {
  distance.assign(edgesOf.size(), -1);
  distance[source] = 0;
  std::vector<int64_t> reached = {source};
  for (size_t i = 0; i < reached.size(); ++i)
    for (int64_t edge : edgesOf[reached[i]])
      if (edges[edge].left > 0 && distance[edges[edge].to] < 0) {
        distance[edges[edge].to] = distance[reached[i]] + 1;
        reached.push_back(edges[edge].to);
      }
}

int64_t FlowNetwork::sendBlockingFlow(int64_t source, int64_t sink) {
  int64_t sent = 0;
  std::vector<int64_t> path; // edges from the source to `node`
  int64_t node = source;
  for (;;) {
    if (node == sink) {
      int64_t room = unlimited;
      for (int64_t edge : path)
        room = std::min(room, edges[edge].left);
      for (int64_t edge : path) {
        edges[edge].left -= room;
        edges[edge ^ 1].left += room;
      }
      sent += room;
      if (sent >= unlimited)
        return sent; // no cut: nothing more is of interest
      path.clear();
      node = source;
      continue;
    }
    bool advanced = false;
    for (; next[node] < int64_t(edgesOf[node].size()); ++next[node]) {
      int64_t edge = edgesOf[node][next[node]];
      if (edges[edge].left > 0 &&
          distance[edges[edge].to] == distance[node] + 1) {
        path.push_back(edge);
        node = edges[edge].to;
        advanced = true;
        break;
      }
    }
    if (advanced)
      continue;
    if (path.empty())
      return sent;
    // A dead end: no path goes through here again.
    distance[node] = -1;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
  }
}

FlowNetwork::Cut FlowNetwork::minCut(int64_t source, int64_t sink) {
  Cut cut;
  for (;;) {
    findDistances(source);
    if (distance[sink] < 0 || cut.capacity >= unlimited)
      break;
    next.assign(edgesOf.size(), 0);
    cut.capacity += sendBlockingFlow(source, sink);
  }
  cut.withSource.resize(edgesOf.size());
  for (size_t node = 0; node < edgesOf.size(); ++node)
    cut.withSource[node] = distance[node] >= 0;
  return cut;
}

} // namespace shardc
