// Ops that map elements to elements; all operands have the result's shape (broadcast first).
#ifndef SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
#define SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
include "frontend/nn/NN.td"

// An elementwise op says what it does to one element: `compute` on the host, `buildScalar` in a kernel. The rest of its
// reference evaluation and kernel is the same for all.
class NN_ElementwiseOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits> :
    NN_ComputeOp<mnemonic, !listconcat([SameOperandsAndResultShape, Elementwise, NN_HasKernel], traits)> {
  let summary = what;
  code scalarDeclaration = [{
    /// The result of one element, from one element of each operand, in a kernel.
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::ValueRange x);
  }];
  code sharedDefinition = [{
    int64_t $cppClass::flops() { return }] # flopsPerElement # [{ * getResult().getType().getNumElements(); }
    ::llvm::LogicalResult $cppClass::buildKernel(::mlir::OpBuilder &builder, ::mlir::ValueRange operands,
                                                 ::llvm::SmallVectorImpl<::mlir::Value> &results) {
      return buildElementwiseKernel(getOperation(), builder, operands, results,
          [&](::mlir::OpBuilder &builder, ::mlir::ValueRange x) { return buildScalar(builder, x); });
    }
  }];
  // For ops whose operands and result have different element types and that evaluate themselves.
  let extraClassDeclaration = scalarDeclaration;
  let extraClassDefinition = sharedDefinition;
}

