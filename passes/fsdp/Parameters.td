// Parameters of units: gathered, kept and released, and their updates.
#ifndef SHARDC_PASSES_FSDP_PARAMETERS_TD
#define SHARDC_PASSES_FSDP_PARAMETERS_TD
include "passes/fsdp/Dialect.td"

def FSDP_ResidentOp : FSDP_UnitStepOp<"resident"> {
  let summary =
    "the unit's parameters where they are not sharded: one tensor per parameter, no communication";
  let description = [{
    The tensors have the parameters' shapes and the unit's element_type, in the unit's order, and
    are views of what the rank keeps. A unit of more than one shard is refused: gather it.

    ```mlir
    fsdp.unit @whole {parameters = [@weight, @bias], offsets = array<i64: 0, 4096>,
                      elements = 4160 : i64, padding = 0 : i64, shards = 1 : i64,
                      optimizer_shards = 1 : i64, reshard = 1 : i64, element_type = bf16,
                      master_type = f32, gradient_type = f32, reason = ""}
    %w, %b = fsdp.resident @whole : tensor<64x64xbf16>, tensor<64xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit attr-dict `:` type($parameters)";
}
def FSDP_AllGatherStartOp : FSDP_UnitStepOp<"all_gather_start", [FSDP_StartsCollective]> {
  let summary = "begins to gather a unit from the slices of the group's ranks: those of the "
    "parameters, or `kept`";
  let description = [{
    Each rank of the group gives its slice and gets all of them, in rank order. The group has as
    many ranks as the unit has shards; or, with `kept`, as many as `fsdp.keep` cut the unit into:
    tensor<elements / size> of the unit's element_type. All else is refused. `phase` says for which
    part of the step. With `first` it runs in the first micro-batch alone, and what it brings is
    there in all of them. The token goes to one `fsdp.all_gather_wait` (`fsdp-verify`).

    ```mlir
    %whole = fsdp.all_gather_start @layers.0 forward over @shard
    %again = fsdp.all_gather_start @layers.0 backward over @reshard.2 from %k : tensor<2304xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, FSDP_PhaseAttr:$phase, FlatSymbolRefAttr:$group,
    Optional<AnyRankedTensor>:$kept, UnitAttr:$first);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = [{$unit $phase `over` $group (`from` $kept^ `:` type($kept))?
    (`first` $first^)? attr-dict}];
}
def FSDP_AllGatherWaitOp : FSDP_UnitStepOp<"all_gather_wait", [FSDP_EndsCollective]> {
  let summary = "the gathered parameters of the unit, one tensor each";
  let description = [{
    Waits until the gather has ended. The tensors have the parameters' shapes and the unit's
    element_type, in the unit's order; they are views of the gathered buffer, until
    `fsdp.release`. Refused are other types, and a token that no `fsdp.all_gather_start` made.

    ```mlir
    %t = fsdp.all_gather_start @layers.0 forward over @shard
    %w, %b = fsdp.all_gather_wait %t : tensor<64x64xbf16>, tensor<64xbf16>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$token attr-dict `:` type($parameters)";
  let hasVerifier = 1;
}
def FSDP_KeepOp : FSDP_UnitStepOp<"keep"> {
  let summary =
    "the rank's slice over a group out of a gathered unit: a copy that outlives the release";
  let description = [{
    The operands are the unit's gathered parameters, in its order; the result is tensor<elements /
    size of the group>, of the unit's element_type: the slice whose number is the rank's in the
    group. All else is refused. Backward gathers from it.

    ```mlir
    %k = fsdp.keep @layers.0(%w, %b) over @reshard.2
        : (tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<2304xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters,
    FlatSymbolRefAttr:$group);
  let results = (outs AnyRankedTensor:$kept);
  let assemblyFormat =
    "$unit `(` $parameters `)` `over` $group attr-dict `:` functional-type($parameters, $kept)";
}
def FSDP_ReleaseOp : FSDP_UnitStepOp<"release"> {
  let summary = "frees a unit's gathered buffer; its tensors may not be used after";
  let description = [{
    The operands are the unit's gathered parameters, all of them, in its order: tensors of their
    shapes and the unit's element_type; others are refused. That nothing reads them later, or a view
    of them, is checked by `fsdp-verify`.

    ```mlir
    fsdp.release @layers.0(%w, %b) : tensor<64x64xbf16>, tensor<64xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit `(` $parameters `)` attr-dict `:` type($parameters)";
}
def FSDP_AllGatherUpdatesStartOp : FSDP_UnitStepOp<"all_gather_updates_start",
    [FSDP_StartsCollective]> {
  let summary = "begins to gather what the group's optimizers wrote, where their slices are finer "
    "than those of the parameters";
  let description = [{
    Every rank of the group gets the others' parts of its slice of the parameters, in the unit's
    element_type and in place. A group is refused whose ranks, times the unit's shards, are not its
    optimizer_shards. The token goes to one `fsdp.all_gather_updates_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.all_gather_updates_start @layers.0 over @replicate
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, FlatSymbolRefAttr:$group);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `over` $group attr-dict";
}
def FSDP_AllGatherUpdatesWaitOp : FSDP_UnitStepOp<"all_gather_updates_wait",
    [FSDP_EndsCollective]> {
  let summary = "the rank's slice of the parameters is updated whole";
  let description = [{
    Waits until the gather has ended. A token that no `fsdp.all_gather_updates_start` made is
    refused.

    ```mlir
    %t = fsdp.all_gather_updates_start @layers.0 over @replicate
    fsdp.all_gather_updates_wait %t
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

#endif
