// What a plan says of the ops that draw.
#include "codegen/emit/EmitDraws.h"

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

} // namespace shardc
