// Ops that draw numbers. They keep no state: what they draw is a function of the run's seed, the
// step, the op, the sample and the element (docs/randomness.md).
#ifndef SHARDC_FRONTEND_NN_OPS_RANDOM_TD
#define SHARDC_FRONTEND_NN_OPS_RANDOM_TD
include "frontend/nn/NN.td"

def NN_DropoutOp : NN_ComputeOp<"dropout",
    [AllTypesMatch<["input", "result"]>, NN_HasGradient, NN_HasKernel]> {
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

#endif
