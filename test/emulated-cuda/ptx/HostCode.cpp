// LLVM's optimizer and its just-in-time compiler.
#include "HostCode.h"

#include "Translate.h"

#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace shardc::test::ptx {

HostCode::HostCode(std::unique_ptr<orc::LLJIT> jit) : jit(std::move(jit)) {}
HostCode::HostCode(HostCode &&) noexcept = default;
HostCode::~HostCode() = default;

static void optimize(llvm::Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O1)
      .run(module, modules);
}

Expected<orc::JITTargetMachineBuilder> hostMachine(bool isKept) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto host = orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setRelocationModel(Reloc::PIC_);
  host->setCodeModel(CodeModel::Small);
  host->setCodeGenOptLevel(isKept ? CodeGenOptLevel::Less
                                  : CodeGenOptLevel::None);
  return host;
}

Expected<std::string> compile(StringRef ptx, bool checked, bool isKept) {
  auto parsed = parse(ptx);
  if (!parsed)
    return parsed.takeError();
  auto host = hostMachine(isKept);
  if (!host)
    return host.takeError();
  auto machine = host->createTargetMachine();
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  llvm::Module module("ptx", context);
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  if (Error error = translate(*parsed, module, checked))
    return std::move(error);
  optimize(module, **machine);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("this machine's code cannot be written");
  passes.run(module);
  return std::string(object.data(), object.size());
}

Expected<HostCode> HostCode::compile(ArrayRef<Module> modules) {
  auto host = hostMachine(false);
  if (!host)
    return host.takeError();
  auto machine = host->createTargetMachine();
  if (!machine)
    return machine.takeError();
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<llvm::Module>("ptx", *context);
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  for (const Module &each : modules)
    if (Error error = translate(each, *module, false))
      return std::move(error);
  optimize(*module, **machine);
  auto jit =
      orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  if (!jit)
    return jit.takeError();
  if (Error error = (*jit)->addIRModule(
          orc::ThreadSafeModule(std::move(module), std::move(context))))
    return std::move(error);
  return HostCode(std::move(*jit));
}

Expected<void *> HostCode::find(StringRef kernel) const {
  auto found = jit->lookup(kernel);
  if (!found)
    return found.takeError();
  return found->toPtr<void *>();
}

} // namespace shardc::test::ptx
