// Takes torch.fx's text of a call apart.
#include "frontend/onnx/graph/FxCall.h"
#include "frontend/onnx/file/Metadata.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>

using llvm::StringRef;

namespace shardc::onnx {
namespace {

/// Takes the items of a bracketed list off the front of `text`, which begins
/// behind the opening bracket, and the closing one: "%a, [1, 2])" gives "%a"
/// and "[1, 2]". None where the list does not end in `close`.
std::optional<std::vector<StringRef>> takeItems(StringRef &text, char close) {
  std::vector<StringRef> items;
  std::string open; // the closing brackets that are due, innermost last
  char quote = 0;
  size_t begin = 0;
  auto finish = [&](size_t end) {
    if (StringRef item = text.slice(begin, end).trim(); !item.empty())
      items.push_back(item);
  };
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if ((c == '\'' || c == '"') && open.size()) {
      // Only what Python prints within brackets has quotes: device(type='cpu').
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (!open.empty() && c == open.back()) {
      open.pop_back();
    } else if (open.empty() && c == close) {
      finish(at);
      text = text.drop_front(at + 1);
      return items;
    } else if (open.empty() && text.substr(at).starts_with(", ")) {
      // A comma without a blank is part of a string: einsum's "ij,jk->ik".
      finish(at);
      begin = at + 2;
    } else if (open.empty() && c == ',' && at + 1 < text.size() &&
               text[at + 1] == close) {
      finish(at); // a tuple of one: "(%x,)"
      begin = at + 1;
    }
  }
  return std::nullopt;
}

} // namespace

FxCall parseFxCall(StringRef text) {
  text = text.trim();
  FxCall call;
  if (!text.consume_front("%"))
    return {};
  size_t colon = text.find(" : ");
  size_t kind = text.find("= call_");
  if (colon == StringRef::npos || kind == StringRef::npos || kind < colon)
    return {};
  call.result = text.take_front(colon);
  text = text.drop_front(kind);
  size_t target = text.find("[target="), end = text.find("](args = (");
  if (target == StringRef::npos || end == StringRef::npos || end < target)
    return {};
  StringRef name = text.slice(target + strlen("[target="), end);
  text = text.drop_front(end + strlen("](args = ("));
  std::optional<std::vector<StringRef>> arguments = takeItems(text, ')');
  if (!arguments || !text.consume_front(", kwargs = {"))
    return {};
  std::optional<std::vector<StringRef>> keywords = takeItems(text, '}');
  if (!keywords)
    return {};
  call.target = name;
  for (StringRef argument : *arguments)
    call.arguments.push_back(argument.str());
  for (StringRef keyword : *keywords) {
    auto [key, value] = keyword.split(": ");
    call.keywords.emplace_back(key.str(), value.str());
  }
  return call;
}

FxCall fxCall(const ::onnx::NodeProto &node) {
  return parseFxCall(metadata(node, "pkg.torch.onnx.fx_node"));
}

StringRef FxCall::argument(size_t position, StringRef keyword) const {
  if (position < arguments.size())
    return arguments[position];
  for (const auto &[key, value] : keywords)
    if (key == keyword)
      return value;
  return {};
}

std::vector<StringRef> FxCall::values() const {
  std::vector<StringRef> result;
  auto collect = [&](StringRef text) {
    for (text = text.split('%').second; !text.empty();
         text = text.split('%').second)
      if (StringRef name = text.take_while(
              [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
          !name.empty())
        result.push_back(name);
  };
  for (const std::string &argument : arguments)
    collect(argument);
  for (const auto &[key, value] : keywords)
    collect(value);
  return result;
}

} // namespace shardc::onnx
