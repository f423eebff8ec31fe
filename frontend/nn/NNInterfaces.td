// What passes ask of an nn op. An op answers in its family's .cpp; there is no central switch.
#ifndef SHARDC_FRONTEND_NN_NNINTERFACES_TD
#define SHARDC_FRONTEND_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that knows its own vector-Jacobian product. `nn-differentiate` walks the ops backwards and
    asks each.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands. `resultGradients[i]` is the gradient of result i, or
      null if none flows there. `needed[j]` says whether operand j's gradient is used; only those
      need be built. On return `operandGradients[j]` is set, or null where the gradient is zero. Ops
      are created through `builder`, which stands behind the last op of the backward pass so far.
    }],
    "::llvm::LogicalResult", "differentiate", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$needed,
      "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
  ];
}

def NN_KernelBody : OpInterface<"KernelBody"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that is generated code (not a library call): it writes itself as linalg ops on tensors,
    one body for every target. `step-outline-kernels` groups such ops into kernels.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the op as linalg on `operands` (tensors of this op's operand types) and returns one
      tensor per result. Elementwise ops become one linalg.generic with identity maps; reductions
      keep their dims as size 1.
    }],
    "::llvm::LogicalResult", "buildKernel", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::ValueRange":$operands, "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

def NN_LibraryCall : OpInterface<"LibraryCall"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that is a call of the runtime's library: `step-lower` makes entries of a plan of it. Of
    buffers nothing is known here: the op promises the call (`NN_HasLibraryCall`), and a model in
    codegen/lower, one file for each family of ops, keeps the promise. A move that is generated code
    as well is a call where its places are many.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the op's entries through `entries`, and says where its results lie. The verifiers have
      passed the op: it does not fail.
    }],
    "void", "lowerCall", (ins "::shardc::EntryBuilder &":$entries)>,
    InterfaceMethod<[{
      Returns the operand in whose memory the call may write its one result, of the same type; null
      where it changes none.
    }],
    "::mlir::Value", "changedOperand", (ins), "", "return {};">
  ];
}

def NN_Drawing : OpInterface<"Drawing"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that draws. Up to `nn-place-draws` it says what will be drawn, at a site; from there on it
    has the words that a run writes.
  }];
  let methods = [
    InterfaceMethod<"Returns whether anything is drawn: an op may draw, and not do so.",
    "bool", "isDrawing", (ins), "", "return true;">,
    InterfaceMethod<"Returns the number of the site.", "int64_t", "drawnSite", (ins)>,
    InterfaceMethod<[{
      Returns the value whose samples those of the result are; null where none says it.
    }],
    "::mlir::Value", "sampledLike", (ins)>,
    InterfaceMethod<[{
      Returns the stride of the samples in what is drawn, from that in `sampledLike`; 0 where they
      are not to be found.
    }],
    "int64_t", "drawnStride", (ins "int64_t":$stride, "int64_t":$samples), "", "return stride;">,
    InterfaceMethod<[{
      Returns whether the first dim of the result are a rank's samples, whatever `sampledLike` is.
    }],
    "bool", "samplesComeFirst", (ins)>,
    InterfaceMethod<[{
      Returns the share that training drops. Null where numbers are drawn, in evaluations too.
    }],
    "::mlir::FloatAttr", "droppedShare", (ins)>,
    InterfaceMethod<[{
      Makes an op that training drops with what evaluations have, in which everything is kept; it
      may be gone then.
    }],
    "void", "keepAll", (ins)>,
    InterfaceMethod<[{
      Gives the op its words, and where its samples lie; what said so until then goes, since a
      kernel is one function for all sites.
    }],
    "void", "place", (ins "::mlir::Value":$words, "int64_t":$samples, "int64_t":$stride)>
  ];
}

def NN_PositionReader : OpInterface<"PositionReader"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that reads integers as positions in what it indexes. A run checks the inputs that become
    such operands before its first step.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the integers that `operand`, one of this op's, may hold; nothing where it is not read
      as positions.
    }],
    "::std::optional<::shardc::nn::PositionRange>", "positionsOf",
    (ins "::mlir::OpOperand &":$operand)>
  ];
}

def NN_OperandTypes : OpInterface<"OperandTypes"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op whose float operands may have several types: `nn-precision` asks which it gives them. Ops
    without it read all in the type that they compute in; those of `MixedTypes` read any.
  }];
  let methods = [
    InterfaceMethod<"Returns the type of `operand`, one of this op's, if it is of floats.",
    "::shardc::nn::OperandType", "operandType", (ins "::mlir::OpOperand &":$operand)>
  ];
}

def NN_CostModel : OpInterface<"CostModel"> {
  let cppNamespace = "::shardc::nn";
  let description = "An op that knows its arithmetic cost.";
  let methods = [
    InterfaceMethod<"Floating-point operations of one execution (a multiply-add counts 2).",
    "int64_t", "flops", (ins)>
  ];
}

def NN_ReferenceEval : OpInterface<"ReferenceEval"> {
  let cppNamespace = "::shardc::nn";
  let description = [{
    An op that can be evaluated plainly on the host: floats in float64, integers in int64. Folds
    shape and mask arithmetic at compile time, and is what tests compare kernels with.
  }];
  let methods = [
    InterfaceMethod<"Appends one tensor per result.",
    "::llvm::LogicalResult", "evaluate", (ins
      "::llvm::ArrayRef<::shardc::nn::HostTensor>":$operands,
      "::llvm::SmallVectorImpl<::shardc::nn::HostTensor> &":$results)>
  ];
}

#endif
