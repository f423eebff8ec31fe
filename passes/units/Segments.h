// The segments of a model between its blocks, and where each forward has them.
#ifndef SHARDC_PASSES_UNITS_SEGMENTS_H
#define SHARDC_PASSES_UNITS_SEGMENTS_H

#include "passes/units/Blocks.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc {

/// A block, or what lies before, between or after the blocks.
struct Segment {
  enum Kind { Embedding, Block, Between, Head, Whole };

  Kind kind = Whole;
  std::string name;
  std::string reason; // why what is used in it is a unit
  /// Of blocks, and of what follows the last one of a repetition.
  size_t repetition = 0;
};

/// A graph may run its model several times, as preference tuning does with a
/// chosen and a rejected answer: each forward has the same segments.
class Segments {
public:
  explicit Segments(const UnitModel &model)
      : model(model), blocks(findBlocks(model)) {
    findFirst();
    findLaterForwards();
  }

  /// In the order of their first use.
  llvm::ArrayRef<Segment> inOrder() const { return all; }
  /// The segment that a use is in.
  size_t of(size_t use) const;
  /// The segment of the block that has a parameter by its name; none where no
  /// block has it.
  std::optional<size_t> ofBlock(size_t parameter) const {
    std::optional<size_t> block = blockOf[parameter];
    return block ? std::optional(segmentOfBlock[*block]) : std::nullopt;
  }

private:
  void findFirst();
  /// Each with the use that it begins at.
  std::vector<std::pair<size_t, Segment>> starting();
  void findLaterForwards();
  bool isUsedFrom(size_t use, const RepeatedBlock &block) const;
  void addForward(size_t begin, size_t end, size_t before);

  const UnitModel &model;
  std::vector<RepeatedBlock> blocks;
  std::vector<Segment> all;
  /// Uses from which on a segment is used, ascending.
  std::vector<std::pair<size_t, size_t>> starts;
  /// Blocks by repetition, and of each parameter.
  llvm::DenseMap<size_t, size_t> firstOf, lastOf;
  std::vector<std::optional<size_t>> blockOf;
  std::vector<size_t> segmentOfBlock;
  /// What follows the last block of a repetition.
  llvm::DenseMap<size_t, size_t> segmentAfter;
};

} // namespace shardc

#endif