// Ops on floats.
class NN_FloatOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits> :
    NN_ElementwiseOp<mnemonic, what, flopsPerElement, !listconcat([SameOperandsAndResultType], traits)> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host.
    double compute(::llvm::ArrayRef<double> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<HostTensor> operands,
                                              ::llvm::SmallVectorImpl<HostTensor> &results) {
      results.push_back(mapFloats(getResult().getType(), operands,
                                  [&](::llvm::ArrayRef<double> x) { return compute(x); }));
      return ::llvm::success();
    }
  }];
}
class NN_FloatUnaryOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits = []> :
    NN_FloatOp<mnemonic, what, flopsPerElement, traits> {
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

// Ops on floats and integers.
class NN_NumberOp<string mnemonic, string what, int flopsPerElement, list<Trait> traits> :
    NN_ElementwiseOp<mnemonic, what, flopsPerElement, !listconcat([SameOperandsAndResultType], traits)> {
  let extraClassDeclaration = scalarDeclaration # [{
    /// The result of one element on the host. Integers wrap, and always have a result: dividing by zero gives zero.
    double compute(::llvm::ArrayRef<double> x);
    int64_t compute(::llvm::ArrayRef<int64_t> x);
  }];
  let extraClassDefinition = sharedDefinition # [{
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<HostTensor> operands,
                                              ::llvm::SmallVectorImpl<HostTensor> &results) {
      return evaluateNumbers(getOperation(), operands, results,
                             [&](::llvm::ArrayRef<double> x) { return compute(x); },
                             [&](::llvm::ArrayRef<int64_t> x) { return compute(x); });
    }
  }];
}
class NN_NumberUnaryOp<string mnemonic, string what, list<Trait> traits = []> :
    NN_NumberOp<mnemonic, what, 1, traits> {
  let arguments = (ins NN_Number:$input);
  let results = (outs NN_Number:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}
class NN_NumberBinaryOp<string mnemonic, string what, list<Trait> traits = []> :
    NN_NumberOp<mnemonic, what, 1, traits> {
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
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<HostTensor> operands,
                                              ::llvm::SmallVectorImpl<HostTensor> &results) {
      results.push_back(mapInts(getResult().getType(), operands,
                                [&](::llvm::ArrayRef<int64_t> x) -> int64_t { return compute(x); }));
      return ::llvm::success();
    }
  }];
}
class NN_BoolBinaryOp<string mnemonic, string what> : NN_BoolOp<mnemonic, what, [Commutative]> {
  let arguments = (ins NN_Bool:$lhs, NN_Bool:$rhs);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def NN_NegOp : NN_NumberUnaryOp<"neg", "-x", [NN_HasGradient]>;
def NN_AbsOp : NN_NumberUnaryOp<"abs", "|x|; the gradient at 0 is 0", [NN_HasGradient]>;
def NN_ExpOp : NN_FloatUnaryOp<"exp", "e^x", 1, [NN_HasGradient]>;
def NN_Expm1Op : NN_FloatUnaryOp<"expm1", "e^x - 1, exact also near 0", 1, [NN_HasGradient]>;
def NN_LogOp : NN_FloatUnaryOp<"log", "natural logarithm", 1, [NN_HasGradient]>;
def NN_SqrtOp : NN_FloatUnaryOp<"sqrt", "square root", 1, [NN_HasGradient]>;
def NN_RsqrtOp : NN_FloatUnaryOp<"rsqrt", "1 / sqrt(x)", 2, [NN_HasGradient]>;
def NN_ReciprocalOp : NN_FloatUnaryOp<"reciprocal", "1 / x", 1, [NN_HasGradient]>;
def NN_SinOp : NN_FloatUnaryOp<"sin", "sine", 1, [NN_HasGradient]>;
def NN_CosOp : NN_FloatUnaryOp<"cos", "cosine", 1, [NN_HasGradient]>;
def NN_TanhOp : NN_FloatUnaryOp<"tanh", "hyperbolic tangent", 1, [NN_HasGradient]>;
def NN_ErfOp : NN_FloatUnaryOp<"erf", "error function", 1, [NN_HasGradient]>;
def NN_SigmoidOp : NN_FloatUnaryOp<"sigmoid", "1 / (1 + e^-x)", 4, [NN_HasGradient]>;
def NN_ReluOp : NN_FloatUnaryOp<"relu", "max(x, 0); the gradient at 0 is 0", 1, [NN_HasGradient]>;
def NN_SiluOp : NN_FloatUnaryOp<"silu", "x * sigmoid(x)", 5, [NN_HasGradient]>;
def NN_SoftplusOp : NN_FloatUnaryOp<"softplus", "log(1 + e^x); finite wherever x is", 5, [NN_HasGradient]>;
def NN_FloorOp : NN_FloatUnaryOp<"floor", "largest integer not above x", 1, [NN_HasGradient]>;
def NN_CeilOp : NN_FloatUnaryOp<"ceil", "smallest integer not below x", 1, [NN_HasGradient]>;
def NN_NotOp : NN_BoolOp<"not", "logical not", []> {
  let arguments = (ins NN_Bool:$input);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def NN_GeluOp : NN_FloatUnaryOp<"gelu", "Gaussian error linear unit", 8, [NN_HasGradient]> {
  let description = [{x/2 (1 + erf(x/sqrt 2)), or with `tanh` x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). Hendrycks and
    Gimpel, arXiv:1606.08415.}];
  let arguments = (ins NN_Float:$input, UnitAttr:$tanh);
}
def NN_GeluGradOp : NN_FloatOp<"gelu_grad", "gradient of gelu: dy * gelu'(x)", 14, []> {
  let arguments = (ins NN_Float:$input, NN_Float:$gradient, UnitAttr:$tanh);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` type($result)";
}
def NN_SiluGradOp : NN_FloatOp<"silu_grad", "gradient of silu: dy * silu'(x)", 9, []> {
  let arguments = (ins NN_Float:$input, NN_Float:$gradient);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` type($result)";
}

def NN_AddOp : NN_NumberBinaryOp<"add", "x + y", [Commutative, NN_HasGradient]> {
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def NN_SubOp : NN_NumberBinaryOp<"sub", "x - y", [NN_HasGradient]> {
  let hasFolder = 1;
}
def NN_MulOp : NN_NumberBinaryOp<"mul", "x * y", [Commutative, NN_HasGradient]> {
  let hasFolder = 1;
}
def NN_DivOp : NN_NumberBinaryOp<"div", "x / y; integers truncate towards zero, and divided by 0 give 0", [NN_HasGradient]> {
  let hasFolder = 1;
}
def NN_PowOp : NN_NumberBinaryOp<"pow", "x ^ y; an integer power with y < 0 truncates towards zero, that of 0 is 0", [NN_HasGradient]>;
def NN_MaxOp : NN_NumberBinaryOp<"max", "the larger, NaN where one is; at a tie each has half the gradient",
  [Commutative, NN_HasGradient]>;
def NN_MinOp : NN_NumberBinaryOp<"min", "the smaller, NaN where one is; at a tie each has half the gradient",
  [Commutative, NN_HasGradient]>;
def NN_ModOp : NN_NumberBinaryOp<"mod", "remainder; with `fmod` the sign of x, else the sign of y; that of an integer by 0 is 0", [NN_HasGradient]> {
  let arguments = (ins NN_Number:$lhs, NN_Number:$rhs, UnitAttr:$fmod);
}
def NN_AndOp : NN_BoolBinaryOp<"and", "logical and">;
def NN_OrOp : NN_BoolBinaryOp<"or", "logical or">;
def NN_XorOp : NN_BoolBinaryOp<"xor", "logical exclusive or">;

def NN_CompareKind : I32EnumAttr<"CompareKind", "order of two elements", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
  I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_CompareKindAttr : EnumAttr<NN_Dialect, NN_CompareKind, "compare">;

def NN_CompareOp : NN_ElementwiseOp<"compare", "elementwise comparison; false where an operand is NaN, except `ne`", 0,
    [SameTypeOperands]> {
  let arguments = (ins NN_CompareKindAttr:$kind, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}
def NN_IsNanOp : NN_ElementwiseOp<"is_nan", "true where x is NaN", 0, []> {
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}
def NN_SelectOp : NN_ElementwiseOp<"select", "lhs where the condition holds, else rhs", 0,
    [AllTypesMatch<["lhs", "rhs", "result"]>, NN_HasGradient]> {
  let arguments = (ins NN_Bool:$condition, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasFolder = 1;
}
def NN_CastOp : NN_ElementwiseOp<"cast", "conversion of element type; floats truncate towards zero, saturating, NaN to 0; to i1: x != 0", 0,
    [NN_HasGradient]> {
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasFolder = 1;
}

#endif
