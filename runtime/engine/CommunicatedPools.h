// Which pools collectives read and write, as the plan says it.
#ifndef SHARDC_RUNTIME_ENGINE_COMMUNICATEDPOOLS_H
#define SHARDC_RUNTIME_ENGINE_COMMUNICATEDPOOLS_H

#include "runtime/plan.pb.h"

#include <vector>

namespace shardc::runtime {

/// By pool: whether a collective of more than one rank has an operand there.
std::vector<bool> communicatedPools(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
