// Copies between the pool host and the device's memory.
#ifndef SHARDC_CODEGEN_STEP_TRANSFERS_TD
#define SHARDC_CODEGEN_STEP_TRANSFERS_TD
include "codegen/step/Entries.td"

def Step_TransferStartOp : Step_Entry<"transfer_start", [Step_StartsCollective]> {
  let summary = "begins to copy between the pool host and another one, beside what computes";
  let description = [{
    Source and destination are contiguous, of one type and as many elements; one of them lies in a
    buffer of the pool host, which nothing else may touch (`step-verify`). Transfers in one
    direction run one after the other, in the order of their starts; whether both directions run
    beside each other is the device's. Until its one `step.wait` nothing may write to the
    source or touch the destination.

    ```mlir
    step.plan {
      %h = step.buffer state 2304 "layers.0.state0"
      %m = step.view %h[0] : memref<576xf32>
      step.program "train" {
        %b = step.buffer staging 2304 "staged.layers.0.state0"
        %s = step.view %b[0] : memref<576xf32>
        %t = step.transfer_start %m into %s : (memref<576xf32>, memref<576xf32>) -> !step.token
        step.wait %t
      }
    }
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$source, Step_Writes<Step_View>:$destination);
  let results = (outs Step_Token:$token);
  let assemblyFormat =
    "$source `into` $destination attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
