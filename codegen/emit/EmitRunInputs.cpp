// What a run fills in.
#include "codegen/emit/EmitRunInputs.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace shardc {

void emitDraws(ModuleOp module, uint32_t buffer, plan::Draws &draws) {
  draws.set_buffer(buffer);
  auto sites = module->getAttrOfType<ArrayAttr>("nn.sites");
  if (!sites)
    return;
  for (auto described : sites.getAsRange<DictionaryAttr>()) {
    plan::Draws::Site *site = draws.add_sites();
    site->set_name(described.getAs<StringAttr>("name").str());
    site->set_rate(described.getAs<FloatAttr>("rate").getValueAsDouble());
  }
}

void emitRunning(ModuleOp module, uint32_t buffer, plan::Running &running) {
  running.set_buffer(buffer);
  auto shares = module->getAttrOfType<ArrayAttr>("nn.running");
  if (!shares)
    return;
  for (auto described : shares.getAsRange<DictionaryAttr>()) {
    plan::Running::Share *share = running.add_shares();
    share->set_momentum(
        described.getAs<FloatAttr>("momentum").getValueAsDouble());
    share->set_call(described.getAs<IntegerAttr>("call").getInt());
    share->set_calls(described.getAs<IntegerAttr>("calls").getInt());
  }
}

} // namespace shardc
