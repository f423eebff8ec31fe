// All-gathers between processes: each brings its members' shards to all others,
// so that a gathered byte enters a process once.
#include "runtime/comm/Exchange.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Bytes that are read at a time, and other messages wait for.
constexpr int64_t pieceBytes = 1 << 20;

class GatherExchange final : public Exchange {
public:
  explicit GatherExchange(ExchangeContext context)
      : Exchange(std::move(context)) {}

private:
  std::vector<const void *> ownAddresses() const override {
    std::vector<const void *> sources;
    for (const Contribution &each : context.own)
      sources.push_back(each.source);
    return sources;
  }
  void run() override;
  /// Copies a piece of what this node's processes have.
  void copyNext();
  void done() {
    if (--left == 0)
      finishData();
  }
  std::byte *placeOfMember(int member) const {
    return any().destination + member * any().count;
  }

  int left = 0;
  int member = 0;   // that is copied
  int64_t from = 0; // its next byte
};

void GatherExchange::run() {
  const Side &ownSide = group().ownSide();
  left = 1;
  for (int i = 0; i < int(group().sides.size()); ++i) {
    if (group().isNear(i))
      continue;
    const Side &side = group().sides[i];
    for (int member = ownSide.begin; member < ownSide.end; ++member)
      send(i, Carries, ofMember(member).source, any().count);
    for (int member = side.begin; member < side.end; ++member) {
      ++left;
      receive(i, Carries, placeOfMember(member), any().count,
              [this] { done(); });
    }
  }
  copyNext();
}

void GatherExchange::copyNext() {
  for (; member < group().size(); ++member, from = 0) {
    int side = group().sideOf(member);
    if (!group().isNear(side))
      continue;
    const std::byte *source =
        isOwn(member) ? ofMember(member).source
                      : addresses(side)[member - group().sides[side].begin];
    std::byte *to = placeOfMember(member);
    if (isOwn(member) && source == to)
      continue;
    int64_t bytes = std::min(pieceBytes, any().count - from);
    if (bytes == 0)
      continue;
    if (isOwn(member))
      std::memcpy(to + from, source + from, bytes);
    else
      read(side, source + from, to + from, bytes);
    from += bytes;
    return later([this] { copyNext(); });
  }
  done();
}

} // namespace

std::unique_ptr<Exchange> gatherExchange(ExchangeContext context) {
  return std::make_unique<GatherExchange>(std::move(context));
}

} // namespace shardc::runtime
