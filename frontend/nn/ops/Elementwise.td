// Ops that map elements to elements; all operands have the result's shape (broadcast first).
#ifndef SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
#define SHARDC_FRONTEND_NN_OPS_ELEMENTWISE_TD
include "frontend/nn/NN.td"

class NN_UnaryOp<string mnemonic, string what, list<Trait> traits = []> :
    NN_Op<mnemonic, !listconcat([SameOperandsAndResultType, Elementwise], traits)> {
  let summary = what;
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}
class NN_BinaryOp<string mnemonic, string what, list<Trait> traits = []> :
    NN_Op<mnemonic, !listconcat([SameOperandsAndResultType, Elementwise], traits)> {
  let summary = what;
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def NN_NegOp : NN_UnaryOp<"neg", "-x">;
def NN_AbsOp : NN_UnaryOp<"abs", "|x|">;
def NN_ExpOp : NN_UnaryOp<"exp", "e^x">;
def NN_LogOp : NN_UnaryOp<"log", "natural logarithm">;
def NN_SqrtOp : NN_UnaryOp<"sqrt", "square root">;
def NN_RsqrtOp : NN_UnaryOp<"rsqrt", "1 / sqrt(x)">;
def NN_ReciprocalOp : NN_UnaryOp<"reciprocal", "1 / x">;
def NN_SinOp : NN_UnaryOp<"sin", "sine">;
def NN_CosOp : NN_UnaryOp<"cos", "cosine">;
def NN_TanhOp : NN_UnaryOp<"tanh", "hyperbolic tangent">;
def NN_ErfOp : NN_UnaryOp<"erf", "error function">;
def NN_SigmoidOp : NN_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def NN_ReluOp : NN_UnaryOp<"relu", "max(x, 0)">;
def NN_SiluOp : NN_UnaryOp<"silu", "x * sigmoid(x)">;
def NN_FloorOp : NN_UnaryOp<"floor", "largest integer not above x">;
def NN_CeilOp : NN_UnaryOp<"ceil", "smallest integer not below x">;
def NN_NotOp : NN_UnaryOp<"not", "logical not (i1)">;

def NN_GeluOp : NN_UnaryOp<"gelu", "Gaussian error linear unit"> {
  let description = [{x/2 (1 + erf(x/sqrt 2)), or with `tanh` x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). Hendrycks and
    Gimpel, arXiv:1606.08415.}];
  let arguments = (ins NN_Float:$input, UnitAttr:$tanh);
}
def NN_GeluGradOp : NN_Op<"gelu_grad", [SameOperandsAndResultType, Elementwise]> {
  let summary = "gradient of gelu: dy * gelu'(x)";
  let arguments = (ins NN_Float:$input, NN_Float:$gradient, UnitAttr:$tanh);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` type($result)";
}
def NN_SiluGradOp : NN_BinaryOp<"silu_grad", "gradient of silu: rhs * silu'(lhs); lhs is silu's input">;

def NN_AddOp : NN_BinaryOp<"add", "x + y", [Commutative]> {
  let hasFolder = 1;
}
def NN_SubOp : NN_BinaryOp<"sub", "x - y"> {
  let hasFolder = 1;
}
def NN_MulOp : NN_BinaryOp<"mul", "x * y", [Commutative]> {
  let hasFolder = 1;
}
def NN_DivOp : NN_BinaryOp<"div", "x / y; integers truncate towards zero"> {
  let hasFolder = 1;
}
def NN_PowOp : NN_BinaryOp<"pow", "x ^ y">;
def NN_MaxOp : NN_BinaryOp<"max", "the larger", [Commutative]>;
def NN_MinOp : NN_BinaryOp<"min", "the smaller", [Commutative]>;
def NN_ModOp : NN_BinaryOp<"mod", "remainder; with `fmod` the sign of x, else the sign of y"> {
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, UnitAttr:$fmod);
}
def NN_AndOp : NN_BinaryOp<"and", "logical and (i1)", [Commutative]>;
def NN_OrOp : NN_BinaryOp<"or", "logical or (i1)", [Commutative]>;
def NN_XorOp : NN_BinaryOp<"xor", "logical exclusive or (i1)", [Commutative]>;

def NN_CompareKind : I32EnumAttr<"CompareKind", "order of two elements", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
  I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_CompareKindAttr : EnumAttr<NN_Dialect, NN_CompareKind, "compare">;

def NN_CompareOp : NN_Op<"compare", [SameTypeOperands, SameOperandsAndResultShape, Elementwise]> {
  let summary = "elementwise comparison; false where an operand is NaN, except `ne`";
  let arguments = (ins NN_CompareKindAttr:$kind, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}
def NN_IsNanOp : NN_Op<"is_nan", [SameOperandsAndResultShape, Elementwise]> {
  let summary = "true where x is NaN";
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Bool:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}
def NN_SelectOp : NN_Op<"select", [SameOperandsAndResultShape, Elementwise, AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "lhs where the condition holds, else rhs";
  let arguments = (ins NN_Bool:$condition, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasFolder = 1;
}
def NN_CastOp : NN_Op<"cast", [SameOperandsAndResultShape, Elementwise]> {
  let summary = "conversion of element type; to i1: x != 0";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasFolder = 1;
}

#endif
