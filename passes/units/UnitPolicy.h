// Which parameters are gathered together: the ways that --units names, over
// what UnitModel knows. `auto` is in AutoUnits.
#ifndef SHARDC_PASSES_UNITS_UNITPOLICY_H
#define SHARDC_PASSES_UNITS_UNITPOLICY_H

#include "passes/options/UnitsOption.h"
#include "passes/units/UnitCosts.h"
#include "passes/units/UnitModel.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc {

/// Every parameter of `model` in one unit, units by first use. The error is one
/// line that says what matches nothing, and what there is.
llvm::Expected<std::vector<AssignedUnit>> assignUnits(const UnitModel &model,
                                                      const UnitsOption &option,
                                                      const UnitCosts &costs);

} // namespace shardc

#endif
