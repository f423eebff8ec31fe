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
#endif
