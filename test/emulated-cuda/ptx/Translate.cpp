// Control flow. What does the work of an instruction is beside.
#include "Translate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace shardc::test::ptx {

/// What a driver asks of a kernel before it launches it, see KernelFacts.
static void appendFacts(const Function &kernel, const Module &from,
                        llvm::Module &to, const Translation::Symbols &symbols) {
  std::vector<uint32_t> words = {
      uint32_t(from.sharedBytes + kernel.sharedBytes),
      uint32_t(kernel.localBytes),
      uint32_t(kernel.registers.size()),
      uint32_t(kernel.mostThreads),
      waits(kernel, from),
      uint32_t(from.constants.size()),
      uint32_t(kernel.parameterBytes),
      uint32_t(kernel.parameters.size())};
  for (const Variable &each : kernel.parameters) {
    words.push_back(uint32_t(each.offset));
    words.push_back(uint32_t(each.bytes));
  }
  llvm::Constant *value = ConstantDataArray::get(to.getContext(), words);
  auto *facts = new GlobalVariable(to, value->getType(), true,
                                   GlobalValue::ExternalLinkage, value,
                                   kernel.name + ".facts");
  facts->setAlignment(Align(16));
  if (from.constants.empty())
    return;
  // As ConstantRange has them.
  LLVMContext &context = to.getContext();
  auto *range = StructType::get(
      context, {PointerType::getUnqual(context), Type::getInt64Ty(context)});
  std::vector<llvm::Constant *> ranges;
  for (const Constant &each : from.constants)
    ranges.push_back(ConstantStruct::get(
        range,
        {symbols.lookup(each.name),
         ConstantInt::get(Type::getInt64Ty(context), each.bytes.size())}));
  llvm::Constant *all =
      ConstantArray::get(ArrayType::get(range, ranges.size()), ranges);
  new GlobalVariable(to, all->getType(), true, GlobalValue::ExternalLinkage,
                     all, kernel.name + ".constants");
}

Error translate(const Module &from, llvm::Module &to, bool checked) {
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
                        symbols, checked)
                .run())
      return error;
  for (const Function &each : from.kernels) {
    appendFacts(each, from, to, symbols);
    if (Error error =
            Translation(each, declare(each, GlobalValue::ExternalLinkage), from,
                        symbols, checked)
                .run())
      return error;
  }
  return Error::success();
}

Translation::Translation(const Function &from, llvm::Function *function,
                         const Module &module, const Symbols &symbols,
                         bool checked)
    : kernel(from), module(module), symbols(symbols), checked(checked),
      context(function->getContext()), builder(context), function(function) {}

Error Translation::run() {
  parameters = function->getArg(0);
  thread = function->getArg(1);
  results = function->getArg(2);
  builder.SetInsertPoint(BasicBlock::Create(context, "", function));
  findRegisters();
  auto bytes = [&](int64_t size) {
    AllocaInst *made = builder.CreateAlloca(
        ArrayType::get(builder.getInt8Ty(), uint64_t(size)));
    made->setAlignment(Align(16));
    return made;
  };
  locals = bytes(kernel.localBytes);
  carry = builder.CreateAlloca(builder.getInt1Ty());
  builder.CreateStore(builder.getFalse(), carry);
  for (const Instruction &each : kernel.body) {
    if (!each.label.empty()) {
      multiples.clear();
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
  else if (name == "brx")
    branchByIndex(of);
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
  else if (name == "cp")
    copyAsync(of);
  else if (name == "membar" || name == "fence")
    ; // Threads run one at a time.
  else if (name == "trap") {
    service(offsetof(Services, trap), builder.getVoidTy(), {statement(of)});
    builder.CreateUnreachable();
  } else if (name == "call")
    call(of);
  else if (name == "setp")
    compare(of);
  else if (name == "selp")
    select(of);
  else if (name == "cvt")
    convert(of);
  else if (!ofWarp(of) && !atomic(of) && !packedArithmetic(of) &&
           !floatArithmetic(of) && !carrying(of) && !multiply(of) &&
           !shift(of) && !funnelShift(of) && !bitArithmetic(of) &&
           !integerArithmetic(of))
    unknown(of, "");
  if (!problem.empty())
    return createStringError("PTX: " + kernel.name + ": " + problem);
  if (behind) {
    if (!builder.GetInsertBlock()->getTerminator())
      builder.CreateBr(behind);
    builder.SetInsertPoint(behind);
    multiples.clear(); // What was found out there may not have been.
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

/// "brx.idx %r1, list": an index that the list does not have is undefined.
void Translation::branchByIndex(const Instruction &of) {
  auto targets = kernel.branchTargets.find(of.operands.back());
  if (targets == kernel.branchTargets.end() || of.operands.size() != 2)
    return unknown(of, "expects a list of .branchtargets");
  BasicBlock *outside = BasicBlock::Create(context, "", function);
  SwitchInst *made = builder.CreateSwitch(read(of.operands[0], 32), outside);
  for (const auto &[index, label] : enumerate(targets->second))
    made->addCase(builder.getInt32(uint32_t(index)), blockOf(label));
  builder.SetInsertPoint(outside);
  service(offsetof(Services, trap), builder.getVoidTy(), {statement(of)});
  builder.CreateUnreachable();
}

Value *Translation::field(size_t offset, Type *type) {
  LoadInst *loaded = builder.CreateLoad(
      type, builder.CreateConstGEP1_64(builder.getInt8Ty(), thread, offset));
  loaded->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
  return loaded;
}

Value *Translation::service(size_t offset, Type *result,
                            ArrayRef<Value> arguments) {
  Value services = field(offsetof(Thread, services), builder.getPtrTy());
  Value called = builder.CreateLoad(
      builder.getPtrTy(),
      builder.CreateConstGEP1_64(builder.getInt8Ty(), services, offset));
  SmallVector<Value> all = {thread};
  all.append(arguments.begin(), arguments.end());
  SmallVector<Type *> types;
  for (Value each : all)
    types.push_back(each->getType());
  return builder.CreateCall(FunctionType::get(result, types, false), called,
                            all);
}

Value *Translation::statement(const Instruction &of) {
  return builder.CreateGlobalString(kernel.name + ": " + of.text);
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

} // namespace shardc::test::ptx
