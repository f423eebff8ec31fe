// The pools of a plan that are told from the others by their names.
#ifndef SHARDC_RUNTIME_BASE_POOLNAMES_H
#define SHARDC_RUNTIME_BASE_POOLNAMES_H

#include <string_view>

namespace shardc::runtime {

/// What is kept from one micro-batch of a step to the next.
inline bool isAccumulationPool(std::string_view name) {
  return name == "accumulation";
}

/// A file, or the memory of the machine around a device: only transfers reach
/// it.
inline bool isHostPool(std::string_view name) { return name == "host"; }

/// Whether a run does without the pool. `accumulates`: its steps have several
/// micro-batches.
inline bool isPoolUnused(std::string_view name, bool accumulates) {
  return isAccumulationPool(name) && !accumulates;
}

} // namespace shardc::runtime

#endif
