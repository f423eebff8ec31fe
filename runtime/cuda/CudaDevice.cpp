// Memory of a GPU, and copies to and from it.
#include "runtime/cuda/CudaDevice.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Tensor.h"
#include "runtime/comm/RankNote.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/Faults.h"
#include "runtime/cuda/OwnKernels.h"
#include "runtime/cuda/attention/CudnnAttention.h"
#include "runtime/cuda/collectives/NcclGroups.h"
#include "runtime/cuda/kernels/Parameters.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shardc::runtime::cuda {

/// How long a rank whose collective has failed listens for another's reason:
/// connections of hosts are found lost within a second.
static constexpr std::chrono::seconds hearingTime{2};

/// The host fills no page that a copy still reads, which an emulated driver
/// watches page by page.
static constexpr int64_t pageBytes = 4096;
static int64_t pages(int64_t bytes) {
  return (bytes + pageBytes - 1) / pageBytes * pageBytes;
}

CudaDevice::CudaDevice(const plan::Plan &plan, const Libraries &libraries,
                       const Images &images, Communicator &communicator,
                       int ordinal, const DeviceOptions &options,
                       TuneFile *tuneFile)
    : plan(plan), context(libraries, ordinal), images(images),
      communicator(communicator), capturesGraphs(options.cudaGraph),
      reduce(options.reduce), attention(options.attention),
      tunes(!options.tune.empty()), tuneFile(tuneFile),
      pool(options.workers, options.spin), say(options.say),
      owner(std::this_thread::get_id()) {
  const Driver &driver = context.driver;
  requireCapability(driver, context.device, plan);
  makeStaging();
  driver.cuStreamCreateWithPriority(&compute, CU_STREAM_NON_BLOCKING, 0);
  driver.cuStreamCreateWithPriority(&otherStream, CU_STREAM_NON_BLOCKING, 0);
  for (CUevent *event : {&uploads[0].done, &uploads[1].done, &down.done,
                         &otherDown.done, &settled[0], &settled[1]})
    driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
  for (CUevent event : settled)
    driver.cuEventRecord(event, compute);
  void *word = nullptr;
  driver.cuMemHostAlloc(&word, sizeof(*progress), CU_MEMHOSTALLOC_PORTABLE);
  progress = static_cast<uint32_t *>(word);
  *progress = 0;
  runNumbers = allocateSmall(sizeof(RunNumbers));
  faults = std::make_unique<Faults>(*this);
  groups = std::make_unique<NcclGroups>(*this);
}

/// All that copies need is there before the first step.
void CudaDevice::makeStaging() {
  // A page for each of the few numbers that a micro-batch has beside its inputs.
  int64_t bytes = 16 * pageBytes;
  for (const plan::Input &input : plan.inputs())
    bytes += pages(elementCount(input.tensor()) *
                   int64_t(elementSize(input.tensor().dtype())));
  for (Staging *staging : {&uploads[0], &uploads[1], &down, &otherDown}) {
    bool isUpload = staging == &uploads[0] || staging == &uploads[1];
    staging->bytes = isUpload ? std::max(bytes, stagingBytes) : stagingBytes;
    context.driver.cuMemHostAlloc(reinterpret_cast<void **>(&staging->memory),
                                  size_t(staging->bytes),
                                  CU_MEMHOSTALLOC_PORTABLE);
  }
}

CudaDevice::~CudaDevice() {
  // From here on no other rank touches this one's memory. What still runs may
  // wait for ranks that are gone: the groups release it.
  communicator.leave();
  groups.reset();
  const Driver &driver = context.driver;
  // After an error all of these fail: the process ends soon.
  driver.cuStreamSynchronize.function(compute);
  driver.cuStreamSynchronize.function(otherStream);
  faults.reset();
  allProducts.reset();
  attentions.reset();
  for (const OwnModule &each : modules)
    driver.cuModuleUnload.function(each.module);
  for (CUdeviceptr address : allocations)
    driver.cuMemFree.function(address);
  for (const NcclMemory &memory : communicated)
    context.libraries.nccl().ncclMemFree(memory.begin);
  for (Staging *staging : {&uploads[0], &uploads[1], &down, &otherDown}) {
    driver.cuMemFreeHost.function(staging->memory);
    driver.cuEventDestroy.function(staging->done);
  }
  for (CUevent event : settled)
    driver.cuEventDestroy.function(event);
  driver.cuMemFreeHost.function(const_cast<uint32_t *>(progress));
  driver.cuStreamDestroy.function(compute);
  driver.cuStreamDestroy.function(otherStream);
}

void CudaDevice::outOfMemory(const std::string &name, int64_t bytes) const {
  fail(context.describe(), " has no ", bytes, " bytes for ", name, ": ",
       context.freeBytes(), " of ", context.totalBytes(),
       " are free; --dry-run says what the plan needs");
}

