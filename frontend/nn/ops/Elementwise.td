// Ops that map elements to elements; all operands have the result's shape (broadcast first).
#ifndef SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
#define SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
include "frontend/nn/NN.td"

// An elementwise op says what it does to one element: `compute` on the host, `buildScalar` in a
// kernel. The rest of its reference evaluation and kernel is the same for all. Descriptions begin
// with the `details` of an op, and go on with what its class knows of the types, and an example.
class NN_ElementwiseOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits> :
    NN_ComputeOp<mnemonic,
      !listconcat([SameOperandsAndResultShape, Elementwise, NN_HasKernel], traits)> {
  let summary = what;
  code scalarDeclaration = [{
    /// The result of one element, from one element of each operand, in a kernel.
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::ValueRange x);
  }];
  code sharedDefinition = [{
    int64_t $cppClass::flops() {
      return }] # flopsPerElement # [{ * getResult().getType().getNumElements();
    }
    ::llvm::LogicalResult $cppClass::buildKernel(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange operands,
        ::llvm::SmallVectorImpl<::mlir::Value> &results) {
      return buildElementwiseKernel(
          getOperation(), builder, operands, results,
          [&](::mlir::OpBuilder &builder, ::mlir::ValueRange x) {
            return buildScalar(builder, x);
          });
    }
  }];
  // For ops whose operands and result have different element types and that evaluate themselves.
  let extraClassDeclaration = scalarDeclaration;
  let extraClassDefinition = sharedDefinition;
}

// Ops on floats.
class NN_FloatOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits> :
    NN_ElementwiseOp<mnemonic, what, flopsPerElement,
      !listconcat([SameOperandsAndResultType], traits)> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host.
    double compute(::llvm::ArrayRef<double> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<HostTensor> operands,
        ::llvm::SmallVectorImpl<HostTensor> &results) {
      results.push_back(mapFloats(getResult().getType(), operands,
                                  [&](::llvm::ArrayRef<double> x) { return compute(x); }));
      return ::llvm::success();
    }
  }];
}
class NN_FloatUnaryOp<string mnemonic, string what, string details, int flopsPerElement,
                      list<Trait> traits = []> :
    NN_FloatOp<mnemonic, what, flopsPerElement, !listconcat([NN_HasGradient], traits)> {
  let description = details # [{
    Input and result have one shape, of any rank, and one float type; all else is refused.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

// Ops on floats and integers.
class NN_NumberOp<string mnemonic, string what, list<Trait> traits> :
    NN_ElementwiseOp<mnemonic, what, 1, !listconcat([SameOperandsAndResultType], traits)> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host. Integers wrap, and always have a result: dividing by
    /// zero gives zero.
    double compute(::llvm::ArrayRef<double> x);
    int64_t compute(::llvm::ArrayRef<int64_t> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<HostTensor> operands,
        ::llvm::SmallVectorImpl<HostTensor> &results) {
      return evaluateNumbers(getOperation(), operands, results,
                             [&](::llvm::ArrayRef<double> x) { return compute(x); },
                             [&](::llvm::ArrayRef<int64_t> x) { return compute(x); });
    }
  }];
}
class NN_NumberUnaryOp<string mnemonic, string what, string details> :
    NN_NumberOp<mnemonic, what, [NN_HasGradient]> {
  let description = details # [{
    Input and result have one shape, of any rank, and one type of floats or integers (no booleans);
    all else is refused.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Number:$input);
  let results = (outs NN_Number:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}
