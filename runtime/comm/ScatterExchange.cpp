// Reduce-scatters between processes. In the rule each node folds; where each
// has one member alone, that member's slices go to their ranks as they are, and
// these add them: fewer bytes, and one way instead of one for each node.
#include "runtime/comm/FoldExchange.h"

#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

class ScatterExchange final : public FoldExchange {
public:
  explicit ScatterExchange(ExchangeContext context)
      : FoldExchange(std::move(context)) {
    isDirect = int(group().nodes.size()) == group().size();
  }

private:
  std::vector<const void *> ownAddresses() const override {
    std::vector<const void *> sources;
    for (const Contribution &each : context.own)
      sources.push_back(each.source);
    return sources;
  }
  void run() override;
  std::vector<Message> awaitedFor(const Chunk &chunk) const override;
  void combine(Fold &fold) override;
  void folded() override { done(); }
  void done() {
    if (--left == 0)
      finishData();
  }

  int64_t element() const { return elementSize(any().dtype); }
  int64_t sumElement() const {
    return elementSize(Communicator::sumType(any().dtype));
  }
  /// Of what the collective makes.
  int64_t resultElement() const {
    return any().running.ends ? element() : sumElement();
  }
  int nodes() const { return int(group().nodes.size()); }
  int ownNode() const { return group().nodeOf[group().own]; }
  /// The side that folds a rank's slice for a node.
  int folderOf(int node, int slice) const {
    int side = group().sideOf(slice);
    const GroupSides::Node &of = group().nodes[node];
    return group().nodeOf[side] == node ? side : of.begin + slice % of.size();
  }
  /// A chunk of its rank's result.
  std::byte *resultOf(const Chunk &chunk) const {
    const Contribution &own = ofMember(chunk.part);
    return placeOf(own.destination, own.running) +
           chunk.begin * resultElement();
  }
  /// Shows a chunk of its rank's result to who reads it.
  void show(const Chunk &chunk) const {
    if (ResultReader *reader = ofMember(chunk.part).reader)
      reader->read(chunk.begin,
                   {resultOf(chunk), size_t(chunk.count * resultElement())});
  }
  const std::byte *beforeOf(const Chunk &chunk) const {
    return static_cast<const std::byte *>(ofMember(chunk.part).running.data) +
           chunk.begin * sumElement();
  }
  /// Where a chunk begins in a member's elements.
  int64_t offsetOf(const Chunk &chunk) const {
    return (chunk.part * any().count + chunk.begin) * element();
  }
  void exchangeDirectly();
  void receiveResults();

  bool isDirect;
  int left = 1;
};

void ScatterExchange::run() {
  std::vector<Chunk> own;
  for (int slice = 0; slice < group().size(); ++slice)
    if (isDirect ? isOwn(slice) : folderOf(ownNode(), slice) == group().own)
      for (const Chunk &chunk : chunksOf(slice, any().count, element()))
        own.push_back(chunk);
  if (isDirect)
    exchangeDirectly();
  else
    receiveResults();
  fold(std::move(own));
}

/// Sends the others' slices to them.
void ScatterExchange::exchangeDirectly() {
  for (int slice = 0; slice < group().size(); ++slice)
    if (!isOwn(slice))
      for (const Chunk &chunk : chunksOf(slice, any().count, element()))
        send(group().sideOf(slice), Carries, any().source + offsetOf(chunk),
             chunk.count * element());
}

/// Of slices that another node ends, which this process begins or only gets.
void ScatterExchange::receiveResults() {
  for (int slice = group().ownSide().begin; slice < group().ownSide().end;
       ++slice) {
    int begins = folderOf(0, slice), ends = folderOf(nodes() - 1, slice);
    for (const Chunk &chunk : chunksOf(slice, any().count, element())) {
      if (!any().running.begins && begins != group().own)
        send(begins, StartsSum, beforeOf(chunk), chunk.count * sumElement());
      if (ends == group().own)
        continue;
      ++left;
      receive(ends, Returns, resultOf(chunk), chunk.count * resultElement(),
              [this, chunk] {
                show(chunk);
                done();
              });
    }
  }
}

std::vector<FoldExchange::Message>
ScatterExchange::awaitedFor(const Chunk &chunk) const {
  std::vector<Message> messages;
  if (isDirect) {
    for (int side = 0; side < int(group().sides.size()); ++side)
      if (side != group().own)
        messages.push_back({side, Carries, chunk.count * element()});
    return messages;
  }
  int64_t bytes = chunk.count * sumElement();
  if (ownNode() > 0)
    messages.push_back({folderOf(ownNode() - 1, chunk.part), Carries, bytes});
  else if (!any().running.begins && !isOwn(chunk.part))
    messages.push_back({group().sideOf(chunk.part), StartsSum, bytes});
  return messages;
}

void ScatterExchange::combine(Fold &fold) {
  const Chunk &chunk = fold.chunk;
  const GroupSides::Node &node = group().nodes[ownNode()];
  Terms terms{group().sides[node.begin].begin,
              group().sides[node.end - 1].end,
              any().dtype,
              Combine::Sum,
              {},
              {nullptr, !any().running.ends}};
  bool isLast = isDirect || ownNode() + 1 == nodes();
  if (isDirect) {
    terms.first = 0, terms.last = group().size();
  } else if (!isLast) {
    terms.unrounded.after = true;
  }
  size_t arrived = 0;
  for (int member = terms.first; member < terms.last; ++member) {
    int side = group().sideOf(member);
    if (isOwn(member))
      terms.sources.push_back(ofMember(member).source + offsetOf(chunk));
    else if (isDirect)
      terms.sources.push_back(fold.incoming[arrived++].data());
    else
      terms.sources.push_back(
          addresses(side)[member - group().sides[side].begin] +
          offsetOf(chunk));
  }
  if (!isDirect && !fold.incoming.empty())
    terms.unrounded.before = fold.incoming[0].data();
  else if (!any().running.begins && (isDirect || ownNode() == 0))
    terms.unrounded.before = beforeOf(chunk);

  if (isLast && isOwn(chunk.part)) {
    combineTerms(terms, {resultOf(chunk)}, chunk.count);
    show(chunk);
    return combined(fold);
  }
  int64_t bytes = chunk.count * (isLast ? resultElement() : sumElement());
  fold.outgoing.resize(bytes);
  combineTerms(terms, {fold.outgoing.data()}, chunk.count);
  send(isLast ? group().sideOf(chunk.part)
              : folderOf(ownNode() + 1, chunk.part),
       isLast ? Returns : Carries, fold.outgoing.data(), bytes,
       [this, &fold] { combined(fold); });
}

} // namespace

std::unique_ptr<Exchange> scatterExchange(ExchangeContext context) {
  return std::make_unique<ScatterExchange>(std::move(context));
}

} // namespace shardc::runtime
