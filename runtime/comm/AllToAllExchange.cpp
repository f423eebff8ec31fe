// All-to-alls between processes: a message for each parcel, in the order of
// senders, receivers and their lists.
#include "runtime/comm/Exchange.h"

#include <cstring>

namespace shardc::runtime {
namespace {

class AllToAllExchange final : public Exchange {
public:
  explicit AllToAllExchange(ExchangeContext context)
      : Exchange(std::move(context)) {}

private:
  // Nobody reads them: what goes to another process is sent.
  std::vector<const void *> ownAddresses() const override {
    return std::vector<const void *>(context.own.size());
  }
  void run() override;
  void sendTo(int side);
  void receiveFrom(int side);
  void copyOwn();
  void done() {
    if (--left == 0)
      finishData();
  }

  int64_t left = 1;
};

void AllToAllExchange::run() {
  for (int side = 0; side < int(group().sides.size()); ++side)
    if (side != group().own) {
      receiveFrom(side);
      sendTo(side);
    }
  copyOwn();
  done();
}

void AllToAllExchange::sendTo(int side) {
  const Side &own = group().ownSide(), &other = group().sides[side];
  for (int from = own.begin; from < own.end; ++from)
    for (int to = other.begin; to < other.end; ++to)
      for (const Parcel &parcel : ofMember(from).sendsTo(to))
        send(side, Carries, parcel.data, parcel.bytes);
}

void AllToAllExchange::receiveFrom(int side) {
  const Side &own = group().ownSide(), &other = group().sides[side];
  for (int from = other.begin; from < other.end; ++from)
    for (int to = own.begin; to < own.end; ++to)
      for (const Parcel &parcel : ofMember(to).receivesFrom(from)) {
        ++left;
        receive(side, Carries, parcel.data, parcel.bytes, [this] { done(); });
      }
}

void AllToAllExchange::copyOwn() {
  const Side &own = group().ownSide();
  for (int from = own.begin; from < own.end; ++from)
    for (int to = own.begin; to < own.end; ++to) {
      requireParcels(ofMember(from), from, ofMember(to), to);
      copyParcels(ofMember(from), from, ofMember(to), to);
    }
}

} // namespace

std::unique_ptr<Exchange> allToAllExchange(ExchangeContext context) {
  return std::make_unique<AllToAllExchange>(std::move(context));
}

} // namespace shardc::runtime
