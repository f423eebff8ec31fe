// What a program consists of: kernels, library calls, copies. Each op is one case of plan.proto's `Entry`: the case has the op's
// name, and its message a field for each operand, attribute and result, of the same name. codegen/emit/EmitEntries.cpp writes one
// from the other by these names; EmitEntriesTest demands that they agree.
#ifndef SHARDC_CODEGEN_STEP_ENTRIES_TD
#define SHARDC_CODEGEN_STEP_ENTRIES_TD
include "codegen/step/EntryInterface.td"
include "codegen/step/Step.td"

class Step_Entry<string mnemonic, list<Trait> traits = []> : Step_Op<mnemonic, !listconcat([Step_EntryInterface], traits)> {
  list<int> operandPlaces = !filter(i, !range(!size(arguments)), !not(!initialized(!getdagarg<Attr>(arguments, i))));
  let extraClassDeclaration = "static ::llvm::SmallVector<::llvm::StringRef> getOperandNames() { return {" #
    !interleave(!foreach(i, operandPlaces, "\"" # !getdagname(arguments, i) # "\""), ", ") # "}; }";
}

def Step_LaunchOp : Step_Entry<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a generated kernel on row-major contiguous views";
  let arguments = (ins SymbolRefAttr:$kernel, Step_Reads<Variadic<Step_View>>:$inputs, Step_Writes<Variadic<Step_View>>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` `into` `(` $outputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}

def Step_GemmOp : Step_Entry<"gemm", [AttrSizedOperandSegments]> {
  let summary = "c = op(a) op(b) (+ bias) (+ c with `accumulate`), 2-d or batched 3-d";
  let description = [{
    With `transpose_a` a is stored [k, m], with `transpose_b` b is [n, k]. The last dim of each operand has stride 1 and the
    one before a stride of at least the row's length; the batch dim may have any stride. bias: [n]. a, b and bias have one
    element type; c has it too, or float32 where they have 16 bits: then products take a workspace, are summed in float32 and
    rounded once.
  }];
  let arguments = (ins Step_Reads<Step_View>:$a, Step_Reads<Step_View>:$b, Step_Reads<Optional<Step_View>>:$bias,
    Step_Writes<Step_View>:$c, Step_Writes<Optional<Step_View>>:$workspace, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
    UnitAttr:$accumulate);
  let assemblyFormat = [{$a `,` $b (`bias` $bias^)? `into` $c (`workspace` $workspace^)? attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}

def Step_AttentionOp : Step_Entry<"attention", [AttrSizedOperandSegments]> {
  let summary = "nn.attention; the last dim of query, key, value and output is contiguous";
  let arguments = (ins Step_Reads<Step_View>:$query, Step_Reads<Step_View>:$key, Step_Reads<Step_View>:$value,
    Step_Reads<Optional<Step_View>>:$bias, Step_Reads<Optional<Step_View>>:$key_mask, Step_Writes<Step_View>:$output,
    Step_Writes<Optional<Step_View>>:$log_sum_exp, Step_Writes<Step_View>:$workspace, F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{$query `,` $key `,` $value (`bias` $bias^)? (`key_mask` $key_mask^)? `into` $output (`,` $log_sum_exp^)?
    `workspace` $workspace attr-dict `:` functional-type(operands, results)}];
}
def Step_AttentionGradOp : Step_Entry<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = "nn.attention_grad";
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$query, Step_Reads<Step_View>:$key,
    Step_Reads<Step_View>:$value, Step_Reads<Step_View>:$output, Step_Reads<Step_View>:$log_sum_exp,
    Step_Reads<Optional<Step_View>>:$bias, Step_Reads<Optional<Step_View>>:$key_mask, Step_Writes<Step_View>:$query_gradient,
    Step_Writes<Step_View>:$key_gradient, Step_Writes<Step_View>:$value_gradient, Step_Writes<Step_View>:$workspace,
    F64Attr:$scale, UnitAttr:$causal);
  let assemblyFormat = [{$gradient `,` $query `,` $key `,` $value `,` $output `,` $log_sum_exp (`bias` $bias^)?
    (`key_mask` $key_mask^)? `into` $query_gradient `,` $key_gradient `,` $value_gradient `workspace` $workspace attr-dict `:`
    functional-type(operands, results)}];
}

def Step_CrossEntropyOp : Step_Entry<"cross_entropy"> {
  let summary = "nn.cross_entropy";
  let arguments = (ins Step_Reads<Step_View>:$logits, Step_Reads<Step_View>:$labels, Step_Reads<Step_View>:$scale,
    Step_Writes<Step_View>:$loss, Step_Writes<Step_View>:$workspace, I64Attr:$ignore_index, I64Attr:$shift);
  let assemblyFormat = [{$logits `,` $labels `,` $scale `into` $loss `workspace` $workspace attr-dict `:`
    functional-type(operands, results)}];
}
def Step_CrossEntropyGradOp : Step_Entry<"cross_entropy_grad"> {
  let summary = "nn.cross_entropy_grad";
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$logits, Step_Reads<Step_View>:$labels,
    Step_Reads<Step_View>:$scale, Step_Writes<Step_View>:$logits_gradient, I64Attr:$ignore_index, I64Attr:$shift);
  let assemblyFormat = [{$gradient `,` $logits `,` $labels `,` $scale `into` $logits_gradient attr-dict `:`
    functional-type(operands, results)}];
}
def Step_LinearCrossEntropyOp : Step_Entry<"linear_cross_entropy", [AttrSizedOperandSegments]> {
  let summary = "nn.linear_cross_entropy, and with gradients nn.linear_cross_entropy_grad, `chunk_rows` rows of logits at a time";
  let arguments = (ins Step_Reads<Step_View>:$input, Step_Reads<Step_View>:$weight, Step_Reads<Optional<Step_View>>:$bias,
    Step_Reads<Step_View>:$labels, Step_Reads<Step_View>:$scale, Step_Writes<Step_View>:$loss,
    Step_Writes<Optional<Step_View>>:$input_gradient, Step_Writes<Optional<Step_View>>:$weight_gradient,
    Step_Writes<Optional<Step_View>>:$bias_gradient, Step_Writes<Step_View>:$workspace, I64Attr:$chunk_rows,
    I64Attr:$ignore_index, I64Attr:$shift, UnitAttr:$transpose_weight);
  let assemblyFormat = [{$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale `into` $loss
    (`input_gradient` $input_gradient^)? (`weight_gradient` $weight_gradient^)? (`bias_gradient` $bias_gradient^)?
    `workspace` $workspace attr-dict `:` functional-type(operands, results)}];
}

def Step_EmbeddingOp : Step_Entry<"embedding"> {
  let summary = "nn.embedding";
  let arguments = (ins Step_Reads<Step_View>:$table, Step_Reads<Step_View>:$ids, Step_Writes<Step_View>:$output);
  let assemblyFormat = "$table `,` $ids `into` $output attr-dict `:` functional-type(operands, results)";
}
def Step_EmbeddingGradOp : Step_Entry<"embedding_grad"> {
  let summary = "nn.embedding_grad; overwrites the whole table, or adds to it where it is `base` too";
  let arguments = (ins Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$ids, Step_Reads<Optional<Step_View>>:$base,
    Step_Writes<Step_View>:$table_gradient);
  let assemblyFormat = [{$gradient `,` $ids (`onto` $base^)? `into` $table_gradient attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}
def Step_CopyOp : Step_Entry<"copy"> {
  let summary = "the same elements under other strides; equal shapes";
  let arguments = (ins Step_Reads<Step_View>:$source, Step_Writes<Step_View>:$destination);
  let assemblyFormat = "$source `into` $destination attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Step_FillOp : Step_Entry<"fill"> {
  let summary = "one value everywhere";
  let arguments = (ins Step_Writes<Step_View>:$destination, F64Attr:$value);
  let assemblyFormat = "$value `into` $destination attr-dict `:` type($destination)";
}
def Step_IndexCallOp : Step_Entry<"index_call", [AttrSizedOperandSegments]> {
  let summary = "a function over indices known at run time: cumsum, gather, gather_grad, gather_nd";
  let arguments = (ins StrAttr:$function, Step_Reads<Variadic<Step_View>>:$inputs, Step_Writes<Variadic<Step_View>>:$outputs,
    DictionaryAttr:$numbers);
  let assemblyFormat = [{$function $numbers `(` $inputs `)` `into` `(` $outputs `)` attr-dict `:`
    functional-type($inputs, $outputs)}];
}

#endif
