// Decides which parameters are gathered together: the ways that --units names,
// over what UnitModel knows. `auto` is in AutoUnits.
#ifndef SHARDC_PASSES_UNITS_UNITPOLICY_H
#define SHARDC_PASSES_UNITS_UNITPOLICY_H

#include "passes/options/UnitsOption.h"
#include "passes/units/UnitCosts.h"
#include "passes/units/UnitModel.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc {

/// Assigns every parameter of `model` to one unit; units are in the order of
/// their first use. The error is one line that says what matches nothing, and
/// what there is.
llvm::Expected<std::vector<AssignedUnit>> assignUnits(const UnitModel &model,
                                                      const UnitsOption &option,
                                                      const UnitCosts &costs);

} // namespace shardc

#endif
