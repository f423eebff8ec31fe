// Which states a plan's optimizer keeps of a parameter.
#ifndef SHARDC_RUNTIME_ENGINE_PARAMETERSTATES_H
#define SHARDC_RUNTIME_ENGINE_PARAMETERSTATES_H

#include "runtime/device/Optimizers.h"
#include "runtime/plan.pb.h"

#include <string>

namespace shardc::runtime {

/// Whether the plan's optimizer updates a parameter as a whole matrix.
bool isWholeMatrix(const plan::Plan &plan, const plan::Parameter &parameter);

/// Whether it holds running statistics, which a step moves, and no optimizer.
bool isRunning(const plan::Parameter &parameter);

/// Returns torch's name of a trained parameter's state, of those that
/// Optimizer.states lists; empty where this parameter has none at that place.
std::string stateNameOf(const plan::Plan &plan,
                        const plan::Parameter &parameter, int index);

} // namespace shardc::runtime

#endif
