// The step dialect: a training step as a linear list of work over planned buffers. Before memory is planned its launches are on
// tensors.
#ifndef SHARDC_CODEGEN_STEP_STEP_TD
#define SHARDC_CODEGEN_STEP_STEP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::shardc::step";
  let summary = "how each part of a step runs: kernel launches, library calls, buffers";
  let description = [{
    A `step.plan` holds the buffers that outlive a step and two programs. A program is a list of entries in the order in
    which every rank runs them; an entry is one message `Entry` of `runtime/plan.proto`. Entries work on views: a `memref`
    made by `step.view` from a buffer and a byte offset. What an entry reads and writes are its operands' memory effects.

    ```mlir
    step.plan {
      %0 = step.buffer persistent 66048 at 0 "parameters.layers.0"
      step.program "train" {
        %1 = step.buffer gather 132096 at 0 "gathered.layers.0"
        %2 = step.all_gather_start @layers.0 %1
        step.wait %2
        %3 = step.view %1[0] : memref<64x64xf32>
        ...
        step.gemm %x, %3 into %y {transpose_b, step.phase = "forward", step.unit = "layers.0"} : ...
    ```

    Any entry may carry the attributes `step.unit` (whose parameters it works on), `step.phase` (forward, backward,
    optimizer) and `step.flops`; its location names the ONNX nodes that it came from.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Step_Op<string mnemonic, list<Trait> traits = []> : Op<Step_Dialect, mnemonic, traits>;

class Step_Type<string name, string typeMnemonic> : TypeDef<Step_Dialect, name> { let mnemonic = typeMnemonic; }
def Step_Buffer : Step_Type<"Buffer", "buffer"> { let summary = "a range of bytes of a pool"; }
def Step_Token : Step_Type<"Token", "token"> { let summary = "a collective on its way"; }

// A strided view of a buffer; the strides stand in the layout, none means row-major contiguous.
def Step_View : AnyTypeOf<[AnyStaticShapeMemRef], "statically shaped view", "::mlir::MemRefType">;

class Step_Reads<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Step_Writes<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Step_Updates<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

#endif
