// Fibers for the threads of a block.
#include "EmulatedKernels.h"

#include "LoadedKernels.h"
#include "LowerForHost.h"
#include "codegen/cpu/CompileCpuKernels.h"
#include "codegen/cpu/LinkObjects.h"
#include "test/emulated-cuda/ptx/Blocks.h"
#include "test/emulated-cuda/ptx/HostCode.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <ucontext.h>
#include <vector>

using namespace mlir;

namespace shardc::test {

namespace {

using HostFunction = void (*)(void *const *arguments, EmulatedThread *thread);

constexpr size_t stackBytes = 64 * 1024;

class EmulatedBlock;

struct Fiber : EmulatedThread {
  /// What a thread waits for, or that it has ended.
  enum class State { Runs, Barrier, Shuffle, Ended } state = State::Runs;
  EmulatedBlock *of = nullptr;
  ucontext_t context;
  std::vector<char> stack;
  /// Words that are exchanged: a thread may be one shuffle ahead of another.
  std::array<int32_t, 2> words = {0, 0};
  size_t shuffles = 0;
};

class EmulatedBlock {
public:
  EmulatedBlock(HostFunction function, void *const *arguments, int64_t threads,
                int64_t block, int64_t blocks, int64_t sharedBytes)
      : function(function), arguments(arguments), fibers(threads),
        // Nobody relies on what it holds.
        shared(sharedBytes + 64, char(0xa5)) {
    for (auto [number, fiber] : llvm::enumerate(fibers)) {
      fiber.thread = number;
      fiber.block = block;
      fiber.threads = threads;
      fiber.blocks = blocks;
      auto address = reinterpret_cast<uintptr_t>(shared.data());
      fiber.shared = shared.data() + (64 - address % 64);
      fiber.barrier = barrier;
      fiber.shuffle = shuffle;
      fiber.of = this;
      fiber.stack.resize(stackBytes);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data();
      fiber.context.uc_stack.ss_size = stackBytes;
      fiber.context.uc_link = nullptr;
      auto self = reinterpret_cast<uintptr_t>(&fiber);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(start), 2,
                  static_cast<int>(self >> 32), static_cast<int>(self));
    }
  }

  /// Rounds of all threads until they end.
  llvm::Error run(bool backwards) {
    for (;;) {
      for (size_t i = 0; i < fibers.size(); ++i) {
        Fiber &fiber = fibers[backwards ? fibers.size() - 1 - i : i];
        fiber.state = Fiber::State::Runs;
        swapcontext(&scheduler, &fiber.context);
        if (!problem.empty())
          return llvm::createStringError(problem);
      }
      Fiber::State first = fibers.front().state;
      for (const Fiber &fiber : fibers)
        if (fiber.state != first)
          return llvm::createStringError(
              "thread %d does not wait where thread 0 does", int(fiber.thread));
      if (first == Fiber::State::Ended)
        return llvm::Error::success();
    }
  }

private:
  static void start(unsigned high, unsigned low) {
    auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(high) << 32 | low);
    fiber->of->function(fiber->of->arguments, fiber);
    wait(*fiber, Fiber::State::Ended);
  }
  static void wait(Fiber &fiber, Fiber::State state) {
    fiber.state = state;
    swapcontext(&fiber.context, &fiber.of->scheduler);
  }
  static void barrier(EmulatedThread *thread) {
    wait(*static_cast<Fiber *>(thread), Fiber::State::Barrier);
  }
  static int32_t shuffle(EmulatedThread *thread, int32_t bits,
                         int32_t distance) {
    auto *fiber = static_cast<Fiber *>(thread);
    size_t slot = fiber->shuffles++ % 2;
    fiber->words[slot] = bits;
    wait(*fiber, Fiber::State::Shuffle);
    return fiber->of->fibers[fiber->thread ^ distance].words[slot];
  }

  HostFunction function;
  void *const *arguments;
  std::vector<Fiber> fibers;
  std::vector<char> shared;
  std::string problem;
  ucontext_t scheduler;
};

} // namespace

struct EmulatedKernels::Impl {
  struct Kernel {
    HostFunction function = nullptr;
    int64_t grid = 0, block = 0, sharedBytes = 0;
    ptx::Kernel ofPtx = nullptr;
    bool waits = true;
  };
  llvm::StringMap<Kernel> kernels;
  /// One of the two.
  std::optional<LoadedKernels> library;
  std::optional<ptx::HostCode> code;
};

