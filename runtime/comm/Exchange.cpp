// The begin and the end that all exchanges have.
#include "runtime/comm/Exchange.h"

#include "runtime/base/Error.h"

#include <algorithm>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardc::runtime {

int GroupSides::sideOf(int member) const {
  for (size_t i = 0; i < sides.size(); ++i)
    if (member < sides[i].end)
      return int(i);
  return int(sides.size()) - 1;
}

std::unique_ptr<Exchange> Exchange::of(ExchangeContext context) {
  switch (context.own[0].kind) {
  case Contribution::Kind::AllGather:
    return gatherExchange(std::move(context));
  case Contribution::Kind::ReduceScatter:
    return scatterExchange(std::move(context));
  case Contribution::Kind::AllToAll:
    return allToAllExchange(std::move(context));
  default:
    return allReduceExchange(std::move(context));
  }
}

Exchange::Exchange(ExchangeContext context)
    : context(std::move(context)), words(group().sides.size()),
      theirAddresses(group().sides.size()) {}

void Exchange::send(int side, Role role, const void *data, int64_t bytes,
                    Transport::Done done) {
  ++toSend;
  context.network.send(group().sides[side].process, context.firstChannel + role,
                       data, bytes, [this, done = std::move(done)] {
                         --toSend;
                         if (done)
                           done();
                         release();
                       });
}

void Exchange::receive(int side, Role role, void *data, int64_t bytes,
                       Transport::Done done) {
  context.network.receive(group().sides[side].process,
                          context.firstChannel + role, data, bytes,
                          std::move(done));
}

[[noreturn]] static void failToAgree(int rank, int other,
                                     const std::string &what,
                                     const std::string &otherWhat) {
  fail("rank ", rank, " and rank ", other,
       " disagree about a collective: ", what, " and ", otherWhat);
}

void Exchange::checkOwn() const {
  int first = group().ownSide().begin;
  for (size_t i = 1; i < context.own.size(); ++i)
    if (!any().agreesWith(context.own[i]))
      failToAgree(group().worldRank(first), group().worldRank(first + int(i)),
                  any().describe(), context.own[i].describe());
}

void Exchange::check(int side) const {
  const Word &other = words[side];
  if (other.number == ownWord.number && other.hash == ownWord.hash)
    return;
  auto text = [](const Word &word) {
    return concat(std::string(word.text, strnlen(word.text, sizeof(word.text))),
                  " (number ", word.number, ")");
  };
  failToAgree(group().worldRank(group().ownSide().begin),
              group().worldRank(group().sides[side].begin), text(ownWord),
              text(other));
}

void Exchange::begin() {
  checkOwn();
  std::string text = any().describe();
  ownWord.number = context.number;
  ownWord.hash = XXH3_64bits(text.data(), text.size());
  std::memcpy(ownWord.text, text.data(),
              std::min(text.size(), sizeof(ownWord.text) - 1));
  own = ownAddresses();
  int sides = int(group().sides.size());
  toHear = sides - 1;
  for (int side = 0; side < sides; ++side) {
    if (side == group().own)
      continue;
    send(side, Begins, &ownWord, sizeof(Word));
    bool tells = group().isNear(side);
    if (tells) {
      send(side, Begins, own.data(), int64_t(own.size() * sizeof(void *)));
      ++toAnswer;
      receive(side, HasRead, nullptr, 0, [this] {
        --toAnswer;
        release();
      });
    }
    receive(side, Begins, &words[side], sizeof(Word), [this, side, tells] {
      check(side);
      if (!tells)
        return heard();
      // As many as of this process, for each of its members.
      auto &theirs = theirAddresses[side];
      theirs.resize(own.size() / context.own.size() *
                    group().sides[side].size());
      receive(side, Begins, theirs.data(),
              int64_t(theirs.size() * sizeof(void *)), [this] { heard(); });
    });
  }
  if (sides == 1)
    run();
}

void Exchange::heard() {
  if (--toHear == 0)
    run();
}

void Exchange::finishData() {
  for (int side = 0; side < int(group().sides.size()); ++side)
    if (side != group().own && group().isNear(side))
      send(side, HasRead, nullptr, 0);
  dataDone = true;
  context.hasResults();
  release();
}

void Exchange::release() {
  if (!dataDone || toSend > 0 || toAnswer > 0)
    return;
  dataDone = false; // once
  context.isReleased();
}

} // namespace shardc::runtime
