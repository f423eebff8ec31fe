// Control flow and operands. What does the work of an instruction is beside.
#include "Translate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace shardc::test::ptx {

Error translate(const Module &from, llvm::Module &to) {
  LLVMContext &context = to.getContext();
  Type *pointer = PointerType::getUnqual(context);
  Translation::Symbols symbols;
  for (const Constant &each : from.constants) {
    llvm::Constant *bytes =
        ConstantDataArray::getString(context, each.bytes, false);
    auto *variable = new GlobalVariable(to, bytes->getType(), true,
                                        GlobalValue::PrivateLinkage, bytes);
    variable->setAlignment(Align(64));
    symbols[each.name] = variable;
  }
  auto declare = [&](const Function &function, GlobalValue::LinkageTypes how) {
    return llvm::Function::Create(FunctionType::get(Type::getVoidTy(context),
                                                    {pointer, pointer, pointer},
                                                    false),
                                  how, function.name, to);
  };
  for (const Function &each : from.functions)
    symbols[each.name] = declare(each, GlobalValue::InternalLinkage);
  for (const Function &each : from.functions)
    if (Error error =
            Translation(each, cast<llvm::Function>(symbols[each.name]), from,
                        symbols)
                .run())
      return error;
  for (const Function &each : from.kernels)
    if (Error error =
            Translation(each, declare(each, GlobalValue::ExternalLinkage), from,
                        symbols)
                .run())
      return error;
  return Error::success();
}

Translation::Translation(const Function &from, llvm::Function *function,
                         const Module &module, const Symbols &symbols)
    : kernel(from), module(module), symbols(symbols),
      context(function->getContext()), builder(context), function(function) {}

Error Translation::run() {
  Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
  threadType = StructType::get(context, {number, number, pointer, pointer,
                                         pointer, number, number, pointer});
  parameters = function->getArg(0);
  thread = function->getArg(1);
  results = function->getArg(2);
  builder.SetInsertPoint(BasicBlock::Create(context, "", function));
  for (const auto &[name, bits] : kernel.registers) {
    registers[name] = builder.CreateAlloca(builder.getIntNTy(bits));
    // A register that nothing was written to holds anything; this, here.
    builder.CreateStore(builder.getIntN(bits, 0), registers[name]);
  }
  auto bytes = [&](int64_t size) {
    AllocaInst *made = builder.CreateAlloca(
        ArrayType::get(builder.getInt8Ty(), uint64_t(size)));
    made->setAlignment(Align(16));
    return made;
  };
  locals = bytes(kernel.localBytes);
  carry = builder.CreateAlloca(builder.getInt1Ty());
  builder.CreateStore(builder.getFalse(), carry);
  shared = field(Shared);
  for (const Instruction &each : kernel.body) {
    if (!each.label.empty()) {
      BasicBlock *next = blockOf(each.label);
      if (!builder.GetInsertBlock()->getTerminator())
        builder.CreateBr(next);
      builder.SetInsertPoint(next);
      continue;
    }
    // What is behind a branch and has no label is never reached.
    if (builder.GetInsertBlock()->getTerminator())
      builder.SetInsertPoint(BasicBlock::Create(context, "", function));
    if (Error error = instruction(each))
      return error;
  }
  if (!builder.GetInsertBlock()->getTerminator())
    builder.CreateRetVoid();
  std::string text;
  raw_string_ostream stream(text);
  if (verifyFunction(*function, &stream))
    return createStringError("PTX: " + kernel.name + ": " + text);
  return Error::success();
}

Error Translation::instruction(const Instruction &of) {
  problem.clear();
  BasicBlock *behind = nullptr;
  if (!of.predicate.empty()) {
    Value condition = read(of.predicate, 1);
    if (of.negated)
      condition = builder.CreateNot(condition);
    BasicBlock *then = BasicBlock::Create(context, "", function);
    behind = BasicBlock::Create(context, "", function);
    builder.CreateCondBr(condition, then, behind);
    builder.SetInsertPoint(then);
  }
  StringRef name = of.name();
  if (name == "bra")
    builder.CreateBr(blockOf(of.operands[0]));
  else if (name == "ret" || name == "exit")
    builder.CreateRetVoid();
  else if (name == "ld")
    load(of);
  else if (name == "st")
    store(of);
  else if (name == "mov" || name == "cvta")
    move(of);
  else if (name == "bar" || name == "barrier")
    barrier(of);
  else if (name == "shfl")
    shuffle(of);
  else if (name == "call")
    call(of);
  else if (name == "setp")
    compare(of);
  else if (name == "selp")
    select(of);
  else if (name == "cvt")
    convert(of);
  else if (!packedArithmetic(of) && !floatArithmetic(of) && !carrying(of) &&
           !multiply(of) && !shift(of) && !funnelShift(of) &&
           !integerArithmetic(of))
    unknown(of, "");
  if (!problem.empty())
    return createStringError("PTX: " + kernel.name + ": " + problem);
  if (behind) {
    if (!builder.GetInsertBlock()->getTerminator())
      builder.CreateBr(behind);
    builder.SetInsertPoint(behind);
  }
  return Error::success();
}

