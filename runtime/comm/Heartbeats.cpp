// Messages of one size, each of which replaces the one before.
#include "runtime/comm/Heartbeats.h"

#include <cstring>

namespace shardc::runtime {

Heartbeats::Heartbeats(Transport &transport, Transport::Channel channel,
                       int ranks, Clock::duration interval,
                       std::function<ProcessNotes()> own)
    : transport(transport), channel(channel), ranks(ranks), interval(interval),
      own(std::move(own)), nextBeat(Clock::now()), peers(transport.processes()),
      heard(transport.processes()) {
  transport.leaveOut(channel);
  size_t bytes = sizeof(uint64_t) + size_t(ranks) * sizeof(RankNoteValue);
  for (int peer = 0; peer < transport.processes(); ++peer) {
    heard[peer].ranks.resize(ranks);
    peers[peer].in.resize(bytes);
    peers[peer].out.resize(bytes);
    if (peer != transport.process())
      listen(peer);
  }
}

void Heartbeats::listen(int from) {
  Peer &peer = peers[from];
  transport.receive(from, channel, peer.in.data(), int64_t(peer.in.size()),
                    [this, from] {
                      hear(from);
                      listen(from);
                    });
}

void Heartbeats::hear(int from) {
  const std::byte *in = peers[from].in.data();
  std::lock_guard lock(mutex);
  ProcessNotes &notes = heard[from];
  std::memcpy(&notes.moves, in, sizeof(notes.moves));
  std::memcpy(notes.ranks.data(), in + sizeof(notes.moves),
              notes.ranks.size() * sizeof(RankNoteValue));
  notes.told = Clock::now();
}

void Heartbeats::beat(Clock::time_point now) {
  if (now < nextBeat)
    return;
  nextBeat = now + interval;
  ProcessNotes mine = own();
  for (int to = 0; to < int(peers.size()); ++to) {
    Peer &peer = peers[to];
    // One that takes no messages gets no second one.
    if (to == transport.process() || peer.isSending)
      continue;
    std::memcpy(peer.out.data(), &mine.moves, sizeof(mine.moves));
    std::memcpy(peer.out.data() + sizeof(mine.moves), mine.ranks.data(),
                size_t(ranks) * sizeof(RankNoteValue));
    peer.isSending = true;
    transport.send(to, channel, peer.out.data(), int64_t(peer.out.size()),
                   [&peer] { peer.isSending = false; });
  }
}

std::vector<ProcessNotes> Heartbeats::notes() const {
  ProcessNotes mine = own();
  std::lock_guard lock(mutex);
  std::vector<ProcessNotes> all = heard;
  all[transport.process()] = std::move(mine);
  return all;
}

} // namespace shardc::runtime
