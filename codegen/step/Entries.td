// What a program consists of: kernels, library calls, copies. Each op is one case of plan.proto's
// `Entry`: the case has the op's name, and its message a field for each operand, attribute and
// result, of the same name. codegen/emit/EmitEntries.cpp writes one from the other by these names;
// EmitEntriesTest demands that they agree.
#ifndef SHARDC_CODEGEN_STEP_ENTRIES_TD
#define SHARDC_CODEGEN_STEP_ENTRIES_TD
include "codegen/step/CollectiveInterface.td"
include "codegen/step/EntryInterface.td"
include "codegen/step/Step.td"

class Step_Entry<string mnemonic, list<Trait> traits = []> :
    Step_Op<mnemonic, !listconcat([Step_EntryInterface], traits)> {
  list<int> operandPlaces =
    !filter(i, !range(!size(arguments)), !not(!initialized(!getdagarg<Attr>(arguments, i))));
  let extraClassDeclaration = [{
    static ::llvm::SmallVector<::llvm::StringRef> getOperandNames() {
      return {}] #
        !interleave(!foreach(i, operandPlaces, "\"" # !getdagname(arguments, i) # "\""), ", ") #
        "};" # [{
    }
  }];
}

// Traits of what begins a collective; the second is one that reduces gradients of a unit.
defvar Step_StartsCollective = DeclareOpInterfaceMethods<Step_CollectiveStart>;
defvar Step_ReducesGradients =
  DeclareOpInterfaceMethods<Step_CollectiveStart, ["getReducedGradient"]>;

def Step_LaunchOp : Step_Entry<"launch",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a generated kernel on views";
  let description = [{
    `step.call` on memory: the inputs are read, the outputs written; an output may be an input's
    view where the kernel allows it (`step-write-in-place`). Views are row-major contiguous, but for
    inputs of which the kernel says strides (`step.strides`, an attribute of its argument). A kernel
    that is not there, and views that lie otherwise, are refused; `step-verify` checks that their
    offsets are multiples of the plan's argument_alignment.

    ```mlir
    module @kernels {
      func.func private @gelu_12ab(tensor<512x64xf32>) -> tensor<512x64xf32>
    }
    step.launch @kernels::@gelu_12ab(%x) into (%y) : (memref<512x64xf32>) -> memref<512x64xf32>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Step_Reads<Variadic<Step_View>>:$inputs,
    Step_Writes<Variadic<Step_View>>:$outputs);
  let assemblyFormat = [{$kernel `(` $inputs `)` `into` `(` $outputs `)` attr-dict `:`
    functional-type($inputs, $outputs)}];
  let hasVerifier = 1;
}

def Step_GemmOp : Step_Entry<"gemm", [AttrSizedOperandSegments]> {
  let summary =
    "c = op(a) op(b) (+ bias) (+ residual) (+ c with `accumulate`), 2-d or batched 3-d";
  let description = [{
    a [m, k], b [k, n], c [m, n], or all three with one batch dim before; with `transpose_a` a is
    stored [k, m], with `transpose_b` b is [n, k]. The last dim of each operand has stride 1 and the
    one before a stride of at least the row's length; the batch dim may have any stride. bias: [n].
    a, b and bias have one element type; c has it too, or float32 where they have 16 bits: then
    products take a workspace, are summed in float32 and rounded once. residual: shape, type and
    strides as c may have them. bias_gradient: sums of b's columns, [n], or of a's rows, [m],
    whichever the gradient of the product's result is (`gradient_of_a`); of c's type, without a
    batch. Other shapes, strides and types of a, b, c and residual, and a bias or gradient of
    another number of elements, are refused; the runtime refuses a bias or a residual beside
    `accumulate`, and the CPU's device residuals and bias gradients.

    ```mlir
    step.gemm %x, %w bias %b into %y {transpose_b}
        : (memref<512x64xf32>, memref<256x64xf32>, memref<256xf32>, memref<512x256xf32>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$a, Step_Reads<Step_View>:$b,
    Step_Reads<Optional<Step_View>>:$bias, Step_Reads<Optional<Step_View>>:$residual,
    Step_Writes<Step_View>:$c, Step_Writes<Optional<Step_View>>:$bias_gradient,
    Step_Writes<Optional<Step_View>>:$workspace, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
    UnitAttr:$accumulate, UnitAttr:$gradient_of_a);
  let assemblyFormat = [{$a `,` $b (`bias` $bias^)? (`residual` $residual^)? `into` $c
    (`bias_gradient` $bias_gradient^)? (`workspace` $workspace^)? attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}

def Step_AttentionOp : Step_Entry<"attention", [AttrSizedOperandSegments]> {
  let summary = "nn.attention; the last dim of query, key, value and output is contiguous";
  let description = [{
    Views of the shapes and types that `nn.attention` has. The positions of query, key, value and
    output are at least a row apart; bias may have any strides, 0 where it is broadcast; log_sum_exp
    is contiguous, and absent where no gradient needs it. The workspace has as many bytes as the
    target asks for. The runtime refuses all else.

    ```mlir
    step.attention %q, %k, %v into %y, %log_sum_exp workspace %scratch
        {causal, scale = 2.5e-01 : f64}
        : (memref<4x128x8x16xf32>, memref<4x128x2x16xf32>, memref<4x128x2x16xf32>,
           memref<4x128x8x16xf32>, memref<4x8x128xf32>, memref<33280xui8>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$query, Step_Reads<Step_View>:$key,
    Step_Reads<Step_View>:$value, Step_Reads<Optional<Step_View>>:$bias,
    Step_Reads<Optional<Step_View>>:$key_mask, Step_Reads<Optional<Step_View>>:$sinks,
    Step_Reads<Optional<Step_View>>:$words, Step_Writes<Step_View>:$output,
    Step_Writes<Optional<Step_View>>:$log_sum_exp,
    Step_Writes<Step_View>:$workspace, F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedAttr<I64Attr, "-1">:$left, DefaultValuedAttr<I64Attr, "-1">:$right,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap, DefaultValuedAttr<I64Attr, "0">:$samples,
    DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let assemblyFormat = [{$query `,` $key `,` $value (`bias` $bias^)? (`key_mask` $key_mask^)?
    (`sinks` $sinks^)? (`drawn` $words^)? `into` $output (`,` $log_sum_exp^)?
    `workspace` $workspace attr-dict `:` functional-type(operands, results)}];
}
def Step_AttentionGradOp : Step_Entry<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = "nn.attention_grad";
  let description = [{
    Views of the shapes and types that `nn.attention_grad` has, laid out as those of
    `step.attention`. The gradients are overwritten. The runtime refuses all else.

    ```mlir
    step.attention_grad %dy, %q, %k, %v, %y, %log_sum_exp into %dq, %dk, %dv workspace %scratch
        {causal, scale = 2.5e-01 : f64}
        : (memref<4x128x8x16xf32>, memref<4x128x8x16xf32>, memref<4x128x2x16xf32>,
           memref<4x128x2x16xf32>, memref<4x128x8x16xf32>, memref<4x8x128xf32>,
           memref<4x128x8x16xf32>, memref<4x128x2x16xf32>, memref<4x128x2x16xf32>,
           memref<65792xui8>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$query,
    Step_Reads<Step_View>:$key, Step_Reads<Step_View>:$value, Step_Reads<Step_View>:$output,
    Step_Reads<Step_View>:$log_sum_exp, Step_Reads<Optional<Step_View>>:$bias,
    Step_Reads<Optional<Step_View>>:$key_mask, Step_Reads<Optional<Step_View>>:$sinks,
    Step_Reads<Optional<Step_View>>:$words, Step_Writes<Step_View>:$query_gradient,
    Step_Writes<Step_View>:$key_gradient, Step_Writes<Step_View>:$value_gradient,
    Step_Writes<Step_View>:$workspace, F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedAttr<I64Attr, "-1">:$left, DefaultValuedAttr<I64Attr, "-1">:$right,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap, DefaultValuedAttr<I64Attr, "0">:$samples,
    DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let assemblyFormat = [{$gradient `,` $query `,` $key `,` $value `,` $output `,` $log_sum_exp
    (`bias` $bias^)? (`key_mask` $key_mask^)? (`sinks` $sinks^)? (`drawn` $words^)?
    `into` $query_gradient `,` $key_gradient `,` $value_gradient `workspace` $workspace
    attr-dict `:` functional-type(operands, results)}];
}

def Step_CrossEntropyOp : Step_Entry<"cross_entropy", [AttrSizedOperandSegments]> {
  let summary = "nn.cross_entropy";
  let description = [{
    Views of the shapes and types that `nn.cross_entropy` has. The rows of logits are contiguous and
    one stride apart, labels may have any strides. The workspace has a float64 per row, since the
    rows' losses are added in order. `correct`, where it is there, becomes the number of rows that
    have a label, and their largest logit at it (of equal ones the first). The runtime refuses all
    else.

    ```mlir
    step.cross_entropy %logits, %labels, %scale into %loss workspace %scratch
        {ignore_index = -100 : i64, shift = 1 : i64}
        : (memref<4x128x512xf32>, memref<4x128xi64>, memref<f32>, memref<f32>,
           memref<4096xui8>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$logits, Step_Reads<Step_View>:$labels,
    Step_Reads<Step_View>:$scale, Step_Reads<Optional<Step_View>>:$class_weights,
    Step_Writes<Step_View>:$loss, Step_Writes<Optional<Step_View>>:$correct,
    Step_Writes<Step_View>:$workspace, I64Attr:$ignore_index, I64Attr:$shift,
    DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let assemblyFormat = [{$logits `,` $labels `,` $scale (`class_weights` $class_weights^)? `into`
    $loss (`correct` $correct^)? `workspace` $workspace attr-dict `:`
    functional-type(operands, results)}];
}
def Step_CrossEntropyGradOp : Step_Entry<"cross_entropy_grad"> {
  let summary = "nn.cross_entropy_grad";
  let description = [{
    Views of the shapes and types that `nn.cross_entropy_grad` has; logits_gradient is its result.
    The rows of both are contiguous and one stride apart. The runtime refuses all else.

    ```mlir
    step.cross_entropy_grad %dloss, %logits, %labels, %scale into %dlogits
        {ignore_index = -100 : i64, shift = 1 : i64}
        : (memref<f32>, memref<4x128x512xf32>, memref<4x128xi64>, memref<f32>,
           memref<4x128x512xf32>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$logits,
    Step_Reads<Step_View>:$labels, Step_Reads<Step_View>:$scale,
    Step_Reads<Optional<Step_View>>:$class_weights, Step_Writes<Step_View>:$logits_gradient,
    I64Attr:$ignore_index, I64Attr:$shift,
    DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let assemblyFormat = [{$gradient `,` $logits `,` $labels `,` $scale
    (`class_weights` $class_weights^)? `into` $logits_gradient attr-dict `:`
    functional-type(operands, results)}];
}
def Step_LinearCrossEntropyOp : Step_Entry<"linear_cross_entropy", [AttrSizedOperandSegments]> {
  let summary = "nn.linear_cross_entropy, and with gradients nn.linear_cross_entropy_grad, "
    "`chunk_rows` rows of logits at a time";
  let description = [{
    Views of the shapes and types that these ops have; a gradient that nothing reads is absent. The
    rows of input, weight and their gradients are contiguous, bias and its gradient too. chunk_rows
    is 1 or more; `correct` is that of `step.cross_entropy`. The workspace has as many bytes as the
    target asks for. The runtime refuses all else.

    ```mlir
    step.linear_cross_entropy %x, %w labels %labels, %scale into %loss input_gradient %dx
        weight_gradient %dw workspace %scratch
        {chunk_rows = 64 : i64, ignore_index = -100 : i64, shift = 1 : i64, transpose_weight}
        : (memref<4x128x64xf32>, memref<512x64xf32>, memref<4x128xi64>, memref<f32>, memref<f32>,
           memref<4x128x64xf32>, memref<512x64xf32>, memref<135168xui8>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$input, Step_Reads<Step_View>:$weight,
    Step_Reads<Optional<Step_View>>:$bias, Step_Reads<Step_View>:$labels,
    Step_Reads<Step_View>:$scale, Step_Reads<Optional<Step_View>>:$class_weights,
    Step_Writes<Step_View>:$loss, Step_Writes<Optional<Step_View>>:$input_gradient,
    Step_Writes<Optional<Step_View>>:$weight_gradient,
    Step_Writes<Optional<Step_View>>:$bias_gradient, Step_Writes<Optional<Step_View>>:$correct,
    Step_Writes<Step_View>:$workspace,
    I64Attr:$chunk_rows, I64Attr:$ignore_index, I64Attr:$shift, UnitAttr:$transpose_weight,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap, DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let assemblyFormat = [{$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale
    (`class_weights` $class_weights^)? `into` $loss (`input_gradient` $input_gradient^)?
    (`weight_gradient` $weight_gradient^)? (`bias_gradient` $bias_gradient^)?
    (`correct` $correct^)? `workspace` $workspace attr-dict `:`
    functional-type(operands, results)}];
}

def Step_EmbeddingOp : Step_Entry<"embedding"> {
  let summary = "nn.embedding";
  let description = [{
    Views of the shapes and types that `nn.embedding` has; output is its result. The rows of table
    and output are contiguous, ids may have any strides. The runtime refuses all else, and stops
    where an id lies outside the table.

    ```mlir
    step.embedding %table, %ids into %x
        : (memref<512x64xf32>, memref<4x128xi64>, memref<4x128x64xf32>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$table, Step_Reads<Step_View>:$ids,
    Step_Writes<Step_View>:$output);
  let assemblyFormat =
    "$table `,` $ids `into` $output attr-dict `:` functional-type(operands, results)";
}
def Step_EmbeddingGradOp : Step_Entry<"embedding_grad"> {
  let summary =
    "nn.embedding_grad; overwrites the whole table, or adds to it where it is `base` too";
  let description = [{
    Views of the shapes and types that `nn.embedding_grad` has; table_gradient is its result. Their
    rows are contiguous. A base that is not table_gradient's own view is refused; the runtime
    refuses the rest, and stops where an id lies outside the table.

    ```mlir
    step.embedding_grad %dx, %ids into %dtable
        : (memref<4x128x64xf32>, memref<4x128xi64>, memref<512x64xf32>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$ids,
    Step_Reads<Optional<Step_View>>:$base, Step_Writes<Step_View>:$table_gradient);
  let assemblyFormat = [{$gradient `,` $ids (`onto` $base^)? `into` $table_gradient attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}
def Step_TopKOp : Step_Entry<"top_k"> {
  let summary =
    "nn.top_k: the largest or smallest elements of each row, in order, and their places";
  let description = [{
    Contiguous views of the shapes and types that `nn.top_k` has; both results are overwritten. The
    runtime refuses all else.

    ```mlir
    step.top_k %x into %values, %indices {smallest}
        : (memref<4x128xf32>, memref<4x2xf32>, memref<4x2xi64>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$input, Step_Writes<Step_View>:$values,
    Step_Writes<Step_View>:$indices, UnitAttr:$smallest);
  let assemblyFormat =
    "$input `into` $values `,` $indices attr-dict `:` functional-type(operands, results)";
}
def Step_CopyOp : Step_Entry<"copy"> {
  let summary = "the same elements under other strides; equal shapes";
  let description = [{
    Source and destination have one shape and element type, and may have any strides; all else is
    refused.

    ```mlir
    step.copy %x into %y : (memref<64x128xf32, strided<[1, 64]>>, memref<64x128xf32>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$source, Step_Writes<Step_View>:$destination);
  let assemblyFormat =
    "$source `into` $destination attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Step_FillOp : Step_Entry<"fill"> {
  let summary = "one value everywhere";
  let description = [{
    The value is converted to the view's element type; the view may have any strides.

    ```mlir
    step.fill 0.0 into %y : memref<448xf32>
    ```
  }];
  let arguments = (ins Step_Writes<Step_View>:$destination, F64Attr:$value);
  let assemblyFormat = "$value `into` $destination attr-dict `:` type($destination)";
}
def Step_IndexCallOp : Step_Entry<"index_call", [AttrSizedOperandSegments]> {
  let summary = "a function over indices known at run time: cumsum, gather, "
    "gather_grad, gather_nd";
  let description = [{
    The nn op of that name, on contiguous views; `numbers` has its attributes as integers: axis,
    exclusive and reverse (cumsum), axis (gather, gather_grad), batch_dims (gather_nd). The runtime
    refuses other functions, numbers and shapes, and stops where an index lies outside.

    ```mlir
    step.index_call "gather" {axis = 1 : i64} (%x, %i) into (%y)
        : (memref<4x128x64xf32>, memref<2xi64>) -> memref<4x2x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$function, Step_Reads<Variadic<Step_View>>:$inputs,
    Step_Writes<Variadic<Step_View>>:$outputs, DictionaryAttr:$numbers);
  let assemblyFormat = [{$function $numbers `(` $inputs `)` `into` `(` $outputs `)` attr-dict `:`
    functional-type($inputs, $outputs)}];
}

#endif
