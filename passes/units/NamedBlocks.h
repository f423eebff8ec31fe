// Finds the parameters that form a block that repeats, as their names tell it.
#ifndef SHARDC_PASSES_UNITS_NAMEDBLOCKS_H
#define SHARDC_PASSES_UNITS_NAMEDBLOCKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace shardc {

/// A parameter as this analysis sees it.
struct BlockParameter {
  /// Module path and name, "layers.0.attn.q_proj.weight"; without dots where
  /// the file knows none.
  std::string path;
  llvm::SmallVector<int64_t> shape;
};

/// A member of a module list.
struct NamedBlock {
  std::string name;                  // "layers.0"
  std::string list;                  // "layers", or "" for the model's own list
  int64_t number = 0;                // in the list
  size_t of = 0;                     // members of the list
  llvm::SmallVector<size_t> members; // ascending
};

/// Returns the blocks that names tell, list by list. A module list is a path
/// with numbered members ("layers.0.", "layers.1."). Of the lists with at least
/// two members of equal parameters, the outermost are taken, the one that
/// covers the most elements first; a list that covers less than a tenth of what
/// that one covers is not worth units of its own. Where no two members have
/// equal shapes, equal names serve. RepeatedRuns.h finds what repeats without
/// names.
llvm::SmallVector<NamedBlock>
findNamedBlocks(llvm::ArrayRef<BlockParameter> parameters);

} // namespace shardc

#endif
