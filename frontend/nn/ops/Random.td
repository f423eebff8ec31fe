// Ops that draw numbers. They keep no state: what they draw is a function of the run's seed, the
// step, the op, the sample and the element (docs/randomness.md).
#ifndef SHARDC_FRONTEND_NN_OPS_RANDOM_TD
#define SHARDC_FRONTEND_NN_OPS_RANDOM_TD
include "frontend/nn/NN.td"

def NN_DropoutOp : NN_ComputeOp<"dropout",
    [AllTypesMatch<["input", "result"]>, NN_HasGradient, NN_HasKernel, NN_Draws]> {
  let summary = "x / (1 - rate) where a number drawn for the element says so, else 0";
  let description = [{
    ONNX Dropout in training mode; Srivastava et al., JMLR 15 (2014). Input and result have one
    shape, of any rank, and one float type; a rate outside [0, 1] is refused. The gradient is the
    same op on dy, which draws the same numbers: nothing is kept for it.

    Without `words`, the op says what will be drawn at its `site`, up to `nn-place-draws`. That pass
    takes `rate`, `site` and `samples_first` (the input is no function of another, and its first dim
    are a rank's samples) away and gives it `words`, i32 [8], which a run fills: the number of the
    first sample of this rank and micro-batch in the step's batch, two words of the site's key, a
    threshold, and the two words of a float64, low one first, that elements are multiplied by; two
    are not used. It also sets `samples` and `sample_stride`: element i belongs to sample
    i / sample_stride % samples, and in it is number
    i / (sample_stride samples) sample_stride + i % sample_stride. With samples = 0, all samples
    have one mask, whose numbers are i. With w the first word of Threefry-2x32-20 (Salmon et al.,
    SC 2011) of the key and the counter (number in the sample, first sample + sample), an element is
    kept, and multiplied, where the signed w is at least the threshold. Refused are an op that has
    neither words nor a rate and a site, and elements that the samples do not divide.

    ```mlir
    %y = nn.dropout %x {rate = 1.0e-01 : f64, site = 2 : i64}
        : (tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
    %z = nn.dropout %x drawn %words {samples = 4 : i64, sample_stride = 8192 : i64}
        : (tensor<4x128x64xf32>, tensor<8xi32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, Optional<StaticShapeTensorOf<[I32]>>:$words,
    OptionalAttr<F64Attr>:$rate, OptionalAttr<I64Attr>:$site, UnitAttr:$samples_first,
    DefaultValuedAttr<I64Attr, "0">:$samples, DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let results = (outs NN_Float:$result);
  let assemblyFormat =
    "$input (`drawn` $words^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The elements of `words`. So many begin at multiples of 32 bytes for each site, as kernels'
    /// arguments have to.
    static constexpr int64_t wordCount = 8;
  }];
}

def NN_Distribution : I32EnumAttr<"Distribution", "what drawn numbers are", [
  I32EnumAttrCase<"uniform", 0>, I32EnumAttrCase<"normal", 1>]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_DistributionAttr : EnumAttr<NN_Dialect, NN_Distribution, "distribution">;

def NN_DrawOp : NN_ComputeOp<"draw",
    [AttrSizedOperandSegments, NN_HasGradient, NN_HasKernel, NN_Draws]> {
  let summary = "numbers that are drawn: uniform in [0, 1), or of the standard normal distribution";
  let description = [{
    ONNX RandomUniformLike and RandomNormalLike, without their shift and scale. The result is of any
    rank and one float type; what it is of has no gradient.

    As for `nn.dropout`, `site` says what will be drawn, and `nn-place-draws` gives it `words`,
    `samples` and `sample_stride`, which mean what they mean there (the threshold and the float64
    are not read). The samples are those of `like`, which has the result's shape and is not read;
    without it, with `samples_first`, those of the first dim. With w0 and w1 the two words of
    Threefry-2x32-20 of the element, u0 = (w0 >> 8) / 2^24 and u1 = (w1 >> 8) / 2^24, an element is
    u0, or sqrt(-2 log(u0 + 1 / 2^24)) cos(2 pi u1) (Box and Muller, Ann. Math. Stat. 29, 1958),
    computed in float32, or in float64 where the result has that. Refused are an op with neither
    words nor a site, a `like` of another shape, and elements that the samples do not divide.

    ```mlir
    %y = nn.draw normal like %x {site = 2 : i64} : (tensor<4x128xf32>) -> tensor<4x128xf32>
    %z = nn.draw normal drawn %words {samples = 4 : i64, sample_stride = 128 : i64}
        : (tensor<8xi32>) -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins NN_DistributionAttr:$distribution, Optional<NN_Tensor>:$like,
    Optional<StaticShapeTensorOf<[I32]>>:$words, OptionalAttr<I64Attr>:$site,
    UnitAttr:$samples_first, DefaultValuedAttr<I64Attr, "0">:$samples,
    DefaultValuedAttr<I64Attr, "0">:$sample_stride);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$distribution (`like` $like^)? (`drawn` $words^)?
    attr-dict `:` functional-type(operands, $result)}];
  let hasVerifier = 1;
}

#endif