EmulatedKernels::EmulatedKernels(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
EmulatedKernels::EmulatedKernels(EmulatedKernels &&) = default;
EmulatedKernels::~EmulatedKernels() = default;

llvm::Expected<EmulatedKernels>
EmulatedKernels::compile(mlir::gpu::GPUModuleOp module, StringRef cpuName) {
  auto cpu = cpu::CpuModel::resolve(cpuName);
  if (!cpu)
    return cpu.takeError();
  cpu::loadDialects(module.getContext());
  llvm::StringMap<Impl::Kernel> kernels;
  std::vector<std::string> objects;
  for (auto function : module.getOps<mlir::gpu::GPUFuncOp>()) {
    OwningOpRef<ModuleOp> host = ModuleOp::create(function.getLoc());
    FailureOr<int64_t> bytes = lowerForHost(function, *host, cpu->vectors);
    if (failed(bytes))
      return llvm::createStringError("cannot emulate " + function.getName());
    auto object = cpu::compileObject(*host, *cpu, function.getName());
    if (failed(object))
      return llvm::createStringError("cannot emulate " + function.getName());
    objects.push_back(std::move(*object));
    kernels[function.getName()] = {nullptr, (*function.getKnownGridSize())[0],
                                   (*function.getKnownBlockSize())[0], *bytes};
  }
  auto linked = cpu::linkObjects(objects);
  if (!linked)
    return linked.takeError();
  auto library = LoadedKernels::load(*linked);
  if (!library)
    return library.takeError();
  for (auto &[name, kernel] : kernels)
    kernel.function = reinterpret_cast<HostFunction>(library->find(name.str()));
  return EmulatedKernels(std::unique_ptr<Impl>(
      new Impl{std::move(kernels), std::move(*library), std::nullopt}));
}

llvm::Expected<EmulatedKernels>
EmulatedKernels::fromPtx(const gpu::GpuKernels &compiled) {
  std::vector<ptx::Module> parsed;
  llvm::StringMap<Impl::Kernel> kernels;
  for (const gpu::GpuKernel &kernel : compiled.kernels) {
    if (!kernel.refusal.empty())
      return llvm::createStringError(kernel.symbol + ": " + kernel.refusal);
    auto module = ptx::parse(kernel.ptx);
    if (!module)
      return module.takeError();
    for (const ptx::Function &each : module->kernels)
      kernels[each.name] = {
          nullptr,      kernel.grid,
          kernel.block, module->sharedBytes + each.sharedBytes,
          nullptr,      ptx::waits(each, *module)};
    parsed.push_back(std::move(*module));
  }
  auto code = ptx::HostCode::compile(parsed);
  if (!code)
    return code.takeError();
  for (auto &[name, kernel] : kernels) {
    auto function = code->find(name);
    if (!function)
      return function.takeError();
    kernel.ofPtx = reinterpret_cast<ptx::Kernel>(*function);
  }
  return EmulatedKernels(std::unique_ptr<Impl>(
      new Impl{std::move(kernels), std::nullopt, std::move(*code)}));
}

int64_t EmulatedKernels::grid(StringRef kernel) const {
  return impl->kernels.lookup(kernel).grid;
}

llvm::Error EmulatedKernels::runBlock(StringRef name, void *const *arguments,
                                      int64_t block, bool backwards) const {
  Impl::Kernel kernel = impl->kernels.lookup(name);
  if (kernel.ofPtx) {
    ptx::Grid grid;
    grid.blocks[0] = uint32_t(kernel.grid);
    grid.threads[0] = uint32_t(kernel.block);
    grid.sharedBytes = uint32_t(kernel.sharedBytes);
    grid.waits = kernel.waits;
    grid.backwards = backwards;
    std::string problem =
        ptx::Blocks().runBlock(kernel.ofPtx, arguments, grid, size_t(block));
    if (problem.empty())
      return llvm::Error::success();
    return llvm::createStringError(problem);
  }
  EmulatedBlock threads(kernel.function, arguments, kernel.block, block,
                        kernel.grid, kernel.sharedBytes);
  return threads.run(backwards);
}

} // namespace shardc::test
