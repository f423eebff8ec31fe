// The step dialect: a training step as a linear list of work over planned buffers. Before memory is
// planned its launches are on tensors.
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
    A `step.plan` holds the buffers that outlive a step and two programs. A program is a list of
    entries in the order in which every rank runs them; an entry is one message `Entry` of
    `runtime/plan.proto`. Entries work on views: a `memref` made by `step.view` from a buffer and a
    byte offset. What an entry reads and writes are its operands' memory effects.

    ```mlir
    step.plan {
      %p = step.buffer persistent 2304 "layers.0.parameters"
      step.storage @layers.0 %p
      step.program "train" {
        %g = step.buffer gather 9216 "gathered.layers.0"
        %t = step.all_gather_start @layers.0 into %g over @shard {step.phase = "forward"}
        step.wait %t
        %w = step.view %g[0] : memref<64x64xbf16>
        ...
        step.gemm %x, %w into %y {transpose_b, step.phase = "forward", step.unit = "layers.0"}
            : (memref<512x64xbf16>, memref<64x64xbf16>, memref<512x64xbf16>) -> ()
      }
    }
    ```

    Any entry may carry the attributes `step.unit` (whose parameters it works on), `step.phase`
    (forward, backward, optimizer), `step.flops`, and `step.ranks`, where some ranks alone run it;
    its location names the ONNX nodes that it came from.

    Library calls compute what the nn op of their name does. What the ops themselves do not check of
    their views (`step-verify` checks how they share buffers), the runtime refuses before a plan
    runs. The examples of this page stand in a module with the symbols of `fsdp`'s page.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Step_Op<string mnemonic, list<Trait> traits = []> : Op<Step_Dialect, mnemonic, traits>;

class Step_Type<string name, string typeMnemonic> : TypeDef<Step_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Step_Buffer : Step_Type<"Buffer", "buffer"> { let summary = "a range of bytes of a pool"; }
def Step_Token : Step_Type<"Token", "token"> { let summary = "a collective on its way"; }

// A strided view of a buffer; the strides stand in the layout, none means row-major contiguous.
def Step_View : AnyTypeOf<[AnyStaticShapeMemRef], "statically shaped view", "::mlir::MemRefType">;

class Step_Reads<TypeConstraint type> : Arg<type, "", [MemRead]>;
class Step_Writes<TypeConstraint type> : Arg<type, "", [MemWrite]>;
class Step_Updates<TypeConstraint type> : Arg<type, "", [MemRead, MemWrite]>;

#endif
