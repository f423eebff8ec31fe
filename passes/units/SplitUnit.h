// Splits a unit that is too large into several, between parameters.
#ifndef SHARDC_PASSES_UNITS_SPLITUNIT_H
#define SHARDC_PASSES_UNITS_SPLITUNIT_H

#include "passes/units/UnitModel.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace shardc {

/// One of the parts that a unit is split into.
struct UnitPart {
  std::vector<size_t> members;      // in order of use
  std::vector<std::string> modules; // that they are from, where known
};

/// Cuts `members` (ascending) into parts of at most `most`, as `size` weighs
/// parameters, of about equal size: between modules below what all their paths
/// have in common, inside a module that is larger between ops, and where the
/// parameters of one op are larger between these. A parameter larger than
/// `most` is in a part of its own, together with those neighbours that
/// `isSmall`.
std::vector<UnitPart>
splitUnit(const UnitModel &model, llvm::ArrayRef<size_t> members, double most,
          llvm::function_ref<double(llvm::ArrayRef<size_t>)> size,
          llvm::function_ref<bool(llvm::ArrayRef<size_t>)> isSmall);

} // namespace shardc

#endif
