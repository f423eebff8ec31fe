// How one ONNX node becomes nn ops: the table of decoders, and what a decoder
// sees of its node.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_DECODER_H
#define SHARDC_FRONTEND_ONNX_DECODE_DECODER_H

#include "frontend/onnx/decode/Emitter.h"
#include "frontend/onnx/graph/FlatGraph.h"

namespace shardc::onnx {

/// Element type of a TensorProto.DataType; null for types that shardc does not
/// compute with.
mlir::Type elementType(mlir::MLIRContext *context, int dtype);
/// Values of a tensor stored in the model (a Constant's value, a small
/// initializer).
llvm::Expected<nn::HostTensor> hostTensor(mlir::MLIRContext *context,
                                          const ::onnx::TensorProto &tensor);
/// Little-endian elements of a TensorProto.DataType.
llvm::Expected<nn::HostTensor> hostTensor(mlir::MLIRContext *context, int dtype,
                                          llvm::ArrayRef<int64_t> dims,
                                          llvm::StringRef bytes);

/// The number that was written where a file has its float32: 0.1, not
/// 0.100000001490116.
double asWritten(double number);

/// A shape as errors show it, "[4, 128]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

struct Decoder;

/// A node while it is decoded.
class NodeContext {
public:
  NodeContext(const Node &node, llvm::StringRef file, Emitter &emitter,
              llvm::SmallVector<Operand> inputs);

  Emitter &emit;
  const Node &node;

  /// Emits one error that names file, node, op and opset.
  mlir::LogicalResult error(const llvm::Twine &message) const;
  void warning(const llvm::Twine &message) const;

  llvm::StringRef fileName() const { return file; }
  size_t inputCount() const { return inputs.size(); }
  /// Whether optional input i is given.
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  const Operand &input(size_t i) const { return inputs[i]; }
  llvm::ArrayRef<Operand> allInputs() const { return inputs; }
  /// The integers of a constant input, in row-major order.
  mlir::FailureOr<Shape> constantInts(size_t i, llvm::StringRef what) const;
  mlir::FailureOr<double> constantFloat(size_t i, llvm::StringRef what) const;
  /// Checks that inputs [first, last] have one element type.
  mlir::LogicalResult sameElementType(size_t first, size_t last) const;
  /// Checks that an input is of a float type, or bool.
  mlir::LogicalResult expectFloat(size_t i) const;
  /// Checks that there are as many inputs as a decoder takes.
  mlir::LogicalResult expectInputs(const Decoder &decoder) const;
  mlir::LogicalResult expectBool(size_t i) const;
  /// Checks that the operands' shapes broadcast against each other.
  mlir::FailureOr<Shape> broadcastShape(llvm::ArrayRef<Operand> operands) const;

  /// The function of torch's library that the node was exported from, "clamp"
  /// for torch.ops.aten.clamp.Tensor: several functions that differ in their
  /// derivatives become one ONNX operator. Empty where not known.
  llvm::StringRef atenFunction() const;

