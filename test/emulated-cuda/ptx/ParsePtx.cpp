// Statement by statement; names of an inner scope get a number of their own.
#include "Ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace shardc::test::ptx {

bool Instruction::has(StringRef word) const {
  return is_contained(words, word);
}

unsigned bitsOf(StringRef type) {
  return StringSwitch<unsigned>(type)
      .Case("pred", 1)
      .Cases({"b8", "u8", "s8"}, 8)
      .Cases({"b16", "u16", "s16", "f16", "bf16"}, 16)
      .Cases({"b32", "u32", "s32", "f32", "f16x2", "bf16x2"}, 32)
      .Cases({"b64", "u64", "s64", "f64"}, 64)
      .Default(0);
}

bool isFloatType(StringRef type) {
  return type == "f16" || type == "bf16" || type == "f32" || type == "f64";
}

bool isSignedType(StringRef type) { return type.starts_with("s"); }

Error failure(const Twine &what, StringRef text) {
  return createStringError("PTX: " + what + ": '" + text.str() + "'");
}

std::string withoutComments(StringRef text) {
  std::string kept;
  while (!text.empty()) {
    if (text.starts_with("//"))
      text = text.drop_until([](char c) { return c == '\n'; });
    else if (text.starts_with("/*"))
      text = text.drop_front(std::min(text.find("*/", 2), text.size() - 2) + 2);
    else {
      kept += text.front();
      text = text.drop_front();
    }
  }
  return kept;
}

namespace {

/// Splits at commas that are in no brackets.
SmallVector<std::string, 5> splitOperands(StringRef text) {
  SmallVector<std::string, 5> parts;
  int depth = 0;
  std::string part;
  auto end = [&] {
    if (StringRef trimmed = StringRef(part).trim(); !trimmed.empty())
      parts.push_back(trimmed.str());
    part.clear();
  };
  for (char c : text) {
    depth +=
        (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c == ',' && depth == 0)
      end();
    else
      part += c;
  }
  end();
  return parts;
}

class Parser {
public:
  explicit Parser(StringRef text) : rest(text) {}

  Error run(Module &module) {
    for (;;) {
      rest = rest.ltrim();
      if (rest.empty())
        return Error::success();
      StringRef word = rest.take_until([](char c) { return isSpace(c); });
      if (word == ".version" || word == ".target" || word == ".address_size")
        rest = rest.drop_until([](char c) { return c == '\n'; });
      else if (word == ".visible" || word == ".weak" || word == ".extern" ||
               word == ".common")
        rest = rest.drop_front(word.size());
      else if (rest.consume_front(".entry")) {
        if (Error error = signature(module.kernels.emplace_back()))
          return error;
      } else if (rest.consume_front(".func")) {
        if (Error error = function(module))
          return error;
      } else if (word == ".global" || word == ".const") {
        if (Error error = constant(module.constants.emplace_back()))
          return error;
      } else if (word == ".shared") {
        if (Error error = shared(module))
          return error;
      } else if (word == ".file" || word == ".section")
        return failure("is compiled without debug information", line());
      else
        return failure("no directive that is known", line());
    }
  }

private:
  StringRef line() const {
    return rest.take_until([](char c) { return c == '\n'; });
  }

  /// ".func (.param .b32 result) name(.param .b64 a);", or with a body.
  Error function(Module &module) {
    Function made;
    rest = rest.ltrim();
    if (rest.starts_with("("))
      if (Error error = list(made.results, made.resultBytes))
        return error;
    if (Error error = signature(made))
      return error;
    if (!made.body.empty())
      module.functions.push_back(std::move(made));
    return Error::success();
  }

  Error list(std::vector<Variable> &all, int64_t &bytes);

  Error signature(Function &kernel);

  /// ".shared .align 4 .b8 name[512];", "name[]"
  Error shared(Module &module);

  /// ".global .align 4 .b8 name[2] = {1, 2};"
  Error constant(Constant &made);

  /// ".param .u64 .ptr .align 16 name", ".shared .align 4 .b8 name[512]".
  static Error variable(StringRef text, std::vector<Variable> &all,
                        int64_t &bytes);

  Error body(Function &kernel);

  Error statement(StringRef text, Function &kernel,
                  std::vector<StringMap<std::string>> &scopes);

  /// An operand with the names that its scopes gave.
  static std::string renamed(StringRef operand,
                             ArrayRef<StringMap<std::string>> scopes);

  /// ".reg .b32 %r<9>": %r0 to %r8; ".reg .b32 tmp" in a scope.
  Error registers(StringRef text, Function &kernel,
                  std::vector<StringMap<std::string>> &scopes);

