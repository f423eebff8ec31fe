// A node of the default domain, by which a decoder expands one of another.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_STANDARDNODE_H
#define SHARDC_FRONTEND_ONNX_DECODE_STANDARDNODE_H

#include "frontend/onnx/decode/DecoderTable.h"

namespace shardc::onnx {

/// It stands in place of the node of a context, whose name it has.
class StandardNode {
public:
  StandardNode(NodeContext &context, llvm::StringRef op, size_t outputs = 1)
      : context(context), node(context.node) {
    proto.set_name(node.name);
    proto.set_op_type(op.str());
    for (size_t i = 0; i < outputs; ++i)
      proto.add_output("output_" + std::to_string(i));
    node.proto = &proto;
    node.opset = latestOpset;
  }
  void omitOutput(int i) { proto.set_output(i, ""); }
  void set(llvm::StringRef name, int64_t value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  void set(llvm::StringRef name, double value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::FLOAT);
    attribute.set_f(float(value));
  }
  void set(llvm::StringRef name, llvm::StringRef value) {
    auto &attribute = *proto.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(value.str());
  }

  /// Takes over those of the node's attributes that it has.
  void take(llvm::ArrayRef<llvm::StringRef> names);

  /// What the operators of the default domain make of it.
  mlir::FailureOr<llvm::SmallVector<Operand>>
  decode(llvm::ArrayRef<Operand> inputs);

private:
  static constexpr int64_t latestOpset = 24;
  NodeContext &context;
  ::onnx::NodeProto proto;
  Node node;
};

/// `node` of the inputs is the result of the context's node.
mlir::LogicalResult setTo(NodeContext &context, StandardNode &node,
                          llvm::ArrayRef<Operand> inputs);

/// The sum of operands of one type, which broadcast.
mlir::FailureOr<Operand> sumOf(NodeContext &context,
                               llvm::ArrayRef<Operand> operands);

} // namespace shardc::onnx

#endif
