// What the starts of collectives and transfers have in common.
#ifndef SHARDC_CODEGEN_STEP_COLLECTIVEINTERFACE_TD
#define SHARDC_CODEGEN_STEP_COLLECTIVEINTERFACE_TD
include "mlir/IR/OpBase.td"

def Step_CollectiveStart : OpInterface<"CollectiveStart"> {
  let cppNamespace = "::shardc::step";
  let description = [{
    An entry that begins what runs beside the compute, until the `step.wait` of its token: a
    collective, or a transfer. The schedule and the timeline ask this, and list none of them.
  }];
  let methods = [
    InterfaceMethod<"What it puts on links: `symbols` are those of the module.",
      "::shardc::step::Communication", "getCommunication", (ins "::mlir::SymbolTable &":$symbols)>,
    InterfaceMethod<[{
      Of one that reduces gradients of a unit: the view that has the sum when it has ended. Null of
      all others.
    }], "::mlir::Value", "getReducedGradient", (ins), [{}], [{ return {}; }]>
  ];
}

#endif
