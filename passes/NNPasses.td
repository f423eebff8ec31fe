// Passes of the nn dialect: what the training step is, on the model alone. One entry here, one
// .cpp, one lit test, all of one name. Descriptions have four parts: Needs, Before, After, Why
// here. test_examples.py parses their IR, and says what may be left out of it.
#ifndef SHARDC_PASSES_NNPASSES_TD
#define SHARDC_PASSES_NNPASSES_TD
include "mlir/Pass/PassBase.td"

def NNRaise : Pass<"nn-raise", "::mlir::ModuleOp"> {
  let summary =
    "recognises what exporters decomposed: linear, norms, activations, rope, attention, embedding";
  let description = [{
    Needs: @model as the import phase leaves it: nn ops of static shape, shape and mask arithmetic
    folded.

    Before:
    ```mlir
    %0 = nn.transpose %q [0, 2, 1, 3] : (tensor<4x128x4x16xf32>) -> tensor<4x4x128x16xf32>
    %1 = nn.transpose %k [0, 2, 1, 3] : (tensor<4x128x4x16xf32>) -> tensor<4x4x128x16xf32>
    %2 = nn.transpose %v [0, 2, 1, 3] : (tensor<4x128x4x16xf32>) -> tensor<4x4x128x16xf32>
    %3 = nn.matmul %0, %1 {transpose_rhs}
        : (tensor<4x4x128x16xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x128xf32>
    %4 = nn.mul %3, %quarter : tensor<4x4x128x128xf32>
    %5 = nn.add %4, %mask : tensor<4x4x128x128xf32>   // 0 below the diagonal, -3.4e38 above
    %6 = nn.softmax %5 : tensor<4x4x128x128xf32>
    %7 = nn.matmul %6, %2
        : (tensor<4x4x128x128xf32>, tensor<4x4x128x16xf32>) -> tensor<4x4x128x16xf32>
    %8 = nn.transpose %7 [0, 2, 1, 3] : (tensor<4x4x128x16xf32>) -> tensor<4x128x4x16xf32>
    ```

    After:
    ```mlir
    %result, %log_sum_exp = nn.attention %q, %k, %v {causal, scale = 2.5e-01 : f64}
        : (tensor<4x128x4x16xf32>, tensor<4x128x4x16xf32>, tensor<4x128x4x16xf32>)
        -> (tensor<4x128x4x16xf32>, tensor<4x4x128xf32>)
    ```
    Patterns match by meaning: operands in any order, constants up to float32 rounding, layouts
    through any chain of views. First what is local (norms, activations, rope, linear, gathers);
    then attention with its masks, while transposes move down and slices up until they cancel. What
    is not recognised stays as it is: plain nn ops always work.

    Why here: differentiation, sharding and kernels are simpler and faster on few composite ops; the
    loss is attached afterwards, so that it meets the head as one linear.
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
    nn.parameter @embed.weight : tensor<512x64xf32> {frozen, nn.parameter_role = "embedding", ...}
    nn.parameter @norm.weight : tensor<64xf32> {nn.parameter_role = "norm", trainable, ...}
    ```
    A frozen parameter has no gradient, no optimizer state and no reduction; what only its gradient
    needs is not computed. Roles are norm, embedding, bias (of a linear, or added) and weight; the
    trainer's --no-decay goes by them.

    Why here: norms and embeddings are recognised; differentiation looks at what is trainable.
  }];
  let options = [
    ListOption<"freeze", "freeze", "std::string",
      "regular expressions found in names of parameters (of tied ones: in any name) that are not "
      "trained">,
    ListOption<"trainable", "trainable", "std::string",
      "if any: those of the only parameters that are trained">
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
      %9 = nn.linear %8, %head {transpose_weight}
          : (tensor<4x128x64xf32>, tensor<512x64xf32>) -> tensor<4x128x512xf32>
      return %9 : tensor<4x128x512xf32>
    }
    ```

    After:
    ```mlir
    module attributes {nn.loss = {kind = "cross_entropy", reduction = "mean", labels = "labels",
                                  ignore_index = -100 : i64, shift = 1 : i64, classes = 512 : i64,
                                  elements = 512 : i64}} {
      func.func @model(%ids: tensor<4x128xi64> {nn.name = "input_ids", nn.role = "input"},
                       %labels: tensor<4x128xi64> {nn.name = "labels", nn.role = "labels"},
                       %scale: tensor<f32> {nn.name = "loss_scale", nn.role = "loss_scale"})
          -> (tensor<f32> {nn.name = "loss"}) {
        ...
        %9 = nn.linear_cross_entropy %8, %head labels %labels, %scale
            {ignore_index = -100 : i64, shift = 1 : i64, transpose_weight}
            : (tensor<4x128x64xf32>, tensor<512x64xf32>, tensor<4x128xi64>, tensor<f32>)
            -> tensor<f32>
        return %9 : tensor<f32>
      }
    }
    ```
    `nn.loss.elements` is the number of labels (cross_entropy) or of output elements (mse) of one
    rank, `class_weights` those of a cross entropy that has some, as its constant has them. A scalar
    of the graph (`output:NAME`) that is a cross entropy, times a constant, becomes the mean or the
    sum over the global batch: which of them, its node says (`nn.reduction`, which import leaves on
    the ops of a loss node and which is gone afterwards), not the number in its scale. Any other is
    multiplied by the run's scale (1 / ranks and micro-batches); that of a cross entropy goes into
    its own scale. Inputs and parameters without use are dropped with a warning.

    Why here: the head is one linear after raising and can be fused with the loss; precision and
    differentiation need the loss.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
      "cross-entropy:logits=NAME,labels=NAME[,ignore=-100][,shift=0][,label-smoothing=0], "
      "soft-cross-entropy or binary-cross-entropy:logits=NAME,target=NAME, "
      "mse, l1, smooth-l1 or huber:output=NAME,target=NAME or output:NAME; "
      "without it, the graph's only scalar output">,
    ListOption<"outputs", "outputs", "std::string",
      "outputs that @model returns behind the loss, for evaluations">,
    Option<"accuracy", "accuracy", "bool", "false",
      "evaluations count the labels that are the largest logit: the module gets the attribute "
      "nn.accuracy; refused where the loss is no cross entropy of labels that are an input">
  ];
}

def NNPrecision : Pass<"nn-precision", "::mlir::ModuleOp"> {
  let summary =
    "gives floats their types: what parameters are, what each op computes in, and a cast where "
    "two meet";
  let description = [{
    Needs: any module of nn ops, before gradients. docs/precision.md is the definition.

    Before (`precision=bf16`):
    ```mlir
    nn.parameter @gamma : tensor<64xf32> {stored_type = f32, trainable, ...}
    nn.parameter @w : tensor<64x64xf32> {stored_type = f32, trainable, ...}
    func.func @model(%x: tensor<4x64xf32>, %labels: tensor<4xi64>, %scale: tensor<f32>)
        -> tensor<f32> {
      %gamma = nn.get_parameter @gamma : tensor<64xf32>
      %w = nn.get_parameter @w : tensor<64x64xf32>
      %y, %rstd = nn.rms_norm %x, %gamma {epsilon = 1.0e-05 : f64}
          : (tensor<4x64xf32>, tensor<64xf32>) -> (tensor<4x64xf32>, tensor<4x1xf32>)
      %z = nn.linear %y, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
      %loss = nn.cross_entropy %z, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64}
          : (tensor<4x64xf32>, tensor<4xi64>, tensor<f32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```

    After:
    ```mlir
    module attributes {nn.precision = {parameters = bf16, gradients = f32, loss = f32,
                                       master = f32}} {
      nn.parameter @gamma : tensor<64xbf16> {stored_type = f32, trainable, ...}
      nn.parameter @w : tensor<64x64xbf16> {stored_type = f32, trainable, ...}
      func.func @model(%x: tensor<4x64xf32>, %labels: tensor<4xi64>, %scale: tensor<f32>)
          -> tensor<f32> {
        %gamma = nn.get_parameter @gamma : tensor<64xbf16>
        %w = nn.get_parameter @w : tensor<64x64xbf16>
        %y, %rstd = nn.rms_norm %x, %gamma {epsilon = 1.0e-05 : f64}
            : (tensor<4x64xf32>, tensor<64xbf16>) -> (tensor<4x64xbf16>, tensor<4x1xf32>)
        %z = nn.linear %y, %w : (tensor<4x64xbf16>, tensor<64x64xbf16>) -> tensor<4x64xbf16>
        %loss = nn.cross_entropy %z, %labels, %scale {ignore_index = -100 : i64, shift = 0 : i64}
            : (tensor<4x64xbf16>, tensor<4xi64>, tensor<f32>) -> tensor<f32>
        return %loss : tensor<f32>
      }
    }
    ```
    Inputs stay float32 and `stored_type` what it is. An op computes in the parameters' type; in
    float32 where `keep` says so and where its floats come from integers, constants and buffers
    alone (positions, masks); in the type that a unit option gives to a parameter that it reads.
    Moves keep their operand's type. A value has one cast per type that it is read in, directly
    behind its producer; views are repeated in front of it. Ops of mixed types (norms, softmax,
    sums) read floats as they are and round to the type in which they are read, so that keeping them
    costs no cast. Weights of a library call have the type that it computes in: no cast of a
    gathered parameter feeds one. With `float32` and `float64` all floats have this one type, and
    casts between floats vanish.

    Why here: the gradients and the optimizer's state inherit the types; the loss must be there to
    keep it.
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"float32\"",
      "bf16, float16, float32 or float64, or "
      "param=TYPE[,reduce=TYPE][,output=TYPE][,keep=norm|softmax|loss|REGEX]">,
    Option<"master", "master", "std::string", "\"\"",
      "type of master weights and optimizer state: float32 (float64 with float64), the 16-bit "
      "type of the parameters, or split: float32, as bf16 parameters and the rest">,
    ListOption<"unitOptions", "unit-options", "std::string",
      "match=REGEX,precision=TYPE for parameters whose nn.unit (else name) matches; first match "
      "wins">
  ];
}

def NNSumOverRanks : Pass<"nn-sum-over-ranks", "::mlir::ModuleOp"> {
  let summary = "sums over a batch that are not merely added up are those of all ranks";
  let description = [{
    Needs: @model with its loss, whose ops the driver has marked (`nn.sample_sum`, MarkedSums.h).

    A loss that adds up what each sample gives is the mean over ranks of what each computes. One
    that divides by a sum over the batch (a masked mean, weights of samples), takes its root, or
    multiplies two (a balance of experts) is not: such sums and means are those of all ranks then.

    Before and after, of `%count` alike:
    ```mlir
    %sum = nn.reduce_sum %masked [0, 1] : (tensor<4x128xf32>) -> tensor<1x1xf32>
    %loss = nn.div %sum, %count : tensor<1x1xf32>
    ```
    ```mlir
    %own = nn.stop_gradient %sum : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %all = fsdp.rank_sum %own : tensor<1x1xf32>
    %share = nn.mul %sum, %ranks : tensor<1x1xf32>
    %known = nn.straight_through %all to %share : tensor<1x1xf32>
    %loss = nn.div %known, %count_of_all : tensor<1x1xf32>
    ```
    Means, and sums that are divided by a number of samples, are the mean over ranks; one that is
    divided by one less than what it adds up (a variance) stays one. A gradient that is the same on
    all ranks is not summed again; where a sample's value is computed from the sum (its weight is
    normalized, say), the ranks' gradients are. What a parameter is applied to behind such a sum is
    a statistic of the model, as those of batch norms are, and follows `statistics`. Samples that
    are computed with each other otherwise (products of samples, softmaxes over them) stay those of
    one rank, with a warning.

    Why here: behind raising, whose losses over labels are divided by what all ranks count; before
    differentiation.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect", "::shardc::fsdp::FSDPDialect"];
  let options = [
    Option<"sums", "sums", "std::string", "\"global\"",
      "of which samples a loss's sums are: global (of all ranks), or rank (its own)">,
    Option<"statistics", "statistics", "std::string", "\"rank\"",
      "and those that the model uses: rank, or sync (of all ranks)">,
    Option<"mesh", "mesh", "std::string", "\"1\"", "N, or RxS">];
}

def NNWarnRoots : Pass<"nn-warn-roots", "::mlir::ModuleOp"> {
  let summary = "warns of roots of sums of squares, whose gradient is NaN for zeros";
  let description = [{
    Needs: @model with its loss. Changes nothing.

    Before and after:
    ```mlir
    %squares = nn.mul %h, %h : tensor<4x64xf32>      // %h depends on a trainable parameter
    %sum = nn.reduce_sum %squares [1] : (tensor<4x64xf32>) -> tensor<4x1xf32>
    %norm = nn.sqrt %sum : tensor<4x1xf32>           // warning: its gradient is NaN where %h is 0
    ```
    A row of zeros, of padding or behind a relu, has the norm 0; the root's gradient there is
    infinite, the squares' is 0, and their product NaN, which the next update spreads over all
    parameters. PyTorch does the same. There is no warning where anything is added to the sum, or
    chosen in its place where it is 0, as ReduceL2 is decoded. All roots are one warning, at the
    first of them.

    Why here: after raising, which makes norms of most such roots; before precision, so that
    no conversions stand between.
  }];
}

def NNStackLinears : Pass<"nn-stack-linears", "::mlir::ModuleOp"> {
  let summary = "linears of one input become one product, rotations of its parts one";
  let description = [{
    Needs: @model with units and types; a target for which one large product is faster than several.

    Before:
    ```mlir
    %q = nn.linear %x, %wq {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<64x64xf32>) -> tensor<4x128x64xf32>
    %v = nn.linear %x, %wv {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<16x64xf32>) -> tensor<4x128x16xf32>
    ```

    After:
    ```mlir
    %0 = nn.stacked_linear %x weights(%wq, %wv) {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<64x64xf32>, tensor<16x64xf32>) -> tensor<4x128x80xf32>
    %q = nn.slice %0 [0, 0, 0] to [4, 128, 64] by [1, 1, 1]
        : (tensor<4x128x80xf32>) -> tensor<4x128x64xf32>
    %v = nn.slice %0 [0, 0, 64] to [4, 128, 80] by [1, 1, 1]
        : (tensor<4x128x80xf32>) -> tensor<4x128x16xf32>
    ```
    Weights are parameters of one unit, [out, in] and used here alone; all have a bias of that kind,
    or none; all are trained, or none. `fsdp-form-units` lays them one behind the other. A weight
    has whole packs of `align` elements, so that the next one begins at such a place. Parts that are
    rotated by the same angles stand first, and `nn.rope` rotates the product's first heads: it
    copies the others, and the product itself need not be kept.

    Why here: units and types are known; gradients of one product are one product each.
  }];
  let options = [
    Option<"align", "align", "int64_t", "1",
      "elements of a flat buffer that each parameter begins at a multiple of">
  ];
}

def NNDifferentiate : Pass<"nn-differentiate", "::mlir::ModuleOp"> {
  let summary =
    "makes the training step: the forward pass, the backward pass and one gradient per trainable "
    "parameter";
  let description = [{
    Needs: @model, which returns one float scalar, the loss; each op between a trainable parameter
    and the loss implements `Differentiable`.

    Before:
    ```mlir
    nn.parameter @w : tensor<3xf32> {trainable, ...}
    func.func @model(%x: tensor<3xf32>) -> tensor<f32> {
      %w = nn.get_parameter @w : tensor<3xf32>
      %y = nn.mul %x, %w : tensor<3xf32>
      %z = nn.exp %y : tensor<3xf32>
      %s = nn.reduce_sum %z [0] : (tensor<3xf32>) -> tensor<1xf32>
      %loss = nn.reshape %s : (tensor<1xf32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```

    After:
    ```mlir
    nn.parameter @w : tensor<3xf32> {trainable, ...}
    func.func @eval(%x: tensor<3xf32>) -> tensor<f32> {   // @model as it was
      ...
      return %loss : tensor<f32>
    }
    func.func @train(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32> {nn.gradient_of = @w}) {
      ...   // the forward pass, as in @eval
      %dw = nn.mul %z, %x : tensor<3xf32>
      return %loss, %dw : tensor<f32>, tensor<3xf32>
    }
    ```
    Only what lies between a trainable parameter and the loss is differentiated. Where a value has
    several uses, their gradients are added as the backward pass meets them, last use first: a fixed
    order, in which at most one sum is alive. A gradient has its value's type, and a parameter's the
    type `gradients` of `nn.precision`: the op that makes it makes this type (a sum of bf16 products
    is float32 as it is), also through views, so that it is never rounded to the parameter's. A
    parameter that does not reach the loss gets a warning and is no longer `trainable`: as in
    PyTorch, where its gradient is None, the optimizer leaves it alone. No gradient is handed on by
    an `nn.stop_gradient` (where `where` is true, if it has one), and by an `nn.straight_through` to
    `through` alone; in what this pass leaves, their results are their inputs.

    Why here: units are formed from the parameters that have gradients, and gathers are placed
    around the uses of both passes.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect"];
}

def NNExpandBatchNorms : Pass<"nn-expand-batch-norms", "::mlir::ModuleOp"> {
  let summary = "norms by the batch's statistics become other ops; evaluations take running ones";
  let description = [{
    Needs: @train and @eval.

    Before:
    ```mlir
    %y, %mean, %variance = nn.batch_norm %x, %gamma, %beta, %running_mean, %running_var
        {epsilon = 1.0e-05 : f64, momentum = 9.0e-01 : f64, site = 0 : i64, unbiased}
        : (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>)
    %d = nn.running_gradient %running_mean, %mean {momentum = 9.0e-01 : f64, rows = 0 : i64,
        site = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```

    After, in @train: sums over rows, products and differences, and with `%running`, an argument of
    the role `running`:
    ```mlir
    %weight = nn.slice %running [0] to [1] by [1] : (tensor<1xf32>) -> tensor<1xf32>
    %weights = nn.broadcast %weight : (tensor<1xf32>) -> tensor<64xf32>
    %lost = nn.sub %running_mean, %mean : tensor<64xf32>
    %d = nn.mul %weights, %lost : tensor<64xf32>
    ```
    The module's attribute `nn.running` says of each element of the argument what a run writes there
    (`nn.running_gradient`). In @eval the running statistics stand for the batch's. With
    `statistics=sync` those of the batch, and the means in backward, are of all ranks together
    (`fsdp.rank_mean`), whose number `mesh` says; that without such a norm is an error.

    Why here: what backward reads of the batch's statistics is known, and fused kernels, precisions
    and recomputation need nothing of their own for them.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect", "::shardc::fsdp::FSDPDialect"];
  let options = [
    Option<"statistics", "statistics", "std::string", "\"rank\"",
      "of which samples: rank (its own), or sync (of all ranks)">,
    Option<"mesh", "mesh", "std::string", "\"1\"", "N, or RxS">];
}

def NNPlaceDraws : Pass<"nn-place-draws", "::mlir::ModuleOp"> {
  let summary = "says where ops that draw get their numbers from; evaluations drop nothing";
  let description = [{
    Needs: @train and @eval.

    Before:
    ```mlir
    %0 = nn.dropout %x {rate = 1.0e-01 : f64, site = 7 : i64}
        : (tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
    ```

    After, in @train, where `%draws` is an argument of the role `draws` (in @eval, `%x` is in the
    place of `%0`):
    ```mlir
    %words = nn.slice %draws [0] to [8] by [1] : (tensor<8xi32>) -> tensor<8xi32>
    %0 = nn.dropout %x drawn %words {sample_stride = 8192 : i64, samples = 4 : i64}
        : (tensor<4x128x64xf32>, tensor<8xi32>) -> tensor<4x128x64xf32>
    ```
    `nn.draw`, whose numbers are no dropout, gets its words in both, and `like` goes once its
    samples are found. Sites are counted anew, in their order; each has eight words of the argument.
    The module's attribute `nn.sites` has the name of each, and the rate of dropouts. Where samples
    lie in a tensor is followed from the inputs, whose first dim they are, through views and dims
    that ops keep (`passes/analyses/SampleStrides.h`): an element's number is its sample's in the
    batch of the whole step, and its own in the sample. So the same masks are drawn on every mesh
    and in every number of micro-batches. What is no function of an input has one mask for all
    samples.

    Why here: the gradient draws with its op's site; recomputation, which follows, repeats ops that
    are drawn already.
  }];
}

def NNRemat : Pass<"nn-remat", "::mlir::ModuleOp"> {
  let summary = "backward computes again what is cheaper to compute than to keep";
  let description = [{
    Needs: @train, simplified, with the loss as its first result; `nn.unit` on parameters that
    will be gathered.

    Before (`policy=cheap`):
    ```mlir
    %gate = nn.linear %x, %w1
        : (tensor<1024x512xf32>, tensor<512x3072xf32>) -> tensor<1024x3072xf32>
    %s = nn.silu %gate : tensor<1024x3072xf32>
    %h = nn.mul %s, %up : tensor<1024x3072xf32>
    ...   // the rest of forward and backward: %s and %h are alive
    %dw = nn.linear_weight_grad %h, %dy
        : (tensor<1024x3072xf32>, tensor<1024x512xf32>) -> tensor<3072x512xf32>
    %dup = nn.mul %dh, %s : tensor<1024x3072xf32>
    ```

    After:
    ```mlir
    %gate = nn.linear %x, %w1
        : (tensor<1024x512xf32>, tensor<512x3072xf32>) -> tensor<1024x3072xf32>
    ...
    %s1 = nn.silu %gate {nn.recomputed} : tensor<1024x3072xf32>
    %h1 = nn.mul %s1, %up {nn.recomputed} : tensor<1024x3072xf32>
    %dw = nn.linear_weight_grad %h1, %dy
        : (tensor<1024x3072xf32>, tensor<1024x512xf32>) -> tensor<3072x512xf32>
    %s2 = nn.silu %gate {nn.recomputed} : tensor<1024x3072xf32>   // part of the kernel of %dup
    %dup = nn.mul %dh, %s2 : tensor<1024x3072xf32>
    ```
    With `cheap`, generated code alone runs again: no product, attention, loss or collective. Which
    of it is a minimum cut between what forward must compute and what backward reads: a value that
    is kept costs its bytes, an op that runs again an eighth of the bytes that memory moves in its
    time (its operands and results, its arithmetic, a launch; `cluster` has the rates). So what is
    recomputed comes from values that are kept anyway, or from smaller ones. The time of all that
    runs again is at most 1 % of the step's arithmetic: else what saves least for its time stays
    kept, and of what saves as much (layers are alike) the first layers' run again, as many as fit.
    `all` has no such bound. An op that reads a parameter runs again only while backward has its
    unit gathered in any case.

    `selective`, `unit`, `class:NAMES` and `scope:REGEX` say what may run again (all but products
    and attention, all, ops of these classes, what lies in modules that match), and all of it that
    saves a byte does. `time=PERCENT` and `budget=SIZE` choose among all: the fewest bytes in that
    much of the step's arithmetic, the least time that leaves so few bytes. They find prices between
    whose cuts the limit lies, divide the difference into components as a knapsack, and search on by
    branch and bound. Library calls run again inside of a unit (of a matching module) alone, and
    what passes between these is kept; not in the last one, with which backward begins. Where such
    ops read parameters that backward does not gather otherwise, their unit is gathered there: its
    time counts, by `mesh` and `strategy`. With `fuses-sums`, a product that `step-fuse-products`
    will add something to runs again with that addition or not at all.

    Clones stand right before their first reader, so that one block's are alive at a time. Those
    that map one tensor to one are repeated for every kernel that reads them; what a library call
    reads is made once. Kernels round alike everywhere, so losses and gradients have the same bits
    with `none`. The module's attribute `nn.remat` says what backward reads, what of it is kept,
    what runs again, and what that takes by estimate.

    Why here: behind the simplification that would make clone and original one again; before
    sharding, which gathers parameters where they are used.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"cheap\"",
      "none, cheap, all, selective, unit, budget=SIZE, time=PERCENT, class:NAMES or scope:REGEX">,
    Option<"cluster", "cluster", "std::string", "\"\"",
      "name or TOML file of the machine; empty: cpu">,
    Option<"mesh", "mesh", "std::string", "\"1\"",
      "N, RxS, or replicate=R,shard=S: what a gather that is added takes">,
    Option<"strategy", "strategy", "std::string", "\"\"", "see fsdp-form-units">,
    Option<"fusesSums", "fuses-sums", "bool", "false",
      "step-fuse-products will run: what it fuses in forward is fused again">
  ];
}

#endif
