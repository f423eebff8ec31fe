// Attention without an S x S tensor. Layout: [batch, sequence, heads, head_dim].
#ifndef SHARDC_FRONTEND_NN_OPS_ATTENTION_TD
#define SHARDC_FRONTEND_NN_OPS_ATTENTION_TD
include "frontend/nn/NN.td"

def NN_AttentionOp : NN_ComputeOp<"attention",
    [AttrSizedOperandSegments, NN_HasGradient, NN_HasLibraryCall, NN_MayDraw,
     NN_HasOperandTypes]> {
  let summary = "softmax(capped(scale q k^T) + bias, masked) v, blockwise";
  let description = [{
    torch's scaled_dot_product_attention. query [B, Sq, H, D], key [B, Sk, G, D], value
    [B, Sk, G, E], of one float type; H is a multiple of G (grouped heads: query head h reads key
    head h / (H / G)). bias: [B or 1, H or 1, Sq or 1, Sk] of query's type or float32, added to the
    scores. key_mask: i1 [B, Sk], false keys are not attended to. Query i's own key is i + Sk - Sq;
    it sees `left` keys before that and `right` behind it, of which -1 is all; `causal` says that
    `right` is 0. With a `softcap` c (not 0) a score x is c tanh(x / c) before the bias is added.
    sinks: [H] of query's type or float32, a score of each head that every row's softmax has beside
    those of its keys, and that no value belongs to. result: [B, Sq, H, E] of query's type;
    log_sum_exp: [B, H, Sq], kept for the gradient, in float32 where the query has 16 bits. All else
    is refused. A row in which everything
    is masked (-inf or false) gives zeros, and zero gradients. Query, key and value have gradients
    (`nn.attention_grad`), and so have sinks: -sum(exp(sink - log_sum_exp) sum(dO O)) of a head's
    rows. A gradient of bias or of log_sum_exp is an error of `nn-differentiate`. Dao et al.,
    arXiv:2205.14135; windows: Beltagy et al., arXiv:2004.05150; softcap: Gemma 2, arXiv:2408.00118;
    sinks: gpt-oss, arXiv:2508.10925.

    With a `rate` and a `site`, probabilities are dropped before they are multiplied with values, as
    `nn.dropout` does: up to `nn-place-draws`, which gives `words`, `samples` and `sample_stride` in
    their place. Element ((b H + h) Sq + i) Sk + j of [B, H, Sq, Sk] belongs to the sample that
    `nn.dropout` says; `sample_stride` is a multiple of Sk. Keys are drawn for four at a time: of
    row ((b H + h) Sq + i), number r in its sample, key j has 16 bits, part (j % 32) / 8 of what
    Threefry-2x32-20 gives for (key[0], key[1] + r) and (j / 32 * 8 + j % 8, sample); parts are the
    lower and the upper half of its first word, and those of its second. A key is kept, and its
    probability multiplied, where they, with a sign, are at least the upper half of the threshold.

    ```mlir
    %y, %log_sum_exp = nn.attention %q, %k, %v {causal, left = 63 : i64, scale = 2.5e-01 : f64}
        : (tensor<4x128x8x16xf32>, tensor<4x128x2x16xf32>, tensor<4x128x2x16xf32>)
        -> (tensor<4x128x8x16xf32>, tensor<4x8x128xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$query, NN_Float:$key, NN_Float:$value, Optional<NN_Float>:$bias,
    Optional<NN_Bool>:$key_mask, Optional<NN_Float>:$sinks,
    Optional<StaticShapeTensorOf<[I32]>>:$words, F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedAttr<I64Attr, "-1">:$left, DefaultValuedAttr<I64Attr, "-1">:$right,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap, OptionalAttr<F64Attr>:$rate,
    OptionalAttr<I64Attr>:$site, DefaultValuedAttr<I64Attr, "0">:$samples,
    DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let results = (outs NN_Float:$result, NN_Float:$log_sum_exp);
  let assemblyFormat = [{$query `,` $key `,` $value (`bias` $bias^)? (`key_mask` $key_mask^)?
    (`sinks` $sinks^)? (`drawn` $words^)? attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}
def NN_AttentionGradOp : NN_ComputeOp<"attention_grad",
    [AttrSizedOperandSegments, NN_HasLibraryCall, NN_MayDraw]> {
  let summary = "gradients of query, key and value";
  let description = [{
    With dO the gradient of attention's result O and P the probabilities, which are computed again
    from the scores and log_sum_exp: dP = dO V^T, dS = scale P (dP - sum(dO O)), dV = P^T dO,
    dQ = dS K, dK = dS^T Q. With a softcap c dS has the factor 1 - tanh^2(x / c) more. Where
    probabilities are dropped, with M what they are multiplied with, dP = (dO V^T) M and
    dV = (P M)^T dO. Operands and attributes are attention's, with `gradient` and `output`
    [B, Sq, H, E] of query's type; the results have the types of query, key and value. All else is
    refused. The gradient of a head that several query heads read is summed in float32 and rounded
    once. Dao, arXiv:2307.08691.

    ```mlir
    %dq, %dk, %dv = nn.attention_grad %dy, %q, %k, %v, %y, %log_sum_exp
        {causal, scale = 2.5e-01 : f64}
        : (tensor<4x128x8x16xf32>, tensor<4x128x8x16xf32>, tensor<4x128x2x16xf32>,
           tensor<4x128x2x16xf32>, tensor<4x128x8x16xf32>, tensor<4x8x128xf32>)
        -> (tensor<4x128x8x16xf32>, tensor<4x128x2x16xf32>, tensor<4x128x2x16xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$query, NN_Float:$key, NN_Float:$value,
    NN_Float:$output, NN_Float:$log_sum_exp, Optional<NN_Float>:$bias, Optional<NN_Bool>:$key_mask,
    Optional<NN_Float>:$sinks, Optional<StaticShapeTensorOf<[I32]>>:$words, F64Attr:$scale,
    UnitAttr:$causal, DefaultValuedAttr<I64Attr, "-1">:$left,
    DefaultValuedAttr<I64Attr, "-1">:$right,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap, OptionalAttr<F64Attr>:$rate,
    OptionalAttr<I64Attr>:$site, DefaultValuedAttr<I64Attr, "0">:$samples,
    DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let results = (outs NN_Float:$query_gradient, NN_Float:$key_gradient, NN_Float:$value_gradient);
  let assemblyFormat = [{$gradient `,` $query `,` $key `,` $value `,` $output `,` $log_sum_exp
    (`bias` $bias^)? (`key_mask` $key_mask^)? (`sinks` $sinks^)? (`drawn` $words^)?
    attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

#endif