  StringRef rest;
  int scoped = 0;
};

Error Parser::list(std::vector<Variable> &all, int64_t &bytes) {
  size_t end = rest.find(')');
  for (StringRef each : splitOperands(rest.slice(1, end)))
    if (Error error = variable(each, all, bytes))
      return error;
  rest = rest.drop_front(end + 1);
  return Error::success();
}

Error Parser::signature(Function &kernel) {
  rest = rest.ltrim();
  kernel.name =
      rest.take_until([](char c) { return c == '(' || isSpace(c); }).str();
  rest = rest.drop_front(kernel.name.size()).ltrim();
  if (rest.starts_with("("))
    if (Error error = list(kernel.parameters, kernel.parameterBytes))
      return error;
  StringRef directives =
      rest.take_until([](char c) { return c == '{' || c == ';'; });
  rest = rest.drop_front(directives.size());
  size_t at = directives.find(".maxntid");
  if (at != StringRef::npos) {
    kernel.mostThreads = 1;
    StringRef list = directives.drop_front(at + 8).ltrim().take_while(
        [](char c) { return isDigit(c) || c == ',' || c == ' '; });
    for (StringRef each : splitOperands(list)) {
      int64_t number = 0;
      if (each.trim().getAsInteger(10, number))
        return failure("expects numbers of threads", directives);
      kernel.mostThreads *= number;
    }
  }
  if (rest.consume_front(";"))
    return Error::success();
  if (!rest.consume_front("{"))
    return failure("expects a body", kernel.name);
  return body(kernel);
}

Error Parser::shared(Module &module) {
  StringRef text = rest.take_until([](char c) { return c == ';'; }).trim();
  rest = rest.drop_front(rest.find(';') + 1);
  if (!text.consume_back("[]"))
    return variable(text, module.shared, module.sharedBytes);
  module.dynamicShared.push_back(
      text.drop_front(text.find_last_of(" \t") + 1).str());
  return Error::success();
}

Error Parser::variable(StringRef text, std::vector<Variable> &all,
                       int64_t &bytes) {
  SmallVector<StringRef> words;
  SplitString(text, words);
  int64_t size = 0, align = 0;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    StringRef word = words[i];
    if (word == ".align" && words[i + 1].getAsInteger(10, align))
      return failure("expects an alignment", text);
    if (word.consume_front(".") && bitsOf(word))
      size = bitsOf(word) / 8;
  }
  auto [name, count] = words.back().split('[');
  int64_t elements = 1;
  if (size == 0 ||
      (!count.empty() && count.drop_back().getAsInteger(10, elements)))
    return failure("expects a type and a size", text);
  // What .align says of a pointer is what the pointer is a multiple of.
  if (align < size || text.contains(".ptr"))
    align = size;
  bytes = static_cast<int64_t>(alignTo(bytes, align));
  all.push_back({name.str(), bytes, size * elements, size});
  bytes += size * elements;
  return Error::success();
}

std::string Parser::renamed(StringRef operand,
                            ArrayRef<StringMap<std::string>> scopes) {
  auto isOfName = [](char c) {
    return isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
  };
  std::string text;
  while (!operand.empty()) {
    StringRef word = operand.take_while(isOfName);
    std::string name = word.empty() ? operand.take_front().str() : word.str();
    operand = operand.drop_front(name.size());
    for (const StringMap<std::string> &scope : scopes)
      if (auto found = scope.find(name); found != scope.end())
        name = found->second;
    text += name;
  }
  return text;
}

Error Parser::body(Function &kernel) {
  std::vector<StringMap<std::string>> scopes;
  for (;;) {
    rest = rest.ltrim();
    if (rest.empty())
      return failure("a body without an end", kernel.name);
    if (rest.consume_front("{")) {
      scopes.emplace_back();
      continue;
    }
    if (rest.consume_front("}")) {
      if (scopes.empty())
        return Error::success();
      scopes.pop_back();
      continue;
    }
    StringRef word = rest.take_while(
        [](char c) { return isAlnum(c) || c == '_' || c == '$'; });
    if (!word.empty() && rest.drop_front(word.size()).starts_with(":")) {
      kernel.body.emplace_back().label = word.str();
      rest = rest.drop_front(word.size() + 1);
      continue;
    }
    size_t end = rest.find(';');
    if (end == StringRef::npos)
      return failure("a statement without an end", line());
    std::string statement = rest.take_front(end).trim().str();
    rest = rest.drop_front(end + 1);
    if (Error error = this->statement(statement, kernel, scopes))
      return error;
  }
}

