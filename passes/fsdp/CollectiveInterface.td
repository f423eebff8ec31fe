// What the starts of all collectives have in common.
#ifndef SHARDC_PASSES_FSDP_COLLECTIVEINTERFACE_TD
#define SHARDC_PASSES_FSDP_COLLECTIVEINTERFACE_TD
include "mlir/IR/OpBase.td"

def FSDP_CollectiveStart : OpInterface<"CollectiveStart"> {
  let cppNamespace = "::shardc::fsdp";
  let description = [{
    The start of a collective. What reads of all collectives of a step (reports, estimates) asks
    this, and lists none of them.
  }];
  let methods = [
    InterfaceMethod<"What ranks say to each other: `symbols` are those of the module.",
      "::shardc::fsdp::Communication", "getCommunication", (ins "::mlir::SymbolTable &":$symbols)>
  ];
}

#endif
