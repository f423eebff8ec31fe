// Every pass that decides what the training step is. One entry here, one .cpp, one lit test, all of one name.
// Descriptions have four parts: Needs, Before, After, Why here.
#ifndef SHARDC_PASSES_PASSES_TD
#define SHARDC_PASSES_PASSES_TD
include "mlir/Pass/PassBase.td"

def FSDPFormUnits : Pass<"fsdp-form-units", "::mlir::ModuleOp"> {
  let summary = "picks the sharding units and lays out the flat buffer of each";
  let description = [{
    Needs: `nn.parameter` symbols, and @train with `nn.gradient_of` on its results (or @model before differentiation).

    Before:
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @layers.0.weight : tensor<64x64xf32> {trainable, ...}
    nn.parameter @layers.1.weight : tensor<64x64xf32> {trainable, ...}
    ```

    After:
    ```mlir
    fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
    fsdp.unit @root {parameters = [@embed.weight], offsets = array<i64: 0>, elements = 32768, padding = 0, shards = 2, ...}
    fsdp.unit @layers.0 {parameters = [@layers.0.weight], ...}
    fsdp.unit @layers.1 {parameters = [@layers.1.weight], ...}
    ```
    One unit per block that repeats (by module path, else by the sequence of shapes), and one for all else, in the order of
    their first use. Only parameters with a gradient are in units: buffers and frozen parameters stay `nn.get_parameter`,
    resident on every rank. With strategy `none`, and on one rank, units have one shard but keep the layout.

    Why here: gradients tell which parameters are trained; what shards them comes next.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"1\"", "ranks: N, or RxS">,
    Option<"strategy", "strategy", "std::string", "\"full\"", "full: parameters sharded over all ranks; none: on every rank">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect"];
}

def NNRaise : Pass<"nn-raise", "::mlir::ModuleOp"> {
  let summary = "recognises what exporters decomposed: linear, norms, activations, rope, attention, embedding";
  let description = [{
    Needs: @model as the import phase leaves it: nn ops of static shape, shape and mask arithmetic folded.

    Before:
    ```mlir
    %1 = nn.transpose %q array<i64: 0, 2, 1, 3> : (tensor<4x128x4x16xf32>) -> tensor<4x4x128x16xf32>
    %2 = nn.matmul %1, %k {transpose_rhs} : ... -> tensor<4x4x128x128xf32>
    %3 = nn.mul %2, %quarter : tensor<4x4x128x128xf32>
    %4 = nn.add %3, %mask : tensor<4x4x128x128xf32>      // 0 below the diagonal, -3.4e38 above
    %5 = nn.softmax %4 : tensor<4x4x128x128xf32>
    %6 = nn.matmul %5, %v : ... -> tensor<4x4x128x16xf32>
    ```

    After:
    ```mlir
    %result, %log_sum_exp = nn.attention %q, %k, %v {causal, scale = 2.5e-01} : ...
    ```
    Patterns match by meaning: operands in any order, constants up to float32 rounding, layouts through any chain of views.
    First what is local (norms, activations, rope, linear, gathers), then attention with its masks, then transposes move
    down and slices up until they cancel. What is not recognised stays as it is: plain nn ops always work.

    Why here: differentiation, sharding and kernels are simpler and faster on few composite ops; the loss is attached
    afterwards, so that it meets the head as one linear.
  }];
}

#endif
