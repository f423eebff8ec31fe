// The device that is one NVIDIA GPU: memory of its own, a stream that computes,
// and entries that are enqueued there in their order.
#ifndef SHARDC_RUNTIME_CUDA_CUDADEVICE_H
#define SHARDC_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/base/ThreadPool.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/HostTransfers.h"
#include "runtime/cuda/Images.h"
#include "runtime/cuda/products/Products.h"
#include "runtime/device/Device.h"
#include "runtime/device/Platform.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shardc::runtime::cuda {

class CudaProgram;
class CudnnAttention;
class Faults;
class NcclGroups;
struct NcclMemory;
class TuneFile;

/// The driver's name of memory on a device.
inline CUdeviceptr addressOf(const std::byte *memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

/// Blocks of threads, in one dimension, and the bytes of shared memory that a
/// launch adds to a kernel's own.
struct Grid {
  unsigned blocks = 1, threads = 1, sharedBytes = 0;
};

class CudaDevice final : public Device {
public:
  /// `plan`, `libraries`, `images` and `communicator` must outlive the device.
  /// The thread that makes it is the one that uses it. `ordinal`: the GPU's.
  /// `tuneFile`: of rank 0, where there is one.
  CudaDevice(const plan::Plan &plan, const Libraries &libraries,
             const Images &images, Communicator &communicator, int ordinal,
             const DeviceOptions &options, TuneFile *tuneFile = nullptr);
  ~CudaDevice() override;

  std::byte *allocate(const std::string &name, int64_t bytes) override;
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override;
  /// Is always null: no two devices work on one memory.
  std::byte *allocateShared(Communicator &group, const std::string &name,
                            int64_t bytes) override;
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return transfers.allocate(name, bytes);
  }
  void touch(std::byte *, int64_t) override {}
  void upload(std::byte *to, const void *from, int64_t bytes) override;
  void download(void *to, const std::byte *from, int64_t bytes) override;
  std::unique_ptr<DeviceProgram> newProgram() override;
  void settle() override;
  bool runsBesideHost() const override { return true; }
  /// Is false: entries are then launched one by one, and not as a graph.
  bool timesEntriesForFree() const override { return false; }
  void bound() override;
  void
  onHost(int64_t extent, int64_t grain,
         const std::function<void(int64_t begin, int64_t end)> &body) override;

  // Bound entries use these.

  /// A kernel of runtime/cuda/kernels/<file>.cu. Throws an Error where there is
  /// none of that name. To be asked for while binding: a file's first kernel
  /// loads them all.
  CUfunction ownKernel(std::string_view file, const std::string &name);
  /// Enqueues a kernel that takes `parameters`, one struct by value.
  template <typename Parameters>
  void launch(CUfunction kernel, const Grid &grid, Parameters &parameters) {
    void *each[] = {&parameters};
    launch(kernel, grid, static_cast<void **>(each));
  }
  /// The same; `parameters` points to each of its parameters.
  void launch(CUfunction kernel, const Grid &grid, void **parameters) {
    launchIn(compute, kernel, grid, parameters);
  }
  void launchIn(CUstream stream, CUfunction kernel, const Grid &grid,
                void **parameters);
  /// Memory that is allocated while binding, beside the plan's: small, and
  /// zeros.
  CUdeviceptr allocateSmall(int64_t bytes);

  const plan::Plan &plan;
  Context context;
  const Images &images;
  Communicator &communicator;
  /// What the run's flags say.
  const bool capturesGraphs;
  const Reduce reduce;
  const AttentionBy attention;
  const bool tunes; // products
  TuneFile *const tuneFile;
  CUstream compute = nullptr;
  StepNumbers numbers; // of the micro-batch that is enqueued
  /// Its RunNumbers (kernels/Parameters.h), in the device's memory.
  CUdeviceptr runNumbers = 0;
  std::unique_ptr<Faults> faults;
  /// Enqueues what tells the host where the rank is: before it waits for others,
  /// in an entry of the plan, and behind it. The host looks while it waits.
  void noteWaits(int planEntry, bool waits);
  /// Where in the program that runs the device has come to, for an error.
  std::string placeReached() const;
  /// Throws a DeviceError that adds the step and `place`. What a collective has
  /// found may be the end of another rank, which says more: it is waited for.
  [[noreturn]] void failed(const std::string &place, const Error &error);
  /// The same of a call that meets what was launched before it, with the place
  /// that the device has come to. An error of the call's own is thrown again as
  /// it is: to be called where it is caught.
  [[noreturn]] void failedBefore(const DeviceError &error);
  /// Waits a while for an Aborted of another rank, which it throws.
  void hearOthers();
  CudaProgram *running = nullptr;
  RankNote *note = nullptr; // of the program that runs
  /// Made when a product is bound first: that opens the library.
  Products &products();
  /// Made when attention is bound first.
  CudnnAttention &cudnnAttention();
  std::unique_ptr<NcclGroups> groups;
  HostTransfers transfers{*this};
  /// What groups have windows on.
  std::vector<NcclMemory> communicated;

private:
  /// Pinned memory that copies go through. Uploads lie side by side in one of two
  /// until it is full; `done`: its last copy is. Each has room for all that a
  /// micro-batch uploads, so that the host fills one while the device may still
  /// wait to copy from the other.
  struct Staging {
    std::byte *memory = nullptr;
    CUevent done = nullptr;
    int64_t bytes = 0, used = 0;
  };
  [[noreturn]] void outOfMemory(const std::string &name, int64_t bytes) const;
  struct OwnModule {
    std::string file;
    CUmodule module;
  };
  /// Returns when all that was begun is done; also throws where a rank that this
  /// one waits for has given up.
  void awaitCompute();
  /// The same of what `ask` asks the driver, by its function `name`.
  void awaitWith(const std::function<CUresult()> &ask, const char *name);
  void makeStaging();
  void settleAll();
  void uploadParts(std::byte *to, const void *from, int64_t bytes);
  void downloadParts(void *to, const std::byte *from, int64_t bytes);
  void readNote();
  void downloadIn(CUstream stream, Staging &staging, void *to,
                  const std::byte *from, int64_t bytes);

  ThreadPool pool;
  std::unique_ptr<Products> allProducts;
  std::unique_ptr<CudnnAttention> attentions;
  std::function<void(const std::string &)> say;
  /// Pinned: twice the entry, and 1 while it waits there.
  volatile uint32_t *progress = nullptr;
  std::vector<OwnModule> modules;
  std::vector<CUdeviceptr> allocations;
  static constexpr int64_t stagingBytes = int64_t(4) << 20;
  std::array<Staging, 2> uploads;
  size_t filling = 0; // of uploads
  Staging down;
  /// Another thread's downloads: behind what the device's own thread has seen
  /// settled, and beside what runs.
  std::mutex otherMutex;
  Staging otherDown;
  CUstream otherStream = nullptr;
  std::array<CUevent, 2> settled = {};
  size_t lastSettled = 0;
  std::thread::id owner;
};

} // namespace shardc::runtime::cuda

#endif
