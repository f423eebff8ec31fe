// NVIDIA's libraries are opened by their sonames, and their functions by name.
#include "runtime/cuda/Libraries.h"

#include "runtime/base/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace shardc::runtime::cuda {
namespace {

/// The oldest driver and NCCL that have all that is called, and the oldest cuDNN
/// whose masks may be -inf.
constexpr int oldestDriver = 12000, oldestNccl = 22800, oldestCudnn = 91000;

std::string versionText(int version) {
  return concat(version / 1000, ".", version % 1000 / 10);
}
/// Of NCCL and of cuDNN.
std::string longVersionText(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// The folders in which PyPI's packages of NVIDIA have libraries, of the
/// environments of Python that this process was started in.
std::vector<std::string> packageFolders() {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char *root = std::getenv(variable);
    if (!root)
      continue;
    std::error_code error;
    for (const fs::directory_entry &python :
         fs::directory_iterator(fs::path(root) / "lib", error))
      for (const fs::directory_entry &package : fs::directory_iterator(
               python.path() / "site-packages" / "nvidia", error))
        folders.push_back((package.path() / "lib").string());
  }
  return folders;
}

/// Opens the first of the sonames that is anywhere; `remedy`: how one gets it.
void *open(const std::vector<std::string> &names, const char *remedy) {
  std::string problem;
  for (const std::string &name : names) {
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    if (problem.empty())
      problem = dlerror();
    for (const std::string &folder : packageFolders())
      if (void *library =
              dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
  }
  fail(problem, "; ", remedy);
}

template <typename Function>
void find(void *library, const char *symbol, Function &function,
          const char *remedy) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!function)
    fail("no ", symbol, " in the library that is here; ", remedy);
}

constexpr const char *driverRemedy =
    "install NVIDIA's driver (of CUDA 12.0 or later), or run on processors "
    "(--device cpu)";
constexpr const char *blasLtRemedy =
    "install cuBLAS of CUDA 12 or 13 (Debian: NVIDIA's libcublas packages; "
    "PyPI: nvidia-cublas), or name its folder in LD_LIBRARY_PATH";
constexpr const char *cudnnRemedy =
    "install cuDNN 9.10 or later (Debian: NVIDIA's libcudnn9 packages; PyPI: "
    "nvidia-cudnn-cu13), name its folder in LD_LIBRARY_PATH, or take the "
    "trainer's own kernels (--attention own)";
constexpr const char *ncclRemedy =
    "install NCCL 2.28 or later (NVIDIA's libnccl2; PyPI: nvidia-nccl-cu13), "
    "or name its folder in LD_LIBRARY_PATH";

} // namespace

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName.function(result, &name) != CUDA_SUCCESS || !name)
    return concat("error ", result);
  if (cuGetErrorString.function(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return concat(name, ": ", text);
}

void Driver::failed(CUresult result, const char *function) const {
  throw DriverError(result, concat(function, ": ", describe(result)));
}

void BlasLt::check(cublasStatus_t status, const char *function) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(function, ": ", cublasLtGetStatusString(status));
}

std::string Cudnn::describe() const {
  return concat("cuDNN ", longVersionText(version));
}

void Cudnn::check(cudnnStatus_t status, const char *function) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnError(concat(function, ": ", cudnnGetErrorString(status)));
}

void Nccl::check(ncclResult_t result, const char *function,
                 ncclComm_t comm) const {
  if (result == ncclSuccess)
    return;
  const char *more = ncclGetLastError(comm);
  throw NcclError(concat(function, ": ", ncclGetErrorString(result),
                         more && *more ? concat(": ", more) : ""));
}

Libraries::Libraries() {
  void *library = open({"libcuda.so.1"}, driverRemedy);
#define SHARDC_FIND(call, symbol, arguments)                                   \
  find(library, #symbol, driver.call.function, driverRemedy);                  \
  driver.call.name = #call;                                                    \
  driver.call.driver = &driver;
  SHARDC_CUDA_DRIVER(SHARDC_FIND)
#undef SHARDC_FIND
  driver.cuDriverGetVersion(&driver.version);
  if (driver.version < oldestDriver)
    fail("the NVIDIA driver is one of CUDA ", versionText(driver.version),
         ", which is older than ", versionText(oldestDriver), "; ",
         driverRemedy);
  CUresult result = driver.cuInit.function(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    fail("there is an NVIDIA driver here, and no GPU; look at nvidia-smi and "
         "CUDA_VISIBLE_DEVICES, or run on processors (--device cpu)");
  if (result != CUDA_SUCCESS)
    driver.failed(result, "cuInit");
}

const BlasLt &Libraries::blasLt() const {
  std::call_once(blasLtOnce, [&] {
    void *library =
        open({"libcublasLt.so.13", "libcublasLt.so.12"}, blasLtRemedy);
#define SHARDC_FIND(result, name, arguments)                                   \
  find(library, #name, blasLtFunctions.name, blasLtRemedy);
    SHARDC_CUDA_BLASLT(SHARDC_FIND)
#undef SHARDC_FIND
  });
  return blasLtFunctions;
}

Cudnn openCudnn() {
  void *library = open({"libcudnn.so.9"}, cudnnRemedy);
  Cudnn functions;
#define SHARDC_FIND(result, name, arguments)                                   \
  find(library, #name, functions.name, cudnnRemedy);
  SHARDC_CUDA_CUDNN(SHARDC_FIND)
#undef SHARDC_FIND
  functions.version = int(functions.cudnnGetVersion());
  if (functions.version < oldestCudnn)
    fail("cuDNN is ", longVersionText(functions.version),
         ", which is older than ", longVersionText(oldestCudnn), "; ",
         cudnnRemedy);
  return functions;
}

const Cudnn &Libraries::cudnn() const {
  std::call_once(cudnnOnce, [&] { cudnnFunctions = openCudnn(); });
  return cudnnFunctions;
}

const Nccl &Libraries::nccl() const {
  std::call_once(ncclOnce, [&] {
    void *library = open({"libnccl.so.2"}, ncclRemedy);
    int version = 0;
    find(library, "ncclGetVersion", ncclFunctions.ncclGetVersion, ncclRemedy);
    ncclFunctions.ncclGetVersion(&version);
    if (version < oldestNccl)
      fail("NCCL is ", longVersionText(version), ", which is older than ",
           longVersionText(oldestNccl), "; ", ncclRemedy);
#define SHARDC_FIND(result, name, arguments)                                   \
  find(library, #name, ncclFunctions.name, ncclRemedy);
    SHARDC_CUDA_NCCL(SHARDC_FIND)
#undef SHARDC_FIND
  });
  return ncclFunctions;
}

} // namespace shardc::runtime::cuda