void Translation::unknown(const Instruction &of, StringRef why) {
  if (problem.empty())
    problem = "'" + of.text + "' is not emulated" +
              (why.empty() ? "" : ": " + why.str());
}

BasicBlock *Translation::blockOf(StringRef label) {
  BasicBlock *&block = blocks[label];
  if (!block)
    block = BasicBlock::Create(context, label, function);
  return block;
}

Value *Translation::field(Field of) {
  return builder.CreateLoad(threadType->getElementType(of),
                            builder.CreateStructGEP(threadType, thread, of));
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
                           {&kernel.shared, shared},
                           {&kernel.locals, locals}})
    if (Value at = variable(name, *all, base))
      return at;
  return nullptr;
}

/// "(result), name, (a, b)": the callee has its parameters side by side.
void Translation::call(const Instruction &of) {
  bool returns = StringRef(of.operands[0]).starts_with("(");
  StringRef name = of.operands[returns];
  const Function *callee = nullptr;
  for (const Function &each : module.functions)
    if (each.name == name)
      callee = &each;
  if (!callee)
    return unknown(of, "there is no such function");
  auto names = [](StringRef operand) {
    SmallVector<StringRef> all;
    operand.drop_front().drop_back().split(all, ',', -1, false);
    return all;
  };
  IRBuilder<> entry(&function->getEntryBlock(),
                    function->getEntryBlock().begin());
  auto *block = entry.CreateAlloca(
      ArrayType::get(entry.getInt8Ty(), uint64_t(callee->parameterBytes)));
  block->setAlignment(Align(16));
  if (of.operands.size() > 1u + returns) {
    SmallVector<StringRef> given = names(of.operands[1 + returns]);
    if (given.size() != callee->parameters.size())
      return unknown(of, "the function has other parameters");
    for (auto [parameter, own] : zip(callee->parameters, given))
      builder.CreateMemCpy(builder.CreateConstGEP1_64(builder.getInt8Ty(),
                                                      block, parameter.offset),
                           MaybeAlign(), place(own.trim()), MaybeAlign(),
                           uint64_t(parameter.bytes));
  }
  Value result = returns ? place(names(of.operands[0]).front().trim())
                         : ConstantPointerNull::get(builder.getPtrTy());
  builder.CreateCall(cast<llvm::Function>(symbols.lookup(name)),
                     {block, thread, result});
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
    Value value =
        builder.CreateLoad(found->second->getAllocatedType(), found->second);
    return builder.CreateZExtOrTrunc(value, type);
  }
  if (operand.starts_with("%")) {
    int index = StringSwitch<int>(operand)
                    .Case("%tid.x", Tid)
                    .Case("%ntid.x", Ntid)
                    .Case("%ctaid.x", Ctaid)
                    .Case("%nctaid.x", Nctaid)
                    .Default(-1);
    if (index >= 0)
      return builder.CreateZExtOrTrunc(field(Field(index)), type);
    // Blocks and threads have one dimension.
    if (operand.starts_with("%tid.") || operand.starts_with("%ctaid."))
      return builder.getIntN(bits, 0);
  } else if (std::optional<APInt> number = numberOf(operand, bits))
    return ConstantInt::get(type, *number);
  else if (Value at = place(operand))
    return builder.CreatePtrToInt(at, type);
  if (problem.empty())
    problem = "'" + operand.str() + "' is no operand that is known";
  return PoisonValue::get(type);
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
  Type *type = found->second->getAllocatedType();
  builder.CreateStore(isSigned ? builder.CreateSExtOrTrunc(value, type)
                               : builder.CreateZExtOrTrunc(value, type),
                      found->second);
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
