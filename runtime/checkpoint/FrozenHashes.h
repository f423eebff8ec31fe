// Values that a run does not train and no checkpoint has: whether a run that
// goes on has those of the run that was saved.
#ifndef SHARDC_RUNTIME_CHECKPOINT_FROZENHASHES_H
#define SHARDC_RUNTIME_CHECKPOINT_FROZENHASHES_H

#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/weights/ParameterSource.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc::runtime {

/// By parameter; of its values as float32 (integers: as they are), so that
/// neither precision nor the type of a file changes it.
using FrozenHashes = std::map<std::string, uint64_t>;

/// Of all parameters that are neither trained nor in `resumed` (null: the run
/// begins anew). Reads all of them, on `threads` threads.
FrozenHashes frozenHashes(const plan::Plan &plan, const ParameterSource &values,
                          const StoredCheckpoint *resumed, int threads);

/// Throws an Error where a parameter that is frozen has another hash than the
/// checkpoint says. Returns warnings of buffers, which another export may
/// compute in another way.
std::vector<std::string> checkFrozen(const plan::Plan &plan,
                                     const FrozenHashes &now,
                                     const StoredCheckpoint &resumed);

} // namespace shardc::runtime

#endif
