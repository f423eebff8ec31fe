// torch.fx's text of a call is taken apart as its printer puts it together.
#include "frontend/onnx/graph/FxCall.h"

#include <gtest/gtest.h>

namespace shardc::onnx {
namespace {

using Texts = std::vector<std::string>;
using Names = std::vector<llvm::StringRef>;

TEST(FxCall, PositionalArguments) {
  FxCall call = parseFxCall(
      "%linear : [num_users=1] = call_function[target=torch.ops.aten.linear."
      "default](args = (%embedding, %p_a_weight, %p_a_bias), kwargs = {})");
  EXPECT_EQ(call.target, "torch.ops.aten.linear.default");
  EXPECT_EQ(call.result, "linear");
  EXPECT_EQ(call.arguments, (Texts{"%embedding", "%p_a_weight", "%p_a_bias"}));
  EXPECT_TRUE(call.keywords.empty());
  EXPECT_EQ(call.values(), (Names{"embedding", "p_a_weight", "p_a_bias"}));
}

TEST(FxCall, NumbersAndNone) {
  FxCall call = parseFxCall(
      "%slice_1 : [num_users=1] = call_function[target=torch.ops.aten.slice."
      "Tensor](args = (%b_tab, 0, None, %sym_size_int_4), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"%b_tab", "0", "None", "%sym_size_int_4"}));
  call = parseFxCall(
      "%c : [num_users=3] = call_function[target=torch.ops.aten.clamp."
      "default](args = (%x, -inf, 3.5), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"%x", "-inf", "3.5"}));
}

TEST(FxCall, NestedListsAndTuples) {
  FxCall call = parseFxCall(
      "%cat : [num_users=1] = call_function[target=torch.ops.aten.cat.default]"
      "(args = ([%layer_norm, %detach], -1), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"[%layer_norm, %detach]", "-1"}));
  EXPECT_EQ(call.values(), (Names{"layer_norm", "detach"}));
  call = parseFxCall(
      "%i : [num_users=1] = call_function[target=torch.ops.aten.index_put."
      "default](args = (%x, [None, (%y, [%x, 2])], %v), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"%x", "[None, (%y, [%x, 2])]", "%v"}));
  EXPECT_EQ(call.values(), (Names{"x", "y", "x", "v"}));
}

TEST(FxCall, TupleOfOne) {
  FxCall call = parseFxCall(
      "%detach : [num_users=1] = call_function[target=torch.ops.aten.detach."
      "default](args = (%layer_norm,), kwargs = {})");
  EXPECT_EQ(call.arguments, Texts{"%layer_norm"});
  EXPECT_EQ(call.values(), Names{"layer_norm"});
}

TEST(FxCall, NoArguments) {
  FxCall call = parseFxCall("%f : [num_users=1] = call_function[target=f](args "
                            "= (), kwargs = {})");
  EXPECT_TRUE(bool(call));
  EXPECT_EQ(call.target, "f");
  EXPECT_TRUE(call.arguments.empty());
}

TEST(FxCall, Keywords) {
  FxCall call = parseFxCall(
      "%gelu : [num_users=1] = call_function[target=torch.ops.aten.gelu."
      "default](args = (%mul,), kwargs = {approximate: tanh})");
  EXPECT_EQ(call.keywords, (std::vector<std::pair<std::string, std::string>>{
                               {"approximate", "tanh"}}));
  call = parseFxCall(
      "%full : [num_users=1] = call_function[target=torch.ops.aten.full."
      "default](args = ([2, 3], 0.5), kwargs = {dtype: torch.float64, "
      "device: device(type='cpu', index=0), like: [%x, %y], pin: False})");
  EXPECT_EQ(call.arguments, (Texts{"[2, 3]", "0.5"}));
  EXPECT_EQ(call.keywords, (std::vector<std::pair<std::string, std::string>>{
                               {"dtype", "torch.float64"},
                               {"device", "device(type='cpu', index=0)"},
                               {"like", "[%x, %y]"},
                               {"pin", "False"}}));
  EXPECT_EQ(call.values(), (Names{"x", "y"}));
}

TEST(FxCall, Strings) {
  // Without quotes, and with commas of their own.
  FxCall call = parseFxCall(
      "%einsum : [num_users=1] = call_function[target=torch.ops.aten.einsum."
      "default](args = (bij,bjk->bik, [%x, %y]), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"bij,bjk->bik", "[%x, %y]"}));
  // A quote within brackets hides what looks like the end.
  call = parseFxCall("%f : [num_users=1] = call_function[target=f](args = "
                     "(%x, g('a), ]', 1), 2), kwargs = {})");
  EXPECT_EQ(call.arguments, (Texts{"%x", "g('a), ]', 1)", "2"}));
}

TEST(FxCall, OtherTexts) {
  for (llvm::StringRef text :
       {"", "%x : [num_users=1] = placeholder[target=x]", "%",
        "%w : [num_users=1] = get_attr[target=w]",
        "%f : [num_users=1] = call_function[target=f](args = (%x, [1",
        "%f : [num_users=1] = call_function[target=f](args = (%x)",
        "%f : [num_users=1] = call_function[target=f](args = (%x, ), kwargs",
        "call_function[target=f](args = (%x,), kwargs = {})"}) {
    FxCall call = parseFxCall(text);
    EXPECT_FALSE(bool(call)) << text.str();
    EXPECT_TRUE(call.arguments.empty()) << text.str();
  }
}

} // namespace
} // namespace shardc::onnx
