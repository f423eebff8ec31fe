// What all entries of a program have in common.
#ifndef SHARDC_CODEGEN_STEP_ENTRYINTERFACE_TD
#define SHARDC_CODEGEN_STEP_ENTRYINTERFACE_TD
include "mlir/IR/OpBase.td"

def Step_EntryInterface : OpInterface<"EntryOpInterface"> {
  let cppNamespace = "::shardc::step";
  let description = [{
    An entry of a program. MLIR knows the names of attributes when it runs, and those of operands
    only where C++ was generated: this keeps them. Memory that an entry touches is a `step.view`;
    what another op makes is refused.
  }];
  let verify = "return ::shardc::step::verifyEntry($_op);";
  let methods = [
    StaticInterfaceMethod<"The names of the operands, in their order.",
      "::llvm::SmallVector<::llvm::StringRef>", "getOperandNames">,
    InterfaceMethod<[{
      The operands that getOperandNames()[index] names: none or one where it is optional.
    }], "::mlir::OperandRange", "getOperandsNamed", (ins "unsigned":$index), [{}],
      [{ return $_op.getODSOperands(index); }]>
  ];
}

#endif
