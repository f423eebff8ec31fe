// LLVM's linker for code in memory, behind the translation.
#include "Loader.h"

#include "HostCode.h"
#include "Translate.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Host.h"

#include <cmath>
#include <cstring>
#include <mutex>

using namespace llvm;

namespace shardc::test::ptx {

namespace {

/// What LLVM calls for what a processor has no instruction for.
orc::SymbolMap mathSymbols(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported |
                                              JITSymbolFlags::Callable};
  };
#define MATH1(name)                                                            \
  add(#name, static_cast<double (*)(double)>(::name));                         \
  add(#name "f", static_cast<float (*)(float)>(::name##f));
  MATH1(exp2)
  MATH1(log2)
  MATH1(sin)
  MATH1(cos)
  MATH1(tanh)
  MATH1(sqrt)
  MATH1(trunc)
  MATH1(floor)
  MATH1(ceil)
  MATH1(rint)
  MATH1(roundeven)
#undef MATH1
  add("fma", static_cast<double (*)(double, double, double)>(::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(::fmaf));
  add("fmin", static_cast<double (*)(double, double)>(::fmin));
  add("fminf", static_cast<float (*)(float, float)>(::fminf));
  add("fmax", static_cast<double (*)(double, double)>(::fmax));
  add("fmaxf", static_cast<float (*)(float, float)>(::fmaxf));
  add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(::memcpy));
  add("memmove",
      static_cast<void *(*)(void *, const void *, size_t)>(::memmove));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(::memset));
  return symbols;
}

class Loader {
public:
  static Loader &instance() {
    // Never taken down: streams' threads may still run its code at the end.
    static Loader *loader = new Loader;
    return *loader;
  }

  Expected<LoadedKernel> load(const std::string &text, const std::string &name,
                              bool checked, const std::string &folder) {
    std::lock_guard lock(mutex);
    std::string key = keyOf(text + (checked ? "\nchecked " : "\n") + name);
    if (auto found = loaded.find(key); found != loaded.end())
      return found->second;
    std::unique_ptr<MemoryBuffer> object;
    std::string path = folder.empty() ? "" : folder + "/" + key + ".o";
    if (!path.empty())
      if (auto file = MemoryBuffer::getFile(path, false, false))
        object = std::move(*file);
    if (!object) {
      auto compiled = compile(text, checked, !path.empty());
      if (!compiled)
        return compiled.takeError();
      keep(path, *compiled);
      object = MemoryBuffer::getMemBufferCopy(*compiled, name);
    }
    if (Error error = start())
      return std::move(error);
    auto library = jit->createJITDylib(key);
    if (!library)
      return library.takeError();
    library->addToLinkOrder(*math);
    if (Error error = jit->addObjectFile(*library, std::move(object)))
      return std::move(error);
    auto function = jit->lookup(*library, name);
    if (!function)
      return function.takeError();
    auto facts = jit->lookup(*library, name + ".facts");
    if (!facts)
      return facts.takeError();
    LoadedKernel made;
    made.function = function->toPtr<Kernel>();
    made.facts = facts->toPtr<const KernelFacts *>();
    if (made.facts->constants) {
      auto constants = jit->lookup(*library, name + ".constants");
      if (!constants)
        return constants.takeError();
      made.constants = constants->toPtr<const ConstantRange *>();
    }
    return loaded[key] = made;
  }

  Error check(const std::string &text, const std::string &folder) {
    std::lock_guard lock(mutex);
    std::string key = keyOf(text + "\nunderstood");
    if (loaded.count(key))
      return Error::success();
    std::string path = folder.empty() ? "" : folder + "/" + key + ".ok";
    if (path.empty() || !sys::fs::exists(path)) {
      auto module = parse(text);
      if (!module)
        return module.takeError();
      LLVMContext context;
      llvm::Module translated("ptx", context);
      if (Error error = translate(*module, translated, true))
        return error;
      keep(path, "");
    }
    loaded[key] = {};
    return Error::success();
  }

private:
  /// Whoever reads a file sees all of it. Nothing depends on its being there.
  static void keep(const std::string &path, StringRef bytes) {
    if (path.empty())
      return;
    int file = -1;
    SmallString<128> temporary;
    if (sys::fs::create_directories(sys::path::parent_path(path)))
      return;
    if (sys::fs::createUniqueFile(path + ".%%%%%%%%", file, temporary))
      return;
    {
      raw_fd_ostream stream(file, true);
      stream << bytes;
    }
    if (sys::fs::rename(temporary, path))
      sys::fs::remove(temporary);
  }

  std::string keyOf(StringRef text) {
    if (machine.empty()) {
      machine = (sys::getHostCPUName() + " " LLVM_VERSION_STRING " " +
                 Twine(translationVersion))
                    .str();
      for (const auto &[feature, has] : sys::getHostCPUFeatures())
        if (has)
          machine += "," + feature.str();
    }
    std::string all = machine + "\n" + text.str();
    XXH128_hash_t hash = xxh3_128bits(ArrayRef<uint8_t>(
        reinterpret_cast<const uint8_t *>(all.data()), all.size()));
    return utohexstr(hash.high64, true, 16) + utohexstr(hash.low64, true, 16);
  }

  Error start() {
    if (jit)
      return Error::success();
    auto host = hostMachine(true);
    if (!host)
      return host.takeError();
    auto made = orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(*host))
                    .setPlatformSetUp(orc::setUpInactivePlatform)
                    .setLinkProcessSymbolsByDefault(false)
                    .create();
    if (!made)
      return made.takeError();
    jit = std::move(*made);
    auto library = jit->createJITDylib("math");
    if (!library)
      return library.takeError();
    math = &*library;
    return math->define(orc::absoluteSymbols(mathSymbols(*jit)));
  }

  std::mutex mutex;
  std::string machine;
  std::unique_ptr<orc::LLJIT> jit;
  orc::JITDylib *math = nullptr;
  std::map<std::string, LoadedKernel> loaded;
};

} // namespace

LoadedKernel loadKernel(const std::string &text, const std::string &name,
                        bool checked, const std::string &folder) {
  auto kernel = Loader::instance().load(text, name, checked, folder);
  if (!kernel)
    return {nullptr, nullptr, nullptr, toString(kernel.takeError())};
  return *kernel;
}

std::string whatIsWrong(const std::string &text, const std::string &folder) {
  Error error = Loader::instance().check(text, folder);
  return error ? toString(std::move(error)) : "";
}

} // namespace shardc::test::ptx
