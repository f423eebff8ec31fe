// The call of PyTorch's that an ONNX node was made from, as the dynamo exporter
// writes it into the node's metadata.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_FXCALL_H
#define SHARDC_FRONTEND_ONNX_GRAPH_FXCALL_H

#include "onnx/onnx.pb.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace shardc::onnx {

/// One call of an FX graph. Its texts are those of torch.fx's printer: a value
/// is its name behind a percent sign ("%linear"), a list or a tuple stands in
/// its brackets ("[%a, %b]"), a string has no quotes ("tanh").
struct FxCall {
  /// "torch.ops.aten.linear.default"; empty where the text is no call.
  llvm::StringRef target;
  /// Positional arguments, in order.
  std::vector<std::string> arguments;
  /// Keyword arguments, in order: {"dtype", "torch.float64"}.
  std::vector<std::pair<std::string, std::string>> keywords;
  /// Name of what it returns, without the percent sign.
  llvm::StringRef result;

  explicit operator bool() const { return !target.empty(); }
  /// Text of a parameter that is given by its position or by its keyword; empty:
  /// by neither.
  llvm::StringRef argument(size_t position, llvm::StringRef keyword) const;
  /// Names of the values among the arguments, also within lists, in order and
  /// as often as they are there; without percent signs.
  std::vector<llvm::StringRef> values() const;
};

/// Parses "%r : [num_users=1] = call_function[target=T](args = (%x, 1), kwargs
/// = {k: v})". Anything else, also a text that ends early, is no call.
/// `target` and `result` point into `text`. A string argument that holds ", "
/// is taken for several: the text does not tell.
FxCall parseFxCall(llvm::StringRef text);

/// The call that a node was made from; none where its metadata does not know.
/// Points into the node.
FxCall fxCall(const ::onnx::NodeProto &node);

} // namespace shardc::onnx

#endif
