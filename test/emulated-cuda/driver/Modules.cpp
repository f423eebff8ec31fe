// Modules of PTX, whose kernels are compiled when they are asked for.
#include "Api.h"
#include "Mutant.h"
#include "Settings.h"

#include "llvm/Support/Error.h"

#include <cstdio>
#include <cstring>

namespace shardc::test::cuda {

namespace {

/// Where the driver's assembler says what is wrong.
struct Log {
  char *text = nullptr;
  size_t bytes = 0;

  void write(const std::string &what) const {
    if (text && bytes)
      std::snprintf(text, bytes, "%s", what.c_str());
  }
};

/// The number behind a directive, ".target sm_90a": 90 and 'a'.
std::optional<int> numberBehind(const std::string &text, const char *directive,
                                char *suffix = nullptr) {
  size_t at = text.find(directive);
  if (at == std::string::npos)
    return std::nullopt;
  int number = 0;
  size_t i = at + std::strlen(directive);
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + (text[i] - '0');
  if (suffix)
    *suffix = i < text.size() ? text[i] : ' ';
  return number;
}

CUresult checkHeader(const std::string &text, const Log &log) {
  char suffix = ' ';
  std::optional<int> version = numberBehind(text, ".version ");
  std::optional<int> target = numberBehind(text, ".target sm_", &suffix);
  if (!version || !target) {
    log.write("PTX needs .version and .target sm_NUMBER");
    return CUDA_ERROR_INVALID_PTX;
  }
  if (*version > 9) {
    log.write("PTX is of version " + std::to_string(*version) +
              ": this driver knows 9");
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  bool isSpecific = suffix == 'a' || suffix == 'f';
  if (*target > settings().capability ||
      (isSpecific && *target != settings().capability)) {
    log.write("PTX for sm_" + std::to_string(*target) +
              (isSpecific ? std::string(1, suffix) : "") +
              " does not run on sm_" + std::to_string(settings().capability));
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  return CUDA_SUCCESS;
}

bool isText(const char *image) {
  while (*image == ' ' || *image == '\n' || *image == '\t' || *image == '\r')
    ++image;
  return *image == '.' || std::strncmp(image, "//", 2) == 0 ||
         std::strncmp(image, "/*", 2) == 0;
}

} // namespace

} // namespace shardc::test::cuda

namespace shardc::cuda {
using namespace shardc::test::cuda;
namespace ptx = shardc::test::ptx;

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                            unsigned options, CUjit_option *names,
                            void **values) {
  SHARDC_ENTER;
  Log log;
  for (unsigned i = 0; i < options; ++i)
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER)
      log.text = static_cast<char *>(values[i]);
    else if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      log.bytes = reinterpret_cast<size_t>(values[i]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  log.write("");
  if (!image)
    return CUDA_ERROR_INVALID_VALUE;
  {
    std::lock_guard lock(driverMutex);
    SHARDC_BREAKS_CAPTURE;
  }
  auto *bytes = static_cast<const char *>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!isText(bytes))
    return CUDA_ERROR_INVALID_IMAGE;
  std::string text = bytes;
  if (CUresult result = checkHeader(text, log); result != CUDA_SUCCESS)
    return result;
  if (std::string wrong = ptx::whatIsWrong(text, settings().cache);
      !wrong.empty()) {
    log.write(wrong);
    return CUDA_ERROR_INVALID_PTX;
  }
  auto made = std::make_unique<CUmod_st>();
  made->context = context;
  made->pieces = llvm::cantFail(ptx::Pieces::of(text));
  std::lock_guard lock(driverMutex);
  *module = shardc::test::cuda::made(made.release());
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (!module || !isLive(module) || module->context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &[name, function] : module->functions)
    forget(function.get());
  destroyed(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  SHARDC_ENTER;
  std::unique_lock lock(driverMutex);
  if (!module || !isLive(module) || module->context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (auto found = module->functions.find(name);
      found != module->functions.end()) {
    *function = found->second.get();
    return CUDA_SUCCESS;
  }
  std::string text = mutatedKernel(name, module->pieces.kernel(name));
  lock.unlock();
  if (text.empty())
    return CUDA_ERROR_NOT_FOUND;
  ptx::LoadedKernel code =
      ptx::loadKernel(text, name, settings().checked, settings().cache);
  if (!code.problem.empty())
    finding("a kernel that was understood cannot be compiled: " + code.problem);
  lock.lock();
  auto &made = module->functions[name];
  if (!made) {
    made = std::make_unique<CUfunc_st>();
    made->context = context;
    made->name = name;
    made->code = code;
    shardc::test::cuda::made(made.get());
  }
  *function = made.get();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (!function || !isLive(function))
    return CUDA_ERROR_INVALID_HANDLE;
  const ptx::KernelFacts &facts = *function->code.facts;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = facts.mostThreads ? int(facts.mostThreads) : 1024;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = int(facts.sharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = int(facts.localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = int(std::min(facts.registers, 255u));
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = int(function->dynamicSharedBytes);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  SHARDC_ENTER;
  std::lock_guard lock(driverMutex);
  if (!function || !isLive(function))
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value < 0 ||
      uint32_t(value) + function->code.facts->sharedBytes > mostSharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  function->dynamicSharedBytes = uint32_t(value);
  return CUDA_SUCCESS;
}

} // extern "C"

} // namespace shardc::cuda
