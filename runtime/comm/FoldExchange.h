// Sums (and maxima) over ranks in several processes, in rank order. Such a sum
// is a left fold: a node adds what its members bring to the partial sum of the
// nodes before it, and passes it on, in chunks, so that all nodes are busy.
#ifndef SHARDC_RUNTIME_COMM_FOLDEXCHANGE_H
#define SHARDC_RUNTIME_COMM_FOLDEXCHANGE_H

#include "runtime/comm/Exchange.h"

#include <deque>

namespace shardc::runtime {

class FoldExchange : public Exchange {
protected:
  using Exchange::Exchange;

  /// Elements [begin, begin + count) of a segment (all-reduce) or a rank's
  /// slice (reduce-scatter).
  struct Chunk {
    int part = 0; // the segment, or the slice's rank
    int64_t begin = 0, count = 0;
    size_t number = 0; // among all, where the collective counts them
  };
  /// A chunk that this process folds, from its arrival to its departure.
  struct Fold {
    Chunk chunk;
    std::vector<std::vector<std::byte>> incoming;
    std::vector<std::byte> outgoing;
    int awaited = 0; // messages
  };
  struct Message {
    int side;
    Role role;
    int64_t bytes;
  };

  static std::vector<Chunk> chunksOf(int part, int64_t count,
                                     int64_t elementBytes);

  /// Begins to fold these, in their order.
  void fold(std::vector<Chunk> chunks);

  // What the kind of collective says of a chunk:
  /// What has to arrive before it is folded.
  virtual std::vector<Message> awaitedFor(const Chunk &chunk) const = 0;
  /// Called in the order of chunks: combines, and calls combined().
  virtual void combine(Fold &fold) = 0;
  /// The fold, or what it was sent from, is not needed any more.
  void combined(Fold &fold);
  /// Called when all chunks were.
  virtual void folded() = 0;

  /// Where members [first, last) of the group have a chunk; of other processes
  /// of this node in their memory. Their elements are combined and written to
  /// all of `destinations`.
  struct Terms {
    int first, last;
    plan::DType dtype;
    Combine combine;
    /// By member from `first` on.
    std::vector<const std::byte *> sources;
    Unrounded unrounded;
    /// What comes before the first of them, of `dtype`; null: nothing.
    const std::byte *partial = nullptr;
  };
  void combineTerms(const Terms &terms, std::vector<std::byte *> destinations,
                    int64_t count);

private:
  void launch();
  void combineArrived();

  std::vector<Chunk> chunks;
  size_t next = 0, ended = 0;
  std::deque<std::unique_ptr<Fold>> folds; // in order; not combined yet
  std::vector<std::unique_ptr<Fold>> leaving, unused;
  std::vector<std::vector<std::byte>> scratch; // by member of the node
};

} // namespace shardc::runtime

#endif
