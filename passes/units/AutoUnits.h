// --units auto: blocks, what lies before and after them, and how the cost model
// merges and splits these.
#ifndef SHARDC_PASSES_UNITS_AUTOUNITS_H
#define SHARDC_PASSES_UNITS_AUTOUNITS_H

#include "passes/units/UnitCosts.h"

namespace shardc {

/// A unit of more than this part of a rank's memory is split: two units are
/// alive at once, and the gradients of one, in twice the bytes.
constexpr double mostOfMemory = 0.05;

/// Units by first use:
/// - each repeated block (findBlocks), with what is used inside it alone;
/// - `embedding`, used before the first block; `head`, used after the last;
///   `between`, where there are several repetitions;
/// - `tied`, used before and after, and `shared`, used in several blocks: alive
///   through all of them, so apart from each one;
/// - `model`, where nothing repeats.
///
/// With more than one rank, neighbours are merged while one's transfer takes
/// less time than its latency (blocks evenly; embedding and head into the next
/// block), and what gathers more than mostOfMemory is split, along modules or
/// else in order of use. A table whose rows travel in place of it, since they are
/// less (`fsdp-exchange-rows`), is what `embedding` has; the rest goes to the
/// first block. The first block, whose gather and reduction are waited
/// for, is split where what it uses first hides the rest's.
std::vector<AssignedUnit> assignAuto(const UnitModel &model,
                                     const UnitCosts &costs);

} // namespace shardc

#endif
