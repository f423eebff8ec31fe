// Passes of the fsdp dialect: what the training step is, on its units. One entry here, one .cpp,
// one lit test, all of one name. Descriptions have four parts: Needs, Before, After, Why here.
// test_examples.py parses their IR, and says what may be left out of it.
#ifndef SHARDC_PASSES_FSDPPASSES_TD
#define SHARDC_PASSES_FSDPPASSES_TD
include "mlir/Pass/PassBase.td"

def FSDPAssignUnits : Pass<"fsdp-assign-units", "::mlir::ModuleOp"> {
  let summary = "decides which parameters are gathered together";
  let description = [{
    Needs: @model with its loss; `nn.scope_classes` on the module for `units=class:`.

    Before (`units=auto mesh=8`):
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @layers.0.proj.weight : tensor<64x64xf32> {trainable, ...}
    nn.parameter @layers.0.proj.bias : tensor<64xf32> {frozen, ...}
    nn.parameter @layers.1.proj.weight : tensor<64x64xf32> {trainable, ...}
    ```

    After:
    ```mlir
    module attributes {fsdp.unit_reasons = [
        ["embedding", "used before the first block; gather 131 kB over 8 ranks: ..."],
        ["layers.0", "block 1 of 2 (layers.0); gather ..."],
        ["layers.1", "block 2 of 2 (layers.1); gather ..."]]} {
      nn.parameter @embed.weight : tensor<512x64xf32> {nn.unit = "embedding", trainable, ...}
      nn.parameter @layers.0.proj.weight : tensor<64x64xf32>
          {nn.unit = "layers.0", trainable, ...}
      nn.parameter @layers.0.proj.bias : tensor<64xf32> {frozen, nn.unit = "layers.0", ...}
      nn.parameter @layers.1.proj.weight : tensor<64x64xf32>
          {nn.unit = "layers.1", trainable, ...}
    }
    ```
    Every parameter that @model reads gets the name of its unit, trained or frozen; buffers get
    none. `fsdp.unit_reasons` has a pair of name and reason per unit, by first use.
    `nn.scope_classes` is dropped: nothing later asks for it.

    `auto` takes a unit per repeated block, found by module paths or, without them, by what repeats
    in the sequence of uses; apart from these what is used before, after and throughout. By the
    times of collectives on `cluster` it merges what is more latency than transfer, and splits what
    would fill more than a twentieth of a rank's memory. A mesh of one rank keeps the blocks.

    Why here: the loss tells which parameters are used, and the graph is one forward pass still, in
    which blocks repeat; before the gradients, which do not tell frozen parameters.
  }];
  let options = [
    Option<"units", "units", "std::string", "\"auto\"",
      "auto, block, one, class:NAME[,NAME], scope:REGEX or size:BYTES">,
    Option<"cluster", "cluster", "std::string", "\"cpu\"",
      "a machine that is built in, or a TOML file: docs/cluster.md">,
    Option<"mesh", "mesh", "std::string", "\"1\"", "ranks: N, or RxS">,
    Option<"strategy", "strategy", "std::string", "\"\"",
      "tells over which of the mesh's dimensions a unit is gathered">,
    Option<"elementBytes", "element-bytes", "int64_t", "4",
      "bytes of a gathered parameter's element: 2, 4 or 8">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect"];
}

def FSDPFormUnits : Pass<"fsdp-form-units", "::mlir::ModuleOp"> {
  let summary = "lays the mesh and the flat buffer of each sharding unit out";
  let description = [{
    Needs: `nn.parameter` symbols, and @train with `nn.gradient_of` on its results (or @model before
    differentiation). Which unit a parameter belongs to stands in its attribute `nn.unit`.

    Before:
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @layers.0.weight : tensor<64x64xf32> {nn.unit = "layers.0", trainable, ...}
    nn.parameter @layers.1.weight : tensor<64x64xf32> {nn.unit = "layers.1", trainable, ...}
    ```

    After:
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @layers.0.weight : tensor<64x64xf32> {trainable, ...}
    nn.parameter @layers.1.weight : tensor<64x64xf32> {trainable, ...}
    fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>,
                     optimizer_dims = array<i64: 0>, strategy = "full"}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @root {parameters = [@embed.weight], offsets = array<i64: 0>, elements = 32768 : i64,
                     padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                     reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32,
                     reason = ""}
    fsdp.unit @layers.0 {parameters = [@layers.0.weight], offsets = array<i64: 0>,
                         elements = 4096 : i64, padding = 0 : i64, shards = 2 : i64,
                         optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32,
                         master_type = f32, gradient_type = f32, reason = ""}
    fsdp.unit @layers.1 {parameters = [@layers.1.weight], offsets = array<i64: 0>,
                         elements = 4096 : i64, padding = 0 : i64, shards = 2 : i64,
                         optimizer_shards = 2 : i64, reshard = 1 : i64, element_type = f32,
                         master_type = f32, gradient_type = f32, reason = ""}
    ```
    One unit per name that `fsdp-assign-units` gave (it takes these attributes away), `root` for
    what has none, in the order of their first use. Only parameters with a gradient and frozen ones
    (in units of their own, without optimizer) are in units: buffers stay `nn.get_parameter`,
    resident on every rank. With strategy `none`, and on one rank, units have one shard but keep the
    layout.

    Why here: gradients tell which parameters are trained; what shards them comes next.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"1\"", "ranks: N, RxS, or replicate=R,shard=S">,
    Option<"strategy", "strategy", "std::string", "\"\"",
      "full, grad_op, hybrid, hybrid_grad_op, hybrid_opt, opt or none; default: hybrid on two "
      "dimensions, else full">,
    Option<"reshard", "reshard", "std::string", "\"default\"",
      "what is left of gathered parameters after forward: default, always, never, or a number of "
      "ranks">,
    ListOption<"unitOptions", "unit-options", "std::string",
      "match=REGEX[,reshard=...][,after-backward=...] for units of that name">,
    Option<"afterBackward", "after-backward", "std::string", "\"always\"",
      "never: gathered parameters stay over the micro-batches of a step">,
    Option<"align", "align", "int64_t", "1",
      "elements that parameters begin and slices end at multiples of: what the target's kernels "
      "load at once">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect"];
}

def FSDPShard : Pass<"fsdp-shard", "::mlir::ModuleOp"> {
  let summary = "gathers parameters before use, reduces gradients, runs the optimizer on shards";
  let description = [{
    Needs: `fsdp.mesh` and `fsdp.unit`s; @train (and @eval, if there is one) that return the loss
    and, in @train, a gradient of every parameter of a unit (`nn.gradient_of`).

    Before:
    ```mlir
    nn.parameter @w : tensor<4x4xf32> {trainable, ...}
    func.func @train(%x: tensor<2x4xf32>, %scale: tensor<f32>)
        -> (tensor<f32>, tensor<4x4xf32> {nn.gradient_of = @w}) {
      %w = nn.get_parameter @w : tensor<4x4xf32>
      %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      ...
      %dx = nn.linear %dy, %w {transpose_weight}
          : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %dw = nn.linear_weight_grad %x, %dy : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      return %loss, %dw : tensor<f32>, tensor<4x4xf32>
    }
    ```

    After:
    ```mlir
    nn.parameter @w : tensor<4x4xf32> {trainable, ...}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16 : i64,
                  padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                  reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32,
                  reason = ""}
    func.func @train(%x: tensor<2x4xf32>, %scale: tensor<f32>) {
      %0 = fsdp.all_gather_start @u forward over @world
      %w = fsdp.all_gather_wait %0 : tensor<4x4xf32>
      %y = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      fsdp.release @u(%w) : tensor<4x4xf32>
      ...
      %1 = fsdp.all_gather_start @u backward over @world
      %again = fsdp.all_gather_wait %1 : tensor<4x4xf32>
      %dx = nn.linear %dy, %again {transpose_weight}
          : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      fsdp.release @u(%again) : tensor<4x4xf32>
      %dw = nn.linear_weight_grad %x, %dy : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xf32>) -> tensor<16xf32>
      %2 = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xf32>
      %g = fsdp.reduce_scatter_wait %2 : tensor<8xf32>
      %loss64 = nn.cast %loss : (tensor<f32>) -> tensor<f64>
      %e = fsdp.exact_sum %loss64 : tensor<f64> -> tensor<68xi64>
      %l = fsdp.accumulate %e in i64 : tensor<68xi64>
      %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
      %3 = fsdp.all_reduce_start optimizer(%l, %n) over @world {norms = array<i1: false, true>}
          : tensor<68xi64>, tensor<68xi64>
      %sums:2 = fsdp.all_reduce_wait %3 : tensor<68xi64>, tensor<68xi64>
      %total = fsdp.round_sum %sums#0 : tensor<68xi64> -> tensor<f64>
      %norm = fsdp.round_sum %sums#1 norm : tensor<68xi64> -> tensor<f64>
      fsdp.metric "loss" %total : tensor<f64>
      fsdp.metric "gradient_norm" %norm : tensor<f64>
      fsdp.optimizer_step @u(%g, %norm) "adamw" : tensor<8xf32>, tensor<f64>
      return
    }
    ```
    One all-gather per unit and phase in which it is used: a tied parameter keeps its unit from its
    first use in a phase to the last. Where a phase goes through several units twice, as two
    forwards of one model do, a unit is gathered anew for each time. A unit that is not resharded
    (`reshard = 1`) stays gathered from forward to backward; with a `reshard` between 1 and its
    shards backward gathers it from a kept slice within a smaller group. Forward ends with the op
    that makes the loss. A gather begins `prefetch` units ahead. A unit's reduce-scatter begins with
    its last gradient; it is waited for before the next but one begins. What a second mesh dimension
    adds (hybrid: an all-reduce of the slices, hybrid_opt: a further reduce-scatter) follows in the
    last micro-batch. Units of one shard are `fsdp.resident`; a mesh of one rank has no collectives.
    `accumulate`: `sharded` reduces the gradients of every micro-batch and adds what comes out;
    `unsharded` adds the flat gradients, and reduces them in the last.
    `update`: with `backward` the optimizer's steps stand in backward, and no gradient lives to the
    end of the step; nothing is clipped, and a step is skipped for its loss alone, which is
    all-reduced before the first update.

    An optimizer that needs whole matrices (`muon`) brings each to a rank that owns it
    (`passes/units/MatrixOwners.h`), where its formula is ops like any other, and what that makes
    back: `fsdp.matrix_direction`, `fsdp.gather_matrices_start`, `fsdp.scatter_matrices_start`.
    Trained parameters that it does not take as matrices get the attribute `nn.optimizer = "adamw"`.

    Why here: after differentiation, so that forward and backward are both there to place
    collectives in; before kernels are formed, so that fusion does not move a use past a release.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
      "an optimizer of runtime/device/Optimizers.h, by name">,
    ListOption<"matrices", "matrices", "std::string",
      "regular expressions: the matrices that an optimizer of whole matrices updates; default: "
      "those of hidden layers">,
    Option<"newtonSchulzSteps", "newton-schulz-steps", "int64_t", "5",
      "steps of muon's iteration">,
    Option<"prefetch", "prefetch", "std::string", "\"1\"",
      "units to gather ahead of the one that computes: N, forward=N,backward=M, or auto, which is "
      "1 until step-schedule">,
    Option<"accumulate", "accumulate", "std::string", "\"\"",
      "what micro-batches add up: sharded or unsharded gradients; default: sharded where the "
      "optimizer is">,
    Option<"update", "update", "std::string", "\"step\"",
      "where units are updated: step, at its end, by the norm of all gradients; or backward, each "
      "when its gradient is reduced and nothing reads the unit any more">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect", "::shardc::nn::NNDialect"];
}

def FSDPExchangeRows : Pass<"fsdp-exchange-rows", "::mlir::ModuleOp"> {
  let summary = "of a table of embeddings the rows that are looked up travel, not the table";
  let description = [{
    Needs: functions sharded by `fsdp-shard`.

    Before:
    ```mlir
    nn.parameter @w : tensor<512x8xf32> {trainable, ...}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @table {parameters = [@w], offsets = array<i64: 0>, elements = 4096 : i64,
                      padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                      reshard = 2 : i64, element_type = f32, master_type = f32,
                      gradient_type = f32, reason = ""}
    func.func @train(%ids: tensor<4x8xi64>, %dx: tensor<4x8x8xf32>) {
      %0 = fsdp.all_gather_start @table forward over @world
      %w = fsdp.all_gather_wait %0 : tensor<512x8xf32>
      %x = nn.embedding %w, %ids : (tensor<512x8xf32>, tensor<4x8xi64>) -> tensor<4x8x8xf32>
      fsdp.release @table(%w) : tensor<512x8xf32>
      ...
      %dw = nn.embedding_grad %dx, %ids
          : (tensor<4x8x8xf32>, tensor<4x8xi64>) -> tensor<512x8xf32>
      %f = fsdp.flat_gradients @table(%dw) : (tensor<512x8xf32>) -> tensor<4096xf32>
      %1 = fsdp.reduce_scatter_start @table %f over @world accumulated : tensor<4096xf32>
      %g = fsdp.reduce_scatter_wait %1 : tensor<2048xf32>
      return
    }
    ```

    After:
    ```mlir
    nn.parameter @w : tensor<512x8xf32> {trainable, ...}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @table {parameters = [@w], offsets = array<i64: 0>, elements = 4096 : i64,
                      padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                      reshard = 2 : i64, element_type = f32, master_type = f32,
                      gradient_type = f32, reason = "; its rows travel: ..."}
    func.func @train(%ids: tensor<4x8xi64>, %dx: tensor<4x8x8xf32>) {
      %0 = fsdp.gather_rows_start @table(%ids) over @world : tensor<4x8xi64>
      %x = fsdp.gather_rows_wait %0 : tensor<4x8x8xf32>
      ...
      %1 = fsdp.reduce_rows_start @table(%dx, %ids) over @world accumulated
          : tensor<4x8x8xf32>, tensor<4x8xi64>
      %g = fsdp.reduce_scatter_wait %1 : tensor<2048xf32>
      return
    }
    ```
    A unit qualifies that has one parameter, which only `nn.embedding` reads, in slices of whole
    rows on as many ranks as divide a row; whose gradient is one `nn.embedding_grad`, reduced in
    every micro-batch over the ranks that hold the slices, in the type in which it is added. With
    `auto`, bytes that a rank sends for rows, twice counted, have to be fewer than those of the
    table and its gradient. Bits are those of the table's way.

    Why here: `fsdp-shard` has said what is gathered for whom; before kernels are formed, since rows
    come and go at other places than the table.
  }];
  let options = [
    Option<"embedding", "embedding", "std::string", "\"auto\"",
      "auto, where rows are less; rows, wherever they can travel; table, nowhere">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect", "::shardc::nn::NNDialect"];
}

def FSDPVerify : Pass<"fsdp-verify", "::mlir::ModuleOp"> {
  let summary = "checks a sharded step: starts and waits, releases, reductions, optimizer";
  let description = [{
    Needs: `fsdp.mesh` and `fsdp.unit`s, and functions sharded by `fsdp-shard`.

    Before: any such functions.

    After: the same, unless there is an error (with notes that point at the other op), where
    - a start has no wait or several, or one in another block;
    - a tensor of a gathered buffer, or a view of one, is used after the release;
    - a unit is gathered again before it was released, is never released, or is released with other
      tensors;
    - a parameter of a unit is read by `nn.get_parameter`;
    - a unit's gradients are reduced by the wrong collective, twice, or not at all while there is an
      optimizer;
    - an `fsdp.optimizer_step` has another gradient than its unit's, or another norm than the
      others, or the norm leaves a gradient out;
    - a unit is updated while it is gathered, or gathered after its update;
    - a collective stands under control flow, where ranks could disagree on the order.

    Why here: after whatever moves ops of a sharded step; cheap enough to run again.
  }];
}

#endif
