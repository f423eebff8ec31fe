// Operands: registers, numbers, names and addresses.
#include "Translate.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace shardc::test::ptx {

/// Calls `use` with each word of an operand that may be a register.
static void forEachWord(StringRef operand, function_ref<void(StringRef)> use) {
  auto isPart = [](char c) {
    return isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
  };
  while (!operand.empty()) {
    StringRef word = operand.take_while(isPart);
    if (!word.empty())
      use(word);
    operand = operand.drop_front(word.size()).drop_until(isPart);
  }
}

/// Finds the registers that one block alone mentions, which are nearly all: they
/// need no variable, of which LLVM would make values again.
void Translation::findRegisters() {
  StringMap<size_t> lastBlock;
  for (const auto &[name, bits] : kernel.registers)
    registers[name].bits = bits;
  size_t block = 0;
  auto mention = [&](StringRef word, bool always) {
    auto found = registers.find(word);
    if (found == registers.end())
      return;
    size_t &last = lastBlock.try_emplace(word, block).first->second;
    if (last != block || !always)
      found->second.isOfOneBlock = false;
  };
  for (const Instruction &each : kernel.body) {
    if (!each.label.empty()) {
      ++block;
      continue;
    }
    bool always = each.predicate.empty();
    for (const std::string &operand : each.operands)
      forEachWord(operand, [&](StringRef word) { mention(word, always); });
    if (!always)
      mention(each.predicate, true);
    // What is behind it is reached from here alone, and still another block.
    if (StringRef name = each.name();
        name == "bra" || name == "brx" || name == "ret" || name == "exit")
      ++block;
  }
}

/// Of a register that several blocks mention, or that is read before it is
/// written.
Value *Translation::variableOf(Register &of) {
  if (of.variable)
    return of.variable;
  BasicBlock &first = function->getEntryBlock();
  IRBuilder<> entry(&first, first.begin());
  of.variable = entry.CreateAlloca(entry.getIntNTy(of.bits));
  // A register that nothing was written to holds anything; this, here.
  entry.CreateStore(entry.getIntN(of.bits, 0), of.variable);
  return of.variable;
}

Value *Translation::variable(StringRef name, const std::vector<Variable> &all,
                             Value base) {
  for (const Variable &each : all)
    if (each.name == name)
      return builder.CreateConstGEP1_64(builder.getInt8Ty(), base, each.offset);
  return nullptr;
}

Value *Translation::place(StringRef name) {
  if (auto found = symbols.find(name); found != symbols.end())
    return found->second;
  for (auto [all, base] : {std::pair(&kernel.parameters, parameters),
                           {&kernel.results, results},
                           {&kernel.locals, locals}})
    if (Value at = variable(name, *all, base))
      return at;
  auto isIn = [&](const std::vector<Variable> &all) {
    return any_of(all, [&](const Variable &each) { return each.name == name; });
  };
  Type *pointer = builder.getPtrTy();
  if (is_contained(module.dynamicShared, name))
    return field(offsetof(Thread, dynamicShared), pointer);
  if (!isIn(module.shared) && !isIn(kernel.shared))
    return nullptr;
  Value shared = field(offsetof(Thread, shared), pointer);
  if (Value at = variable(name, module.shared, shared))
    return at;
  return variable(name, kernel.shared,
                  builder.CreateConstGEP1_64(builder.getInt8Ty(), shared,
                                             module.sharedBytes));
}

static std::optional<APInt> numberOf(StringRef text, unsigned bits) {
  APInt number;
  bool negative = text.consume_front("-");
  if (text.starts_with_insensitive("0f") || text.starts_with_insensitive("0d"))
    text = text.drop_front(2);
  else if (text.starts_with_insensitive("0x")) {
    text = text.drop_front(2);
    text.consume_back("U");
  } else {
    text.consume_back("U");
    if (text.empty() || text.getAsInteger(10, number))
      return std::nullopt;
    number = number.zextOrTrunc(bits);
    return negative ? -number : number;
  }
  if (text.getAsInteger(16, number))
    return std::nullopt;
  return number.zextOrTrunc(bits);
}

