// The nn dialect: what a model is. Value-semantic ops on statically shaped tensors; no collective,
// no buffer, no device.
#ifndef SHARDC_FRONTEND_NN_NN_TD
#define SHARDC_FRONTEND_NN_NN_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "frontend/nn/NNInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::shardc::nn";
  let summary = "what a model is: forward ops, loss and their backward twins";
  let description = [{
    Every op works on ranked tensors of static shape. Broadcasting is explicit (`nn.broadcast`),
    reductions keep their dims (size 1), sequences stay in the layout [batch, sequence, heads,
    head_dim]. A parameter is a symbol (`nn.parameter`) that says where its values are stored; the
    values never enter the IR.

    Every op computes in float32 (float64 for float64 operands) and rounds each result once to its
    element type: the 16-bit floats are types of storage. docs/precision.md has the whole
    definition, docs/seams.md what ops do at 0, at ties and at infinity.

    Descriptions call the gradient of x dx. What an op's verifier refuses is an error that names
    both values. An op that has a gradient implements `Differentiable`; where one would flow through
    the floats of another op, `nn-differentiate` fails.
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
  private:
    /// Adds ops, and promises what their traits say.
    template <typename... Ops> void addOpsAndPromises();
  }];
}

def NN_Tensor : StaticShapeTensorOf<
    [AnyFloat, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def NN_Float : StaticShapeTensorOf<[F16, BF16, F32, F64]>;
def NN_Bool : StaticShapeTensorOf<[I1]>;
// What can be added: all but booleans.
def NN_Number : StaticShapeTensorOf<
    [AnyFloat, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def NN_Bits : StaticShapeTensorOf<
    [I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def NN_Int : StaticShapeTensorOf<[I32, I64]>;
// A tensor of no dims that holds one float.
def NN_ScalarFloat : 0DTensorOf<[F16, BF16, F32, F64]>;

// Every op of the dialect is pure: a value-semantic function of its operands.
class NN_Op<string mnemonic, list<Trait> traits = []> :
    Op<NN_Dialect, mnemonic, !listconcat([Pure], traits)>;

// An op that can be evaluated on the host and knows its cost: all but those that only name a value.
class NN_ComputeOp<string mnemonic, list<Trait> traits = []> :
    NN_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<NN_ReferenceEval>,
                                 DeclareOpInterfaceMethods<NN_CostModel, ["flops"]>], traits)>;

// What passes ask of an op instead of its name. A move's results have elements of its operands, in
// any order and number. A view is a move that strides can show where its operand lies. Norms,
// softmaxes and losses have precisions of their own (docs/precision.md); a norm's parameters are
// not decayed, and products decide how fast a step is. Activations and reductions are classes of
// --remat, as norms, softmaxes and products are (passes/analyses/OpClasses.h).
class NN_Trait<string name> : NativeOpTrait<name> { let cppNamespace = "::shardc::nn"; }
def NN_IsMove : NN_Trait<"IsMove">;
def NN_IsView : NN_Trait<"IsView">;
def NN_IsNorm : NN_Trait<"IsNorm">;
def NN_IsSoftmax : NN_Trait<"IsSoftmax">;
def NN_IsActivation : NN_Trait<"IsActivation">;
def NN_IsReduction : NN_Trait<"IsReduction">;
def NN_IsLoss : NN_Trait<"IsLoss">;
def NN_IsProduct : NN_Trait<"IsProduct">;
// An op that says of gradients where they go; as a value it is its first operand, and behind
// nn-differentiate nothing else.
def NN_IsGradientRule : NN_Trait<"IsGradientRule">;

// An op that moves elements without computing on them.
class NN_MoveOp<string mnemonic, list<Trait> traits = []> :
    NN_ComputeOp<mnemonic, !listconcat([NN_IsMove], traits)> {
  let extraClassDefinition = "int64_t $cppClass::flops() { return 0; }";
}

// Generated code that reads floats of any types, and whose float results may have any type: each is
// rounded to it once. What is kept per row (mean, rstd) is float32 where the input has 16 bits.
def NN_MixedTypes : NativeOpTrait<"MixedTypes"> { let cppNamespace = "::shardc::nn"; }
// A library call of one float type whose results (gradients of parameters, losses) may be float32
// where that has 16 bits: they are sums in float32, which are then not rounded.
def NN_WideResult : NativeOpTrait<"WideResult"> { let cppNamespace = "::shardc::nn"; }

// What an op adds to its traits when it has a gradient, is generated code, or a library call. The
// dialect promises the interface NN_LibraryCall of the latter, which codegen/lower implements.
defvar NN_HasGradient = DeclareOpInterfaceMethods<NN_Differentiable>;
defvar NN_HasKernel = DeclareOpInterfaceMethods<NN_KernelBody>;
def NN_HasLibraryCall : NN_Trait<"HasLibraryCall">;
// And when it reads integers as positions.
defvar NN_ReadsPositions = DeclareOpInterfaceMethods<NN_PositionReader>;
// And when its float operands have several types.
defvar NN_HasOperandTypes = DeclareOpInterfaceMethods<NN_OperandTypes>;
// And when it draws.
defvar NN_Draws = DeclareOpInterfaceMethods<NN_Drawing>;
defvar NN_MayDraw = DeclareOpInterfaceMethods<NN_Drawing, ["isDrawing", "drawnStride"]>;

#endif
