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

def NNDifferentiate : Pass<"nn-differentiate", "::mlir::ModuleOp"> {
  let summary = "makes the training step: the forward pass, the backward pass and one gradient per trainable parameter";
  let description = [{
    Needs: @model, which returns one float scalar, the loss; each op between a trainable parameter and the loss implements
    `Differentiable`.

    Before:
    ```mlir
    nn.parameter @w : tensor<3xf32> {trainable, ...}
    func.func @model(%x: tensor<3xf32>) -> tensor<f32> {
      %w = nn.get_parameter @w : tensor<3xf32>
      %y = nn.mul %x, %w : tensor<3xf32>
      %s = nn.reduce_sum %y [0] : (tensor<3xf32>) -> tensor<1xf32>
      %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```

    After:
    ```mlir
    func.func @eval(...)   // @model as it was
    func.func @train(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32> {nn.gradient_of = @w}) {
      ...
      %one = nn.constant dense<1.0> : tensor<1xf32>
      %dy = nn.broadcast %one : (tensor<1xf32>) -> tensor<3xf32>
      %dw = nn.mul %dy, %x : tensor<3xf32>
      return %loss, %dw : tensor<f32>, tensor<3xf32>
    }
    ```
    Only what lies between a trainable parameter and the loss is differentiated. Where a value has several uses, their
    gradients are added as the backward pass meets them, last use first: a fixed order, in which at most one sum is alive. A
    parameter that does not reach the loss gets a warning and is no longer `trainable`: as in PyTorch, where its gradient is
    None, the optimizer leaves it alone.

    Why here: units are formed from the parameters that have gradients, and gathers are placed around the uses of both
    passes.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect"];
}
#endif
