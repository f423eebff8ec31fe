// The equal parts that a model repeats: --units auto and block start from them.
#ifndef SHARDC_PASSES_UNITS_BLOCKS_H
#define SHARDC_PASSES_UNITS_BLOCKS_H

#include "passes/units/UnitModel.h"

#include <string>
#include <vector>

namespace shardc {

/// One of several equal parts of a model.
struct RepeatedBlock {
  std::string name;            // "layers.0", or "block.0" where names are gone
  std::string which;           // "block 1 of 12 (layers.0)"
  size_t repetition = 0;       // equal for the blocks of one repetition
  std::vector<size_t> members; // ascending, at least one
};

/// Returns the repeated blocks in the order of their first use: those that
/// module paths tell (NamedBlocks.h), or, where those cover less than half
/// of it, what repeats in the sequence of uses (RepeatedRuns.h).
std::vector<RepeatedBlock> findBlocks(const UnitModel &model);

} // namespace shardc

#endif
