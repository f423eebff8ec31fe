// What a run fills in.
#include "codegen/emit/EmitRunInputs.h"

#include "codegen/step/View.h"

using namespace mlir;

namespace shardc {

/// What a pass has described in the module, an entry for each.
static ArrayAttr describedIn(step::InputOp input, StringRef attribute) {
  auto described =
      input->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(attribute);
  return described ? described : ArrayAttr::get(input.getContext(), {});
}

static void emitDraws(step::InputOp input, uint32_t buffer,
                      plan::Draws &draws) {
  draws.set_buffer(buffer);
  for (auto described :
       describedIn(input, nn::sitesAttr).getAsRange<DictionaryAttr>()) {
    plan::Draws::Site *site = draws.add_sites();
    site->set_name(described.getAs<StringAttr>("name").str());
    if (auto rate = described.getAs<FloatAttr>("rate"))
      site->set_rate(rate.getValueAsDouble());
    else
      site->set_draws_numbers(true);
  }
}

static void emitRunning(step::InputOp input, uint32_t buffer,
                        plan::Running &running) {
  running.set_buffer(buffer);
  running.set_dtype(dtypeOf(getElementTypeOrSelf(input.getView().getType())));
  for (auto described :
       describedIn(input, nn::runningAttr).getAsRange<DictionaryAttr>()) {
    plan::Running::Share *share = running.add_shares();
    share->set_momentum(
        described.getAs<FloatAttr>("momentum").getValueAsDouble());
    share->set_call(described.getAs<IntegerAttr>("call").getInt());
    share->set_calls(described.getAs<IntegerAttr>("calls").getInt());
  }
}

bool emitRunInput(step::InputOp input, const PlanIndices &indices,
                  plan::Plan &plan) {
  const uint32_t buffer = indices.buffers.lookup(
      step::View::of(input.getView()).buffer.getDefiningOp());
  if (input.getRole() == "loss_scale") {
    plan.mutable_loss()->set_scale_buffer(buffer);
    plan.mutable_loss()->set_scale_dtype(
        dtypeOf(getElementTypeOrSelf(input.getView().getType())));
    return true;
  }
  if (input.getRole() == "draws")
    emitDraws(input, buffer, *plan.mutable_draws());
  else if (input.getRole() == "running")
    emitRunning(input, buffer, *plan.mutable_running());
  else
    return false;
  return true;
}

} // namespace shardc