Error Parser::statement(StringRef text, Function &kernel,
                        std::vector<StringMap<std::string>> &scopes) {
  if (text.starts_with(".reg"))
    return registers(text, kernel, scopes);
  if (text.starts_with(".shared"))
    return variable(text, kernel.shared, kernel.sharedBytes);
  if (text.starts_with(".local") || text.starts_with(".param")) {
    if (Error error = variable(text, kernel.locals, kernel.localBytes))
      return error;
    // Each call has its own.
    if (!scopes.empty()) {
      std::string &name = kernel.locals.back().name;
      std::string unique = name + "." + std::to_string(++scoped);
      scopes.back()[name] = unique;
      name = unique;
    }
    return Error::success();
  }
  if (text.starts_with(".pragma"))
    return Error::success(); // says how to compile
  if (text.consume_front(".branchtargets")) {
    if (kernel.body.empty() || kernel.body.back().label.empty())
      return failure("expects a label before .branchtargets", text);
    kernel.branchTargets[kernel.body.back().label] = splitOperands(text);
    kernel.body.pop_back();
    return Error::success();
  }
  if (text.starts_with("."))
    return failure("no directive that is known", text);
  Instruction made;
  made.text = text.str();
  if (text.consume_front("@")) {
    made.negated = text.consume_front("!");
    StringRef name = text.take_until([](char c) { return isSpace(c); });
    made.predicate = name.str();
    text = text.drop_front(name.size()).ltrim();
  }
  StringRef opcode = text.take_until([](char c) { return isSpace(c); });
  SmallVector<StringRef> words;
  opcode.split(words, '.', -1, false);
  made.words.assign(words.begin(), words.end());
  made.operands = splitOperands(text.drop_front(opcode.size()));
  for (std::string &operand : made.operands)
    operand = renamed(operand, scopes);
  kernel.body.push_back(std::move(made));
  return Error::success();
}

Error Parser::registers(StringRef text, Function &kernel,
                        std::vector<StringMap<std::string>> &scopes) {
  StringRef list = text.drop_front(StringRef(".reg").size()).ltrim();
  StringRef type = list.take_until([](char c) { return isSpace(c); });
  unsigned bits = bitsOf(type.drop_front());
  if (bits == 0)
    return failure("expects registers of a type", text);
  for (StringRef each : splitOperands(list.drop_front(type.size()))) {
    auto [name, count] = each.split('<');
    int64_t number = 0;
    if (count.empty()) {
      std::string unique = "%" + name.str() + "." + std::to_string(++scoped);
      if (!scopes.empty())
        scopes.back()[name] = unique;
      kernel.registers[scopes.empty() ? name.str() : unique] = bits;
    } else if (count.drop_back().getAsInteger(10, number))
      return failure("expects a number of registers", text);
    for (int64_t i = 0; i < number; ++i)
      kernel.registers[name.str() + std::to_string(i)] = bits;
  }
  return Error::success();
}

Error Parser::constant(Constant &made) {
  StringRef text = rest.take_until([](char c) { return c == ';'; });
  rest = rest.drop_front(text.size() + 1);
  auto [declared, values] = text.split('=');
  std::vector<Variable> all;
  int64_t bytes = 0;
  if (Error error = variable(declared.trim(), all, bytes))
    return error;
  made.name = all[0].name;
  values = values.trim();
  if (values.empty() || declared.contains(".extern"))
    return failure("expects values", text);
  int64_t size = all[0].elementBytes;
  if (values.consume_front("{"))
    values.consume_back("}");
  for (StringRef value : splitOperands(values)) {
    APInt number(64, 0);
    value = value.trim();
    bool negative = value.consume_front("-");
    unsigned radix = 10;
    for (StringRef prefix : {"0f", "0F", "0d", "0D", "0x", "0X"})
      if (value.consume_front(prefix))
        radix = 16;
    value.consume_back("U");
    if (value.getAsInteger(radix, number))
      return failure("expects numbers", text);
    uint64_t bits = number.zextOrTrunc(64).getZExtValue();
    bits = negative ? -bits : bits;
    made.bytes.append(reinterpret_cast<const char *>(&bits), size_t(size));
  }
  made.bytes.resize(size_t(bytes));
  return Error::success();
}

} // namespace

bool waits(const Function &kernel, const Module &module) {
  for (const Instruction &each : kernel.body) {
    if (each.words.empty())
      continue;
    StringRef name = each.name();
    if (name == "bar" || name == "barrier" || name == "shfl" ||
        name == "vote" || name == "redux" || name == "match" || name == "mma" ||
        name == "ldmatrix")
      return true;
    if (name != "call")
      continue;
    for (const Function &callee : module.functions)
      if (is_contained(each.operands, callee.name) &&
          callee.name != kernel.name && waits(callee, module))
        return true;
  }
  return false;
}

Expected<Module> parse(StringRef text) {
  Module module;
  std::string kept = withoutComments(text);
  if (Error error = Parser(kept).run(module))
    return std::move(error);
  return module;
}

} // namespace shardc::test::ptx
