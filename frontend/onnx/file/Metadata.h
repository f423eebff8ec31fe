// Fields that are newer than Debian's onnx.proto (1.12), read from the unknown
// fields of a message: metadata_props of nodes, graphs, values and tensors, and
// the overloads of model-local functions.
#ifndef SHARDC_FRONTEND_ONNX_FILE_METADATA_H
#define SHARDC_FRONTEND_ONNX_FILE_METADATA_H

#include "onnx/onnx.pb.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace shardc::onnx {

/// The value of `key` in metadata_props; empty where absent. Points into the
/// message.
llvm::StringRef metadata(const ::onnx::NodeProto &node, llvm::StringRef key);
llvm::StringRef metadata(const ::onnx::GraphProto &graph, llvm::StringRef key);
llvm::StringRef metadata(const ::onnx::ValueInfoProto &value,
                         llvm::StringRef key);

/// NodeProto.overload and FunctionProto.overload: which of several functions of
/// one name.
llvm::StringRef overloadOf(const ::onnx::NodeProto &node);
llvm::StringRef overloadOf(const ::onnx::FunctionProto &function);
/// FunctionProto.attribute_proto: the attributes that have default values.
std::vector<::onnx::AttributeProto>
defaultAttributes(const ::onnx::FunctionProto &function);

} // namespace shardc::onnx

#endif