  const ::onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t intAttribute(llvm::StringRef name, int64_t otherwise) const;
  double floatAttribute(llvm::StringRef name, double otherwise) const;
  /// The same as it was written: what is computed in float64 is then what
  /// PyTorch computes, whose settings are no float32.
  double decimalAttribute(llvm::StringRef name, double otherwise) const;
  llvm::StringRef stringAttribute(llvm::StringRef name,
                                  llvm::StringRef otherwise) const;
  std::optional<Shape> intsAttribute(llvm::StringRef name) const;
  /// What is wrong with an attribute that was asked for: it has another type;
  /// empty: nothing.
  llvm::StringRef attributeProblem() const { return wrongAttribute; }
  /// `axis` counted from the front, checked against [0, rank).
  mlir::FailureOr<int64_t> axis(int64_t axis, int64_t rank) const;
  mlir::FailureOr<Shape> axes(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  /// Checks a shape that the model asks for: no negative dim, at most 2^31
  /// elements.
  mlir::LogicalResult checkShape(llvm::ArrayRef<int64_t> shape) const;

  size_t outputCount() const { return node.proto->output_size(); }
  /// Whether output i is named, that is used or may be.
  bool wants(size_t i) const {
    return i < outputCount() && !node.proto->output(i).empty();
  }
  void set(size_t i, Operand value) {
    outputs.resize(std::max(outputs.size(), i + 1));
    outputs[i] = std::move(value);
  }
  llvm::ArrayRef<Operand> results() const { return outputs; }

private:
  /// The same, where it has that type; else null.
  const ::onnx::AttributeProto *
  attribute(llvm::StringRef name,
            ::onnx::AttributeProto::AttributeType type) const;

  mutable std::string wrongAttribute;
  llvm::StringRef file;
  llvm::SmallVector<Operand> inputs;
  llvm::SmallVector<Operand> outputs;
};

using Decode = mlir::LogicalResult (*)(NodeContext &);

/// An operator that is one nn op of one float input.
template <typename Op> mlir::LogicalResult floatUnary(NodeContext &context) {
  if (failed(context.expectFloat(0)))
    return mlir::failure();
  context.set(0, context.emit.unary<Op>(context.input(0)));
  return mlir::success();
}

/// One version of an operator: the decoder is used from opset `since` on, up to
/// the next entry's.
struct Decoder {
  llvm::StringRef op; ///< of other domains: "com.microsoft.Gelu"
  int64_t since;
  int minInputs, maxInputs; ///< maxInputs < 0: any number
  /// Null: a node with bodies, which ControlFlow.h and Import.cpp import.
  Decode decode;
};

// The decoders of each family, sorted as in frontend/nn/ops.
llvm::ArrayRef<Decoder> constantDecoders();
llvm::ArrayRef<Decoder> elementwiseDecoders();
llvm::ArrayRef<Decoder> trigonometryDecoders();
llvm::ArrayRef<Decoder> bitDecoders();
llvm::ArrayRef<Decoder> activationDecoders();
llvm::ArrayRef<Decoder> shapeDecoders();
llvm::ArrayRef<Decoder> padDecoders();
llvm::ArrayRef<Decoder> sequenceDecoders();
llvm::ArrayRef<Decoder> indexingDecoders();
llvm::ArrayRef<Decoder> cumulativeDecoders();
llvm::ArrayRef<Decoder> scatterDecoders();
llvm::ArrayRef<Decoder> reductionDecoders();
llvm::ArrayRef<Decoder> normalizationDecoders();
llvm::ArrayRef<Decoder> batchNormDecoders();
llvm::ArrayRef<Decoder> channelNormDecoders();
llvm::ArrayRef<Decoder> randomDecoders();
llvm::ArrayRef<Decoder> matMulDecoders();
llvm::ArrayRef<Decoder> convolutionDecoders();
llvm::ArrayRef<Decoder> poolingDecoders();
llvm::ArrayRef<Decoder> resizeDecoders();
llvm::ArrayRef<Decoder> samplingDecoders();
llvm::ArrayRef<Decoder> recurrentDecoders();
llvm::ArrayRef<Decoder> einsumDecoders();
llvm::ArrayRef<Decoder> fourierDecoders();
llvm::ArrayRef<Decoder> attentionDecoders();
llvm::ArrayRef<Decoder> linearAttentionDecoders();
llvm::ArrayRef<Decoder> lossDecoders();
llvm::ArrayRef<Decoder> optimizerDecoders();
llvm::ArrayRef<Decoder> quantizeDecoders();
llvm::ArrayRef<Decoder> microsoftDecoders();
llvm::ArrayRef<Decoder> microsoftAttentionDecoders();
llvm::ArrayRef<Decoder> controlFlowDecoders();

} // namespace shardc::onnx

#endif
