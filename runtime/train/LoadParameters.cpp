// Parameters by rank, from what is stored.
#include "runtime/train/LoadParameters.h"

#include "runtime/engine/ParameterStates.h"
#include "runtime/weights/RankValues.h"

#include <map>

namespace shardc::runtime {

void loadParameters(const Run &run, Rank &rank) {
  const plan::Plan &plan = run.plan;
  readInitialValues(plan, rank, run.initialValues);
  if (!run.resumed)
    return;
  std::map<std::string, std::unique_ptr<ParameterSource>> states; // by name
  for (const plan::Unit &unit : plan.units())
    for (uint32_t member : unit.parameters())
      for (int i = 0; i < unit.state_buffers_size(); ++i) {
        Slice slice = rank.stateSlice(unit, member, i);
        if (!slice)
          continue;
        std::string name = stateNameOf(plan, plan.parameters(int(member)), i);
        std::unique_ptr<ParameterSource> &source = states[name];
        if (!source)
          source = run.resumed->states(plan, name);
        readSliceValues(plan, unit, rank, slice, *source);
      }
}

void loadSaved(const Run &run, int64_t step, Rank &rank) {
  StoredCheckpoint checkpoint(run.checkpoints->pathOf(step));
  readInitialValues(run.plan, rank,
                    *checkpoint.parameters(run.plan, run.initialValues));
}

} // namespace shardc::runtime
