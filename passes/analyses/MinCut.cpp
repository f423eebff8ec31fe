// Dinic's algorithm, without recursion: networks are as deep as models.
#include "passes/analyses/MinCut.h"

#include <algorithm>
#include <cassert>

namespace shardc {

int64_t FlowNetwork::addEdge(int64_t from, int64_t to, int64_t capacity) {
  assert(capacity >= 0 && "a capacity is an amount");
  edges.push_back({to, capacity});
  edges.push_back({from, 0});
  return static_cast<int64_t>(edges.size()) / 2 - 1;
}

void FlowNetwork::setCapacity(int64_t edge, int64_t capacity) {
  assert(capacity >= 0 && "a capacity is an amount");
  edges[2 * edge].capacity = capacity;
}

void FlowNetwork::arrange() {
  firstEdge.assign(nodes + 1, 0);
  for (const Edge &edge : edges) // the reverse edge leaves where this one ends
    ++firstEdge[edge.to + 1];
  for (int64_t node = 0; node < nodes; ++node)
    firstEdge[node + 1] += firstEdge[node];
  edgesOf.resize(edges.size());
  std::vector<int64_t> end = firstEdge;
  for (size_t edge = 0; edge < edges.size(); ++edge)
    edgesOf[end[edges[edge ^ 1].to]++] = static_cast<int64_t>(edge);
}

void FlowNetwork::findDistances(int64_t source) {
  distance.assign(nodes, -1);
  distance[source] = 0;
  std::vector<int64_t> reached = {source};
  for (size_t i = 0; i < reached.size(); ++i)
    for (int64_t at = firstEdge[reached[i]]; at < firstEdge[reached[i] + 1];
         ++at)
      if (const Edge &edge = edges[edgesOf[at]];
          edge.left > 0 && distance[edge.to] < 0) {
        distance[edge.to] = distance[reached[i]] + 1;
        reached.push_back(edge.to);
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
    for (; next[node] < firstEdge[node + 1]; ++next[node]) {
      int64_t edge = edgesOf[next[node]];
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
  if (edgesOf.size() != edges.size() ||
      static_cast<int64_t>(firstEdge.size()) != nodes + 1)
    arrange();
  for (Edge &edge : edges)
    edge.left = edge.capacity;
  for (;;) {
    findDistances(source);
    if (distance[sink] < 0 || cut.capacity >= unlimited)
      break;
    next.assign(firstEdge.begin(), std::prev(firstEdge.end()));
    cut.capacity += sendBlockingFlow(source, sink);
  }
  cut.withSource.resize(nodes);
  for (int64_t node = 0; node < nodes; ++node)
    cut.withSource[node] = distance[node] >= 0;
  return cut;
}

} // namespace shardc
