// Every pass that decides what the training step is. One entry here, one .cpp, one lit test, all of one name.
// Descriptions have four parts: Needs, Before, After, Why here.
#ifndef SHARDC_PASSES_PASSES_TD
#define SHARDC_PASSES_PASSES_TD
include "mlir/Pass/PassBase.td"

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
    First what is local (norms, activations, rope, linear, gathers); then attention with its masks, while transposes move
    down and slices up until they cancel. What is not recognised stays as it is: plain nn ops always work.

    Why here: differentiation, sharding and kernels are simpler and faster on few composite ops; the loss is attached
    afterwards, so that it meets the head as one linear.
  }];
}

def NNMarkParameters : Pass<"nn-mark-parameters", "::mlir::ModuleOp"> {
  let summary = "says which parameters are not trained, and what each is to the model";
  let description = [{
    Needs: @model raised.

    Before (`freeze=embed`):
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @norm.weight : tensor<64xf32> {trainable, ...}
    ```

    After:
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {frozen, nn.role = "embedding", ...}
    nn.parameter @norm.weight : tensor<64xf32> {nn.role = "norm", trainable, ...}
    ```
    A frozen parameter has no gradient, no optimizer state and no reduction; what only its gradient needs is not computed.
    Roles are norm, embedding, bias (of a linear, or added) and weight; the trainer's --no-decay goes by them.

    Why here: norms and embeddings are recognised; differentiation looks at what is trainable.
  }];
  let options = [
    ListOption<"freeze", "freeze", "std::string",
      "regular expressions found in names of parameters (of tied ones: in any name) that are not trained">,
    ListOption<"trainable", "trainable", "std::string", "if any: those of the only parameters that are trained">
  ];
}

