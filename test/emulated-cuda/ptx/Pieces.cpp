// A module's text by entries and functions, without reading what they do.
#include "Ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace shardc::test::ptx {

static bool mentions(StringRef text, StringRef name) {
  auto isPart = [](char c) {
    return isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
  };
  for (size_t at = text.find(name); at != StringRef::npos;
       at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !isPart(text[at - 1])) &&
        (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

Expected<Pieces> Pieces::of(StringRef text) {
  Pieces made;
  std::string kept = withoutComments(text);
  StringRef rest = kept;
  for (;;) {
    rest = rest.ltrim();
    if (rest.empty())
      return made;
    if (rest.starts_with(".version") || rest.starts_with(".target") ||
        rest.starts_with(".address_size")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (!rest.starts_with("."))
      return failure("no directive that is known",
                     rest.take_until([](char c) { return c == '\n'; }));
    size_t end = rest.find_first_of("{;");
    StringRef head = rest.take_front(end);
    size_t entry = head.find(".entry"), function = head.find(".func");
    bool isKernel = entry != StringRef::npos;
    bool isFunction = function != StringRef::npos;
    if (isKernel || isFunction) {
      if (end != StringRef::npos && rest[end] == '{') {
        int depth = 0;
        do {
          depth += (rest[end] == '{') - (rest[end] == '}');
          ++end;
        } while (depth > 0 && end < rest.size());
        if (depth > 0)
          return failure("a body without an end", rest.take_front(60));
      } else if (end != StringRef::npos)
        ++end;
    } else if (end != StringRef::npos)
      end = rest.find(';', end) == StringRef::npos ? StringRef::npos
                                                   : rest.find(';', end) + 1;
    if (end == StringRef::npos)
      return failure("a statement without an end", rest.take_front(60));
    Piece piece;
    piece.text = rest.take_front(end).str();
    piece.isKernel = isKernel;
    StringRef of = piece.text;
    if (isKernel || isFunction) {
      of = of.drop_front(isKernel ? entry + 6 : function + 5).ltrim();
      if (of.starts_with("("))
        of = of.drop_front(of.find(')') + 1).ltrim();
      of = of.take_until(
          [](char c) { return c == '(' || isSpace(c) || c == ';'; });
    } else {
      of = of.take_until([](char c) {
               return c == '=' || c == ';' || c == '[';
             }).rtrim();
      of = of.drop_front(of.find_last_of(" \t") + 1);
    }
    piece.name = of.str();
    made.pieces.push_back(std::move(piece));
    rest = rest.drop_front(end);
  }
}

std::string Pieces::kernel(StringRef name) const {
  std::vector<const Piece *> taken;
  for (const Piece &each : pieces)
    if (each.isKernel && each.name == name)
      taken.push_back(&each);
  if (taken.empty())
    return "";
  for (size_t i = 0; i < taken.size(); ++i)
    for (const Piece &each : pieces)
      if (!each.isKernel && !is_contained(taken, &each) &&
          mentions(taken[i]->text, each.name))
        taken.push_back(&each);
  std::string text;
  // As they lie in the module: what is called is declared before.
  for (const Piece &each : pieces)
    if (is_contained(taken, &each))
      text += each.text + "\n";
  return text;
}

std::vector<std::string> Pieces::kernels() const {
  std::vector<std::string> names;
  for (const Piece &each : pieces)
    if (each.isKernel)
      names.push_back(each.name);
  return names;
}

} // namespace shardc::test::ptx