class NN_NumberBinaryOp<string mnemonic, string what, string details, list<Trait> traits = []> :
    NN_NumberOp<mnemonic, what, !listconcat(traits, [NN_HasGradient])> {
  let description = details # [{
    Both operands and the result have one shape, of any rank, and one type of floats or integers (no
    booleans); all else is refused. Broadcast first.

    ```mlir
    %z = nn.}] # mnemonic # [{ %x, %y : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Number:$lhs, NN_Number:$rhs);
  let results = (outs NN_Number:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

// Ops on booleans.
class NN_BoolOp<string mnemonic, string what, list<Trait> traits> :
    NN_ElementwiseOp<mnemonic, what, 0, !listconcat([SameOperandsAndResultType], traits)> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host.
    bool compute(::llvm::ArrayRef<int64_t> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<HostTensor> operands,
        ::llvm::SmallVectorImpl<HostTensor> &results) {
      results.push_back(mapInts(
          getResult().getType(), operands,
          [&](::llvm::ArrayRef<int64_t> x) -> int64_t { return compute(x); }));
      return ::llvm::success();
    }
  }];
}
// Ops on the bits of integers; a boolean is one bit.
class NN_BitsBinaryOp<string mnemonic, string what, string source> :
    NN_ElementwiseOp<mnemonic, what, 0, [SameOperandsAndResultType, Commutative]> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host.
    int64_t compute(::llvm::ArrayRef<int64_t> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<HostTensor> operands,
        ::llvm::SmallVectorImpl<HostTensor> &results) {
      results.push_back(mapInts(getResult().getType(), operands,
                                [&](::llvm::ArrayRef<int64_t> x) { return compute(x); }));
      return ::llvm::success();
    }
  }];
  let description = [{
    }] # source # [{. Both operands and the result have one shape, of any rank, and one type of
    integers or booleans; all else is refused. There is no gradient.

    ```mlir
    %z = nn.}] # mnemonic # [{ %x, %y : tensor<4x64xi1>
    ```
  }];
  let arguments = (ins NN_Bits:$lhs, NN_Bits:$rhs);
  let results = (outs NN_Bits:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def NN_NegOp : NN_NumberUnaryOp<"neg", "-x", [{
    ONNX Neg. Integers wrap: the lowest one stays itself.
  }]>;
def NN_AbsOp : NN_NumberUnaryOp<"abs", "|x|; the gradient at 0 is 0", [{
    ONNX Abs. Integers wrap: the lowest one stays itself. The gradient is dy sign(x).
  }]>;
def NN_ExpOp : NN_FloatUnaryOp<"exp", "e^x", [{
    ONNX Exp. The gradient is dy y.
  }], 1>;
def NN_Expm1Op : NN_FloatUnaryOp<"expm1", "e^x - 1, exact also near 0", [{
    torch.expm1. The gradient is dy e^x, formed from x: far below 0, y is -1 and says nothing of it.
  }], 1>;
def NN_LogOp : NN_FloatUnaryOp<"log", "natural logarithm", [{
    ONNX Log: -inf at 0, NaN below. The gradient is dy / x.
  }], 1>;
def NN_SqrtOp : NN_FloatUnaryOp<"sqrt", "square root", [{
    ONNX Sqrt: NaN below 0. The gradient is dy / (2 y), infinite at 0.
  }], 1>;
def NN_RsqrtOp : NN_FloatUnaryOp<"rsqrt", "1 / sqrt(x)", [{
    torch.rsqrt: inf at 0, NaN below. The gradient is -dy y^3 / 2.
  }], 2>;
def NN_ReciprocalOp : NN_FloatUnaryOp<"reciprocal", "1 / x", [{
    ONNX Reciprocal: infinite at 0. The gradient is -dy y^2.
  }], 1>;
def NN_SinOp : NN_FloatUnaryOp<"sin", "sine", [{
    ONNX Sin, of radians. The gradient is dy cos(x).
  }], 1>;
def NN_CosOp : NN_FloatUnaryOp<"cos", "cosine", [{
    ONNX Cos, of radians. The gradient is -dy sin(x).
  }], 1>;
def NN_AsinOp : NN_FloatUnaryOp<"asin", "inverse sine", [{
    ONNX Asin, in [-pi/2, pi/2]: NaN outside of [-1, 1]. The gradient is dy / sqrt(1 - x^2).
  }], 1>;
def NN_AcosOp : NN_FloatUnaryOp<"acos", "inverse cosine", [{
    ONNX Acos, in [0, pi]: NaN outside of [-1, 1]. The gradient is -dy / sqrt(1 - x^2).
  }], 1>;
def NN_AtanOp : NN_FloatUnaryOp<"atan", "inverse tangent", [{
    ONNX Atan, in [-pi/2, pi/2]. The gradient is dy / (1 + x^2).
  }], 1>;
def NN_AsinhOp : NN_FloatUnaryOp<"asinh", "inverse hyperbolic sine", [{
    ONNX Asinh. The gradient is dy / sqrt(x^2 + 1).
  }], 1>;
def NN_AcoshOp : NN_FloatUnaryOp<"acosh", "inverse hyperbolic cosine", [{
    ONNX Acosh: NaN below 1. The gradient is dy / sqrt(x^2 - 1).
  }], 1>;
def NN_AtanhOp : NN_FloatUnaryOp<"atanh", "inverse hyperbolic tangent", [{
    ONNX Atanh: NaN outside of [-1, 1]. The gradient is dy / (1 - x^2).
  }], 1>;
def NN_TanhOp : NN_FloatUnaryOp<"tanh", "hyperbolic tangent", [{
    ONNX Tanh. The gradient is dy (1 - y^2).
  }], 1, [NN_IsActivation]>;
def NN_ErfOp : NN_FloatUnaryOp<"erf", "error function", [{
    ONNX Erf: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. The gradient is
    dy 2 / sqrt(pi) e^(-x^2).
  }], 1, [NN_IsActivation]>;
def NN_SigmoidOp : NN_FloatUnaryOp<"sigmoid", "1 / (1 + e^-x)", [{
    ONNX Sigmoid. The gradient is dy y (1 - y).
  }], 4, [NN_IsActivation]>;
def NN_ReluOp : NN_FloatUnaryOp<"relu", "max(x, 0); the gradient at 0 is 0", [{
    ONNX Relu; NaN stays NaN. The gradient is dy where x > 0, else 0.
  }], 1, [NN_IsActivation]>;
def NN_SiluOp : NN_FloatUnaryOp<"silu", "x * sigmoid(x)", [{
    torch.nn.SiLU, ONNX Swish with alpha 1. Its gradient is `nn.silu_grad`. Hendrycks and Gimpel,
    arXiv:1606.08415.
  }], 5, [NN_IsActivation]>;
def NN_SoftplusOp : NN_FloatUnaryOp<"softplus", "log(1 + e^x); finite wherever x is", [{
    ONNX Softplus, as max(x, 0) + log(1 + e^-|x|). The gradient is dy sigmoid(x).
  }], 5, [NN_IsActivation]>;
def NN_FloorOp : NN_FloatUnaryOp<"floor", "largest integer not above x", [{
    ONNX Floor. No gradient flows through it: it is constant almost everywhere.
  }], 1>;
def NN_CeilOp : NN_FloatUnaryOp<"ceil", "smallest integer not below x", [{
    ONNX Ceil. No gradient flows through it: it is constant almost everywhere.
  }], 1>;
def NN_RoundOp : NN_FloatUnaryOp<"round", "nearest integer, of two the even one", [{
    ONNX Round; zeros keep the sign of x. No gradient flows through it: it is constant almost
    everywhere.
  }], 4>;
def NN_NotOp : NN_BoolOp<"not", "logical not", []> {
  let description = [{
    ONNX Not. Input and result are i1 tensors of one shape, of any rank; all else is refused.
    Booleans have no gradient.

    ```mlir
    %y = nn.not %x : tensor<4x64xi1>
    ```
  }];
  let arguments = (ins NN_Bool:$input);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def NN_GeluOp : NN_FloatUnaryOp<"gelu", "Gaussian error linear unit", [{}], 8, [NN_IsActivation]> {
  let description = [{
    x/2 (1 + erf(x/sqrt 2)), or with `tanh` x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): ONNX Gelu
    and its `approximate`. Its gradient is `nn.gelu_grad`. Input and result have one shape, of any
    rank, and one float type; all else is refused. Hendrycks and Gimpel, arXiv:1606.08415.

    ```mlir
    %y = nn.gelu %x {tanh} : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, UnitAttr:$tanh);
}
def NN_GeluGradOp : NN_FloatOp<"gelu_grad", "gradient of gelu: dy * gelu'(x)", 14, []> {
  let description = [{
    With P the normal distribution and p its density, dy (P(x) + x p(x)); with `tanh` the derivative
    of that form, finite also where x^2 is not. Input, gradient (of gelu's result) and result have
    one shape, of any rank, and one float type; all else is refused.

    ```mlir
    %dx = nn.gelu_grad %x, %dy {tanh} : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gradient, UnitAttr:$tanh);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` type($result)";
}
def NN_SiluGradOp : NN_FloatOp<"silu_grad", "gradient of silu: dy * silu'(x)", 9, []> {
  let description = [{
    With s = sigmoid(x), dy s (1 + x (1 - s)). Input, gradient (of silu's result) and result have
    one shape, of any rank, and one float type; all else is refused.

    ```mlir
    %dx = nn.silu_grad %x, %dy : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gradient);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` type($result)";
}

def NN_AddOp : NN_NumberBinaryOp<"add", "x + y", [{
    ONNX Add; integers wrap. Both operands have the gradient dz.
  }], [Commutative]> {
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def NN_SubOp : NN_NumberBinaryOp<"sub", "x - y", [{
    ONNX Sub; integers wrap. The gradients are dz and -dz.
  }]> {
  let hasFolder = 1;
}
def NN_MulOp : NN_NumberBinaryOp<"mul", "x * y", [{
    ONNX Mul; integers wrap. The gradients are dz y and dz x.
  }], [Commutative]> {
  let hasFolder = 1;
}
def NN_DivOp : NN_NumberBinaryOp<"div",
    "x / y; integers truncate towards zero, and divided by 0 give 0", [{
    ONNX Div. The lowest integer divided by -1 wraps to itself. The gradients are dz / y and
    -dz z / y.
  }]> {
  let hasFolder = 1;
}
def NN_PowOp : NN_NumberBinaryOp<"pow",
    "x ^ y; an integer power with y < 0 truncates towards zero, that of 0 is 0", [{
    ONNX Pow with operands of one type; integers wrap. The gradients are dz y x^(y-1), 0 where y is
    0, and dz z log(x), 0 where x is 0 and y >= 0.
  }]>;
def NN_MaxOp : NN_NumberBinaryOp<"max",
    "the larger, NaN where one is; at a tie each has half the gradient", [{
    ONNX Max of two; torch.maximum.
  }], [Commutative]>;
def NN_MinOp : NN_NumberBinaryOp<"min",
    "the smaller, NaN where one is; at a tie each has half the gradient", [{
    ONNX Min of two; torch.minimum.
  }], [Commutative]>;
def NN_ModOp : NN_NumberBinaryOp<"mod",
    "remainder; with `fmod` the sign of x, else the sign of y; that of an integer by 0 is 0", [{
    ONNX Mod: without `fmod` torch.remainder, with it torch.fmod. The gradients are dz and
    -dz (x - z) / y.
  }]> {
  let arguments = (ins NN_Number:$lhs, NN_Number:$rhs, UnitAttr:$fmod);
}
def NN_AndOp : NN_BitsBinaryOp<"and", "bitwise and", "ONNX And and BitwiseAnd">;
def NN_OrOp : NN_BitsBinaryOp<"or", "bitwise or", "ONNX Or and BitwiseOr">;
def NN_XorOp : NN_BitsBinaryOp<"xor", "bitwise exclusive or", "ONNX Xor and BitwiseXor">;

def NN_CompareKind : I32EnumAttr<"CompareKind", "order of two elements", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_CompareKindAttr : EnumAttr<NN_Dialect, NN_CompareKind, "compare">;

def NN_CompareOp : NN_ElementwiseOp<"compare",
    "elementwise comparison; false where an operand is NaN, except `ne`", 0, [SameTypeOperands]> {
  let description = [{
    ONNX Equal, Less, LessOrEqual, Greater and GreaterOrEqual; `ne` is true where an operand is NaN.
    false is less than true. Both operands have one shape, of any rank, and one element type; the
    result is i1 of that shape. All else is refused. There is no gradient.

    ```mlir
    %isLess = nn.compare lt %x, %y : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xi1>
    ```
  }];
  let arguments = (ins NN_CompareKindAttr:$kind, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}
def NN_IsNanOp : NN_ElementwiseOp<"is_nan", "true where x is NaN", 0, []> {
  let description = [{
    ONNX IsNaN. The input has floats of any type and any rank; the result is i1 of its shape. There
    is no gradient.

    ```mlir
    %isMissing = nn.is_nan %x : (tensor<4x64xf32>) -> tensor<4x64xi1>
    ```
  }];
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}
def NN_SelectOp : NN_ElementwiseOp<"select", "lhs where the condition holds, else rhs", 0,
    [AllTypesMatch<["lhs", "rhs", "result"]>, NN_HasGradient]> {
  let description = [{
    ONNX Where. The condition is i1; lhs, rhs and the result have its shape, of any rank, and one
    element type. All else is refused. Each element's gradient goes to the operand that it came
    from; the other one has 0 there, whatever dz is.

    ```mlir
    %z = nn.select %c, %x, %y
        : (tensor<4x64xi1>, tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins NN_Bool:$condition, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat =
    "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasFolder = 1;
}
def NN_BitcastOp : NN_ElementwiseOp<"bitcast", "the bits of floats as integers, or back", 0, []> {
  let description = [{
    ONNX BitCast between a float type and an integer type of the same width. Input and result have
    one shape, of any rank; all else is refused. There is no gradient.

    ```mlir
    %y = nn.bitcast %x : (tensor<4x64xf32>) -> tensor<4x64xi32>
    ```
  }];
  let arguments = (ins NN_Number:$input);
  let results = (outs NN_Number:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let extraClassDeclaration = scalarDeclaration;
  let hasVerifier = 1;
}
def NN_CastOp : NN_ElementwiseOp<"cast",
    "conversion of element type; floats truncate towards zero, saturating, NaN to 0; to i1: x != 0",
    0, [NN_HasGradient]> {
  let description = [{
    ONNX Cast. Integers become narrower by dropping their high bits; floats are rounded to nearest
    even, from float64 to 16 bits in one step. Input and result have one shape, of any rank, or are
    refused. The gradient is cast to the input's type; none flows into integers and booleans.

    ```mlir
    %y = nn.cast %x : (tensor<4x64xf32>) -> tensor<4x64xbf16>
    ```
  }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasFolder = 1;
}

#endif