Value *Translation::read(StringRef operand, unsigned bits) {
  Type *type = builder.getIntNTy(bits);
  if (auto found = registers.find(operand); found != registers.end()) {
    Register &from = found->second;
    if (from.variable || !from.value)
      return builder.CreateZExtOrTrunc(
          builder.CreateLoad(builder.getIntNTy(from.bits), variableOf(from)),
          type);
    return builder.CreateZExtOrTrunc(from.value, type);
  }
  if (operand.starts_with("%")) {
    if (Value special = specialRegister(operand, bits))
      return special;
  } else if (std::optional<APInt> number = numberOf(operand, bits))
    return ConstantInt::get(type, *number);
  else if (Value at = place(operand))
    return builder.CreatePtrToInt(at, type);
  if (problem.empty())
    problem = "'" + operand.str() + "' is no operand that is known";
  return PoisonValue::get(type);
}

Value *Translation::specialRegister(StringRef name, unsigned bits) {
  Type *word = builder.getInt32Ty();
  auto result = [&](Value value) {
    return builder.CreateZExtOrTrunc(value, builder.getIntNTy(bits));
  };
  auto [base, dim] = name.rsplit('.');
  size_t offset = StringSwitch<size_t>(base)
                      .Case("%tid", offsetof(Thread, tid))
                      .Case("%ntid", offsetof(Thread, ntid))
                      .Case("%ctaid", offsetof(Thread, ctaid))
                      .Case("%nctaid", offsetof(Thread, nctaid))
                      .Default(-1);
  if (offset != size_t(-1) && dim.size() == 1 && dim[0] >= 'x' && dim[0] <= 'z')
    return result(field(offset + size_t(dim[0] - 'x') * 4, word));
  auto of = [&](size_t offset, unsigned dim) {
    return field(offset + dim * 4, word);
  };
  // The thread's number in its block; warps are 32 of them side by side.
  auto number = [&] {
    return builder.CreateAdd(
        of(offsetof(Thread, tid), 0),
        builder.CreateMul(
            of(offsetof(Thread, ntid), 0),
            builder.CreateAdd(
                of(offsetof(Thread, tid), 1),
                builder.CreateMul(of(offsetof(Thread, ntid), 1),
                                  of(offsetof(Thread, tid), 2)))));
  };
  if (name == "%warpid")
    return result(builder.CreateLShr(number(), 5));
  bool isMask = name.consume_front("%lanemask_");
  if (!isMask && name != "%laneid")
    return nullptr;
  Value lane = builder.CreateAnd(number(), 31);
  if (!isMask)
    return result(lane);
  Value own = builder.CreateShl(builder.getInt32(1), lane);
  Value below = builder.CreateSub(own, builder.getInt32(1));
  Value mask = name == "eq"   ? own
               : name == "lt" ? below
               : name == "le" ? builder.CreateOr(below, own)
               : name == "ge" ? builder.CreateNot(below)
               : name == "gt" ? builder.CreateNot(builder.CreateOr(below, own))
                              : nullptr;
  return mask ? result(mask) : nullptr;
}

void Translation::write(StringRef operand, Value value, bool isSigned) {
  if (operand == "_")
    return;
  auto found = registers.find(operand);
  if (found == registers.end()) {
    if (problem.empty())
      problem = "'" + operand.str() + "' is no register";
    return;
  }
  Register &to = found->second;
  Type *type = builder.getIntNTy(to.bits);
  value = isSigned ? builder.CreateSExtOrTrunc(value, type)
                   : builder.CreateZExtOrTrunc(value, type);
  multiples.erase(operand);
  if (to.isOfOneBlock && !to.variable)
    to.value = value;
  else
    builder.CreateStore(value, variableOf(to));
}

SmallVector<std::string, 8> Translation::parts(StringRef operand) {
  SmallVector<std::string, 8> all;
  if (!operand.consume_front("{")) {
    all.push_back(operand.str());
    return all;
  }
  SmallVector<StringRef> pieces;
  operand.drop_back().split(pieces, ',');
  for (StringRef piece : pieces)
    all.push_back(piece.trim().str());
  return all;
}

Value *Translation::address(StringRef operand) {
  StringRef text = operand;
  text.consume_front("[");
  text.consume_back("]");
  // "%rd1+16", "%rd1+-16"
  auto [base, offset] = text.split('+');
  base = base.trim();
  int64_t bytes = 0;
  if (!offset.empty() && offset.trim().getAsInteger(10, bytes)) {
    if (problem.empty())
      problem = "'" + operand.str() + "' is no address that is known";
    return PoisonValue::get(builder.getPtrTy());
  }
  Value at = place(base);
  if (!at)
    at = builder.CreateIntToPtr(read(base, 64), builder.getPtrTy());
  return builder.CreateConstGEP1_64(builder.getInt8Ty(), at, bytes);
}

} // namespace shardc::test::ptx