std::byte *CudaDevice::allocate(const std::string &name, int64_t bytes) {
  if (bytes == 0)
    return nullptr;
  CUdeviceptr address = 0;
  CUresult result = context.driver.cuMemAlloc.function(&address, size_t(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    outOfMemory(name, bytes);
  if (result != CUDA_SUCCESS)
    context.driver.failed(result, "cuMemAlloc");
  allocations.push_back(address);
  context.driver.cuMemsetD8Async(address, 0, size_t(bytes), compute);
  return reinterpret_cast<std::byte *>(address);
}

std::byte *CudaDevice::allocateCommunicated(const std::string &name,
                                            int64_t bytes) {
  if (bytes == 0 || communicator.size() == 1)
    return allocate(name, bytes);
  const Nccl &nccl = context.libraries.nccl();
  void *memory = nullptr;
  ncclResult_t result = nccl.ncclMemAlloc(&memory, size_t(bytes));
  if (result != ncclSuccess && context.freeBytes() < bytes)
    outOfMemory(name, bytes);
  nccl.check(result, "ncclMemAlloc");
  communicated.push_back({memory, size_t(bytes)});
  context.driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(memory), 0,
                                 size_t(bytes), compute);
  return static_cast<std::byte *>(memory);
}

Products &CudaDevice::products() {
  if (!allProducts)
    allProducts = std::make_unique<Products>(*this);
  return *allProducts;
}

CudnnAttention &CudaDevice::cudnnAttention() {
  if (!attentions)
    attentions = std::make_unique<CudnnAttention>(*this);
  return *attentions;
}

void CudaDevice::bound() {
  if (allProducts)
    allProducts->keepTuned();
  if (!say || !attentions || communicator.rank() != 0)
    return;
  if (std::string line = attentions->describe(); !line.empty())
    say(line);
}

std::byte *CudaDevice::allocateShared(Communicator &, const std::string &,
                                      int64_t) {
  return nullptr;
}

CUdeviceptr CudaDevice::allocateSmall(int64_t bytes) {
  return addressOf(allocate("a kernel's tables", bytes));
}

/// An upload is what meets the failure of a kernel that was launched before.
void CudaDevice::upload(std::byte *to, const void *from, int64_t bytes) {
  try {
    if (!transfers.isThere(to))
      return uploadParts(to, from, bytes);
    // Compute waits for every transfer that was begun.
    awaitCompute();
    std::memcpy(to, from, size_t(bytes));
  } catch (const DeviceError &error) {
    failedBefore(error);
  }
}

void CudaDevice::uploadParts(std::byte *to, const void *from, int64_t bytes) {
  const Driver &driver = context.driver;
  auto *source = static_cast<const std::byte *>(from);
  for (int64_t at = 0, part = 0; at < bytes; at += part) {
    Staging *staging = &uploads[filling];
    part = std::min(staging->bytes, bytes - at);
    if (staging->used + part > staging->bytes) {
      driver.cuEventRecord(staging->done, compute);
      filling = 1 - filling;
      staging = &uploads[filling];
      if (staging->used > 0) {
        awaitWith([&] { return driver.cuEventQuery.function(staging->done); },
                  "cuEventQuery");
        driver.cuEventSynchronize(staging->done);
      }
      staging->used = 0;
    }
    std::byte *place = staging->memory + staging->used;
    std::memcpy(place, source + at, size_t(part));
    driver.cuMemcpyHtoDAsync(addressOf(to + at), place, size_t(part), compute);
    staging->used += pages(part);
  }
}

void CudaDevice::downloadIn(CUstream stream, Staging &staging, void *to,
                            const std::byte *from, int64_t bytes) {
  auto *target = static_cast<std::byte *>(to);
  for (int64_t at = 0; at < bytes; at += stagingBytes) {
    auto part = size_t(std::min(stagingBytes, bytes - at));
    context.driver.cuMemcpyDtoHAsync(staging.memory, addressOf(from + at), part,
                                     stream);
    stream == compute ? awaitCompute()
                      : context.driver.cuStreamSynchronize(stream);
    std::memcpy(target + at, staging.memory, part);
  }
}

void CudaDevice::download(void *to, const std::byte *from, int64_t bytes) {
  try {
    if (bytes > 0)
      downloadParts(to, from, bytes);
  } catch (const DeviceError &error) {
    failedBefore(error);
  }
}

void CudaDevice::downloadParts(void *to, const std::byte *from, int64_t bytes) {
  const bool isOwner = std::this_thread::get_id() == owner;
  if (transfers.isThere(from)) {
    if (isOwner)
      awaitCompute();
    std::memcpy(to, from, size_t(bytes));
    return;
  }
  if (isOwner)
    return downloadIn(compute, down, to, from, bytes);
  std::lock_guard lock(otherMutex);
  context.use();
  context.driver.cuStreamWaitEvent(otherStream, settled[lastSettled], 0);
  downloadIn(otherStream, otherDown, to, from, bytes);
}

std::unique_ptr<DeviceProgram> CudaDevice::newProgram() {
  return std::make_unique<CudaProgram>(*this);
}

void CudaDevice::noteWaits(int planEntry, bool waits) {
  context.driver.cuStreamWriteValue32(
      compute, reinterpret_cast<CUdeviceptr>(progress),
      2 * uint32_t(planEntry) + (waits ? 1 : 0), 0);
}

std::string CudaDevice::placeReached() const {
  return running ? running->placeBehind(int(*progress / 2))
                 : "before its first program";
}

void CudaDevice::hearOthers() {
  using namespace std::chrono;
  auto until = steady_clock::now() + hearingTime;
  do {
    communicator.throwIfAborted();
    std::this_thread::sleep_for(milliseconds(5));
  } while (steady_clock::now() < until);
}

void CudaDevice::failed(const std::string &place, const Error &error) {
  if (dynamic_cast<const NcclError *>(&error))
    hearOthers();
  std::string step =
      note ? concat("step ", note->value().step(), " (counting from 0), ") : "";
  throw DeviceError(concat(step, place, ": ", error.what()));
}

void CudaDevice::failedBefore(const DeviceError &error) {
  auto *ofDriver = dynamic_cast<const DriverError *>(&error);
  if (ofDriver && !ofDriver->isOfTheDevice())
    throw;
  failed(placeReached(), error);
}

void CudaDevice::readNote() {
  if (!note)
    return;
  uint32_t word = *progress;
  note->entry(int(word / 2));
  note->waits(word % 2 != 0);
}

void CudaDevice::awaitWith(const std::function<CUresult()> &ask,
                           const char *name) {
  using namespace std::chrono;
  auto begin = steady_clock::now();
  while (groups->haveOthers()) {
    CUresult result = ask();
    if (result == CUDA_SUCCESS)
      break;
    if (result != CUDA_ERROR_NOT_READY)
      context.driver.failed(result, name);
    readNote();
    // What waits for a rank that is gone never ends by itself.
    communicator.throwIfAborted();
    auto waited = steady_clock::now() - begin;
    if (waited < milliseconds(1))
      continue;
    groups->check();
    // What it may find too late is little beside what it has waited for.
    std::this_thread::sleep_for(std::clamp<nanoseconds>(
        waited / 64, microseconds(20), milliseconds(1)));
  }
}

void CudaDevice::awaitCompute() {
  const Driver &driver = context.driver;
  awaitWith([&] { return driver.cuStreamQuery.function(compute); },
            "cuStreamQuery");
  driver.cuStreamSynchronize(compute);
  if (note)
    note->waits(false);
}

void CudaDevice::settleAll() {
  size_t next = 1 - lastSettled;
  // Nobody waits for this one till it is the last.
  context.driver.cuEventRecord(settled[next], compute);
  faults->fetch();
  awaitCompute();
  groups->check();
  faults->check();
  // What was uploaded is there.
  for (Staging &staging : uploads)
    staging.used = 0;
  std::lock_guard lock(otherMutex);
  lastSettled = next;
}

void CudaDevice::settle() {
  try {
    settleAll();
  } catch (const DeviceError &error) {
    failed(placeReached(), error);
  }
}

void CudaDevice::onHost(
    int64_t extent, int64_t grain,
    const std::function<void(int64_t begin, int64_t end)> &body) {
  pool.forRanges(extent, grain,
                 [&](int64_t begin, int64_t end, int) { body(begin, end); });
}

CUfunction CudaDevice::ownKernel(std::string_view file,
                                 const std::string &name) {
  auto found = std::ranges::find(modules, file, &OwnModule::file);
  if (found == modules.end()) {
    std::string ptx = ownKernels(file);
    if (ptx.empty())
      fail("there is no device code called ", file);
    CUmodule module =
        loadModule(context.driver, std::string(file), ptx.c_str());
    found = modules.insert(modules.end(), {std::string(file), module});
  }
  CUfunction function = nullptr;
  if (context.driver.cuModuleGetFunction.function(&function, found->module,
                                                  name.c_str()) != CUDA_SUCCESS)
    fail("there is no kernel ", name, " in the device code called ", file);
  return function;
}

void CudaDevice::launchIn(CUstream stream, CUfunction kernel, const Grid &grid,
                          void **parameters) {
  context.driver.cuLaunchKernel(kernel, grid.blocks, 1, 1, grid.threads, 1, 1,
                                grid.sharedBytes, stream, parameters, nullptr);
}

} // namespace shardc::runtime::cuda
