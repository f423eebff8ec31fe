// What goes between processes for one collective of a group whose ranks are in
// several processes.
#ifndef SHARDC_RUNTIME_COMM_EXCHANGE_H
#define SHARDC_RUNTIME_COMM_EXCHANGE_H

#include "runtime/comm/Contribution.h"
#include "runtime/comm/Network.h"
#include "runtime/comm/RankOrderSum.h"

#include <cstring>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// The members of a group that are in one process: [begin, end).
struct Side {
  int process = 0, begin = 0, end = 0;
  int size() const { return end - begin; }
};

/// How a group lies over the processes. Its members are in rank order, so each
/// process has some in a row, and each node some processes in a row.
struct GroupSides {
  int base = 0, stride = 1; // its members in the world: base + k * stride
  std::vector<Side> sides;  // in rank order
  int own = 0;              // index of this process's
  /// Sides of a node: [begin, end).
  struct Node {
    int begin = 0, end = 0;
    int size() const { return end - begin; }
  };
  std::vector<Node> nodes;
  std::vector<int> nodeOf; // by side

  const Side &ownSide() const { return sides[own]; }
  int size() const { return sides.back().end; }
  int worldRank(int member) const { return base + member * stride; }
  int sideOf(int member) const;
  bool isNear(int side) const { return nodeOf[side] == nodeOf[own]; }
};

/// What an exchange works for: the group, this process's members' buffers, and
/// whom it tells.
struct ExchangeContext {
  Network &network;
  const GroupSides &group;
  Transport::Channel firstChannel;      // of channelsOfGroup
  uint64_t number;                      // of the collective in the group
  const std::vector<Contribution> &own; // of this process's members
  /// Results are in the buffers of the process's first member; a sum's in those
  /// of all. The next exchange of the group may begin.
  std::function<void()> hasResults;
  /// Nobody else touches buffers of this process any more.
  std::function<void()> isReleased;
};

/// All of it runs on the network's driver. Every process of the group makes the
/// same ones in the same order, one at a time.
///
/// An exchange begins with a word to all processes of the group of what each
/// takes the collective for; to those of the own node also with the addresses
/// of what they read. These answer when they have read.
class Exchange {
public:
  /// Each kind of message has a channel, in which both ends know the order.
  enum Role : Transport::Channel {
    Begins,    // what the collective is, and addresses
    HasRead,   // of the node's others
    Carries,   // contributions, or partial sums towards the end of the group
    Returns,   // sums towards their ranks
    StartsSum, // what was added before, to where a sum begins
    channelsOfGroup
  };

  virtual ~Exchange() = default;
  static std::unique_ptr<Exchange> of(ExchangeContext context);
  void begin();

protected:
  explicit Exchange(ExchangeContext context);

  /// Addresses of what others of the node read.
  virtual std::vector<const void *> ownAddresses() const = 0;
  /// Called when all processes agree.
  virtual void run() = 0;
  /// Called by run() or later, once: nothing more will be read, received, or
  /// written.
  void finishData();

  const GroupSides &group() const { return context.group; }
  const Contribution &any() const { return context.own[0]; }
  bool isOwn(int member) const {
    return member >= group().ownSide().begin && member < group().ownSide().end;
  }
  const Contribution &ofMember(int member) const {
    return context.own[member - group().ownSide().begin];
  }
  /// What the process of a near side said.
  const std::vector<const std::byte *> &addresses(int side) const {
    return theirAddresses[side];
  }

  void send(int side, Role role, const void *data, int64_t bytes,
            Transport::Done done = {});
  void receive(int side, Role role, void *data, int64_t bytes,
               Transport::Done done);
  void read(int side, const void *from, void *to, int64_t bytes) const {
    context.network.read(group().sides[side].process, from, to, bytes);
  }
  /// Lets other messages go first.
  void later(std::function<void()> work) {
    context.network.post(std::move(work));
  }

  ExchangeContext context;

private:
  /// Says what the collective is for the process that sends it.
  struct Word {
    uint64_t number = 0, hash = 0;
    char text[112] = {}; // Contribution::describe(), cut
  };
  void check(int side) const;
  void checkOwn() const;
  void heard();
  void release();

  Word ownWord;
  std::vector<Word> words;
  std::vector<const void *> own;
  std::vector<std::vector<const std::byte *>> theirAddresses;
  int toHear = 0, toSend = 0, toAnswer = 0;
  bool dataDone = false;
};

std::unique_ptr<Exchange> gatherExchange(ExchangeContext context);
std::unique_ptr<Exchange> scatterExchange(ExchangeContext context);
std::unique_ptr<Exchange> allReduceExchange(ExchangeContext context);
std::unique_ptr<Exchange> allToAllExchange(ExchangeContext context);

} // namespace shardc::runtime

#endif