def NNAttachLoss : Pass<"nn-attach-loss", "::mlir::ModuleOp"> {
  let summary = "makes @model return its loss, and drops what does not feed it";
  let description = [{
    Needs: @model raised, with `nn.name` on arguments and results.

    Before (`loss=cross-entropy:logits=logits,labels=labels,shift=1`):
    ```mlir
    func.func @model(%ids: tensor<4x128xi64> {nn.name = "input_ids", nn.role = "input"})
        -> (tensor<4x128x512xf32> {nn.name = "logits"}) {
      ...
      %9 = nn.linear %8, %head {transpose_weight} : ...
      return %9 : tensor<4x128x512xf32>
    ```

    After:
    ```mlir
    module attributes {nn.loss = {kind = "cross_entropy", reduction = "mean", labels = "labels", ignore_index = -100 : i64,
                                  shift = 1 : i64, classes = 512 : i64, elements = 512 : i64}} {
    func.func @model(%ids: ..., %labels: tensor<4x128xi64> {nn.name = "labels", nn.role = "labels"},
                     %scale: tensor<f32> {nn.name = "loss_scale", nn.role = "loss_scale"}) -> (tensor<f32> {nn.name = "loss"}) {
      ...
      %9 = nn.linear_cross_entropy %8, %head labels %labels, %scale {ignore_index = -100, shift = 1, transpose_weight} : ...
      return %9 : tensor<f32>
    ```
    `nn.loss.elements` is the number of labels (cross_entropy) or of output elements (mse) of one rank. A scalar of the
    graph (`output:NAME`) that is a cross entropy, times a constant, becomes the mean or the sum over the global batch: which of
    them, its node says (`nn.reduction`, which import leaves on the ops of a loss node and which is gone afterwards), not the number
    in its scale. Any other is multiplied by the run's scale (1 / ranks and micro-batches); that of a cross entropy goes into its
    own scale. Inputs and parameters without use are dropped with a warning.

    Why here: the head is one linear after raising and can be fused with the loss; precision and differentiation need
    the loss.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
      "cross-entropy:logits=NAME,labels=NAME[,ignore=-100][,shift=0], mse:output=NAME,target=NAME or output:NAME; "
      "without it, the graph's only scalar output">
  ];
}

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
    module attributes {fsdp.unit_reasons = [["embedding", "used before the first block; gather 131 kB over 8 ranks: ..."],
                                            ["layers.0", "block 1 of 2 (layers.0); gather ..."], ["layers.1", ...]]} {
    nn.parameter @embed.weight : tensor<512x64xf32> {fsdp.unit = "embedding", trainable, ...}
    nn.parameter @layers.0.proj.weight : tensor<64x64xf32> {fsdp.unit = "layers.0", trainable, ...}
    nn.parameter @layers.0.proj.bias : tensor<64xf32> {frozen, fsdp.unit = "layers.0", ...}
    nn.parameter @layers.1.proj.weight : tensor<64x64xf32> {fsdp.unit = "layers.1", trainable, ...}
    ```
    Every parameter that @model reads gets the name of its unit, trained or frozen; buffers get none. `fsdp.unit_reasons` has a
    pair of name and reason per unit, by first use. `nn.scope_classes` is dropped: nothing later asks for it.

    `auto` takes a unit per repeated block, found by module paths or, without them, by what repeats in the sequence of uses; apart
    from these what is used before, after and throughout. By the times of collectives on `cluster` it merges what is more latency
    than transfer, and splits what would fill more than a twentieth of a rank's memory. A mesh of one rank keeps the blocks.

    Why here: the loss tells which parameters are used, and the graph is one forward pass still, in which blocks repeat; before the
    gradients, which do not tell frozen parameters.
  }];
  let options = [
    Option<"units", "units", "std::string", "\"auto\"", "auto, block, one, class:NAME[,NAME], scope:REGEX or size:BYTES">,
    Option<"cluster", "cluster", "std::string", "\"cpu\"", "a machine that is built in, or a TOML file: docs/cluster.md">,
    Option<"mesh", "mesh", "std::string", "\"1\"", "ranks: N, or RxS">,
    Option<"strategy", "strategy", "std::string", "\"\"", "tells over which of the mesh's dimensions a unit is gathered">,
    Option<"elementBytes", "element-bytes", "int64_t", "4", "bytes of a gathered parameter's element: 2, 4 or 8">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect"];
}

def NNPrecision : Pass<"nn-precision", "::mlir::ModuleOp"> {
  let summary = "gives floats their types: what parameters are, what each op computes in, and a cast where two meet";
  let description = [{
    Needs: any module of nn ops, before gradients. docs/precision.md is the definition.

    Before (`precision=bf16`):
    ```mlir
    nn.parameter @gamma : tensor<64xf32> {stored_type = f32, trainable, ...}
    nn.parameter @w : tensor<64x64xf32> {stored_type = f32, trainable, ...}
    func.func @model(%x: tensor<4x64xf32>, ..., %scale: tensor<f32>) -> tensor<f32> {
      %y, %rstd = nn.rms_norm %x, %gamma : (tensor<4x64xf32>, tensor<64xf32>) -> (tensor<4x64xf32>, tensor<4x1xf32>)
      %z = nn.linear %y, %w : ...
      %loss = nn.cross_entropy %z, %labels, %scale : ...
    ```

    After:
    ```mlir
    module attributes {nn.precision = {parameters = bf16, gradients = f32, loss = f32, master = f32}} {
    nn.parameter @gamma : tensor<64xbf16> {stored_type = f32, trainable, ...}
    nn.parameter @w : tensor<64x64xbf16> {stored_type = f32, trainable, ...}
    func.func @model(%x: tensor<4x64xf32>, ..., %scale: tensor<f32>) -> tensor<f32> {
      %y, %rstd = nn.rms_norm %x, %gamma : (tensor<4x64xf32>, tensor<64xbf16>) -> (tensor<4x64xbf16>, tensor<4x1xf32>)
      %z = nn.linear %y, %w : ...                          // bf16
      %loss = nn.cross_entropy %z, %labels, %scale : ...   // bf16 logits, float32 loss
    ```
    Inputs stay float32 and `stored_type` what it is. An op computes in the parameters' type; in float32 where `keep` says so and
    where its floats come from integers, constants and buffers alone (positions, masks); in the type that a unit option gives
    to a parameter that it reads. Moves keep their operand's type. A value has one cast per type that it is read in, directly
    behind its producer; views are repeated in front of it. Ops of mixed types (norms, softmax, sums) read floats as they are and
    round to the type in which they are read, so that keeping them costs no cast. Weights of a library call have the type that it
    computes in: no cast of a gathered parameter feeds one. With `float32` and `float64` all floats have this one type, and
    casts between floats vanish.

    Why here: the gradients and the optimizer's state inherit the types; the loss must be there to keep it.
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"float32\"",
      "bf16, float16, float32 or float64, or param=TYPE[,reduce=TYPE][,output=TYPE][,keep=norm|softmax|loss|REGEX]">,
    Option<"master", "master", "std::string", "\"\"",
      "type of master weights and optimizer state: float32 (float64 with float64), or the 16-bit type of the parameters">,
    ListOption<"unitOptions", "unit-options", "std::string",
      "match=REGEX,precision=TYPE for parameters whose fsdp.unit (else name) matches; first match wins">
  ];
}

def FSDPFormUnits : Pass<"fsdp-form-units", "::mlir::ModuleOp"> {
  let summary = "lays the mesh and the flat buffer of each sharding unit out";
  let description = [{
    Needs: `nn.parameter` symbols, and @train with `nn.gradient_of` on its results (or @model before differentiation). Which
    unit a parameter belongs to stands in its attribute `fsdp.unit`.

    Before:
    ```mlir
    nn.parameter @embed.weight : tensor<512x64xf32> {trainable, ...}
    nn.parameter @layers.0.weight : tensor<64x64xf32> {fsdp.unit = "layers.0", trainable, ...}
    nn.parameter @layers.1.weight : tensor<64x64xf32> {fsdp.unit = "layers.1", trainable, ...}
    ```

    After:
    ```mlir
    fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @root {parameters = [@embed.weight], offsets = array<i64: 0>, elements = 32768, padding = 0, shards = 2, ...}
    fsdp.unit @layers.0 {parameters = [@layers.0.weight], ...}
    fsdp.unit @layers.1 {parameters = [@layers.1.weight], ...}
    ```
    One unit per name that `fsdp-assign-units` gave (it takes these attributes away), `root` for what has none, in the order of
    their first use.
    Only parameters with a gradient and frozen ones (in units of their own, without optimizer) are in units: buffers stay
    `nn.get_parameter`, resident on every rank. With strategy `none`, and on one rank, units have one shard but keep the layout.

    Why here: gradients tell which parameters are trained; what shards them comes next.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"1\"", "ranks: N, RxS, or replicate=R,shard=S">,
    Option<"strategy", "strategy", "std::string", "\"\"",
      "full, grad_op, hybrid, hybrid_grad_op, hybrid_opt, opt or none; default: hybrid on two dimensions, else full">,
    Option<"reshard", "reshard", "std::string", "\"default\"",
      "what is left of gathered parameters after forward: default, always, never, or a number of ranks">,
    ListOption<"unitOptions", "unit-options", "std::string", "match=REGEX[,reshard=...] for units of that name">
  ];
  let dependentDialects = ["::shardc::fsdp::FSDPDialect"];
}

def FSDPShard : Pass<"fsdp-shard", "::mlir::ModuleOp"> {
  let summary = "gathers parameters before use, reduces gradients, runs the optimizer on shards";
  let description = [{
    Needs: `fsdp.mesh` and `fsdp.unit`s; @train (and @eval, if there is one) that return the loss and, in @train, a gradient of
    every parameter of a unit (`nn.gradient_of`).

    Before:
    ```mlir
    func.func @train(%x: ..., %scale: tensor<f32>) -> (tensor<f32>, tensor<4x4xf32> {nn.gradient_of = @w}) {
      %w = nn.get_parameter @w : tensor<4x4xf32>
      %y = nn.linear %x, %w : ...
      ...
      %dx = nn.linear %dy, %w {transpose_weight} : ...
      %dw = nn.linear_weight_grad %x, %dy : ...
      return %loss, %dw : ...
    ```

    After:
    ```mlir
    func.func @train(%x: ..., %scale: tensor<f32>) {
      %0 = fsdp.all_gather_start @u forward over @world
      %w = fsdp.all_gather_wait %0 : tensor<4x4xf32>
      %y = nn.linear %x, %w : ...
      fsdp.release @u(%w) : tensor<4x4xf32>
      ...                                             // all_gather, use and release again for backward
      %dw = nn.linear_weight_grad %x, %dy : ...
      %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xf32>) -> tensor<16xf32>
      %1 = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
      %g = fsdp.reduce_scatter_wait %1 : tensor<8xf32>
      %a = fsdp.accumulate %g in f32 : tensor<8xf32>
      %n = fsdp.gradient_norm %a {slices = array<i64: 1>} : (tensor<8xf32>) -> tensor<f64>
      %l = fsdp.accumulate %loss64 in f64 : tensor<f64>
      %2 = fsdp.all_reduce_start optimizer(%l, %n) over @world {norms = array<i1: false, true>} : tensor<f64>, tensor<f64>
      %sums:2 = fsdp.all_reduce_wait %2 : tensor<f64>, tensor<f64>
      fsdp.metric "loss" %sums#0 : tensor<f64>
      fsdp.metric "gradient_norm" %sums#1 : tensor<f64>
      fsdp.optimizer_step @u(%a, %sums#1) "adamw" : tensor<8xf32>, tensor<f64>
      return
    ```
    One all-gather per unit and phase in which it is used: a tied parameter keeps its unit from its first use in a phase to
    the last. A unit that is not resharded (`reshard = 1`) stays gathered from forward to backward; with a `reshard` between 1
    and its shards backward gathers it from a kept slice within a smaller group. Forward ends with the op that makes the loss. A
    gather begins `prefetch` units ahead. A unit's reduce-scatter begins with its last gradient; it is waited for before the
    next but one begins. What a second mesh dimension adds (hybrid: an all-reduce of the slices, hybrid_opt: a further
    reduce-scatter) follows in the last micro-batch. Units of one shard are `fsdp.resident`; a mesh of one rank has no
    collectives. `accumulate`: `sharded` reduces the gradients of every micro-batch and adds what comes out; `unsharded` adds the
    flat gradients, and reduces them in the last.

    Why here: after differentiation, so that forward and backward are both there to place collectives in; before kernels are
    formed, so that fusion does not move a use past a release.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, adam, sgd, lion or amsgrad">,
    Option<"prefetch", "prefetch", "int64_t", "1", "units to gather ahead of the one that computes">,
    Option<"accumulate", "accumulate", "std::string", "\"\"",
      "what micro-batches add up: sharded or unsharded gradients; default: sharded where the optimizer is">
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
    - a unit is gathered again before it was released, is never released, or is released with other tensors;
    - a parameter of a unit is read by `nn.get_parameter`;
    - a unit's gradients are reduced by the wrong collective, twice, or not at all while there is an optimizer;
    - an `fsdp.optimizer_step` has another gradient than its unit's, or another norm than the others, or the norm leaves a
      gradient out;
    - a collective stands under control flow, where ranks could disagree on the order.

    Why here: after whatever moves ops of a sharded step; cheap enough to run again.
  }];
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
    gradient has its value's type, and a parameter's the type `gradients` of `nn.precision`: the op that makes it makes this type
    (a sum of bf16 products is float32 as it is), also through views, so that it is never rounded to the parameter's. A
    parameter that does not reach the loss gets a warning and is no longer `trainable`: as in PyTorch, where its gradient is
    None, the optimizer leaves it alone. No gradient is handed on by an `nn.stop_gradient` (where `where` is true, if it has one);
    in what this pass leaves, its result is its input.

    Why here: units are formed from the parameters that have gradients, and gathers are placed around the uses of both
    passes.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect"];
}

def NNRemat : Pass<"nn-remat", "::mlir::ModuleOp"> {
  let summary = "backward computes again what is cheaper to compute than to keep";
  let description = [{
    Needs: @train, simplified, with the loss as its first result; `fsdp.unit` on parameters that will be gathered.

    Before (`policy=cheap`):
    ```mlir
    %gate = nn.linear %x, %w1 : ...
    %s = nn.silu %gate : tensor<1024x3072xf32>
    %h = nn.mul %s, %up : tensor<1024x3072xf32>
    ...                                                  // the rest of forward and backward: %s and %h are alive
    %dw = nn.linear_weight_grad %h, %dy : ...
    %dup = nn.mul %dh, %s : tensor<1024x3072xf32>
    ```

    After:
    ```mlir
    %s1 = nn.silu %gate {nn.recomputed} : tensor<1024x3072xf32>
    %h1 = nn.mul %s1, %up {nn.recomputed} : tensor<1024x3072xf32>
    %dw = nn.linear_weight_grad %h1, %dy : ...
    %s2 = nn.silu %gate {nn.recomputed} : tensor<1024x3072xf32>   // part of the kernel of %dup
    %dup = nn.mul %dh, %s2 : tensor<1024x3072xf32>
    ```
    Generated code alone runs again: no product, attention, loss or collective. Which of it is a minimum cut between what
    forward must compute and what backward reads: a value that is kept costs its bytes, an op that runs again an eighth of the
    bytes that memory moves in its time (its operands and results, its arithmetic, a launch; `cluster` has the rates). So what is
    recomputed comes from values that are kept anyway, or from smaller ones. The time of all that runs again is at most 1 % of the
    step's arithmetic: else what saves least for its time stays kept, and of what saves as much (layers are alike) the first
    layers' run again, as many as fit. An op that reads a parameter runs again only while backward has its unit gathered in any case.

    Clones stand right before their first reader, so that one block's are alive at a time. Those that map one tensor to one are
    repeated for every kernel that reads them; what a library call reads is made once. Kernels round alike everywhere, so losses
    and gradients have the same bits with `none`. The module's attribute `nn.remat` says what backward reads, what of it is kept,
    what runs again, and what that takes by estimate.

    Why here: behind the simplification that would make clone and original one again; before sharding, which gathers parameters
    where they are used.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"cheap\"", "cheap; none: everything that backward reads is kept">,
    Option<"cluster", "cluster", "std::string", "\"\"", "name or TOML file of the machine; empty: cpu">
  ];
}
#endif
