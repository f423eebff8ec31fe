// Entries that are bound to a GPU, enqueued one by one or as a captured graph.
#ifndef SHARDC_RUNTIME_CUDA_CUDAPROGRAM_H
#define SHARDC_RUNTIME_CUDA_CUDAPROGRAM_H

#include "runtime/cuda/bind/Bind.h"

#include <map>
#include <set>
#include <tuple>

namespace shardc::runtime::cuda {

class CudaProgram final : public DeviceProgram {
public:
  explicit CudaProgram(CudaDevice &device) : device(device) {}
  ~CudaProgram() override;

  void add(PlacedEntry entry) override;
  int64_t size() const override { return std::ssize(entries); }
  /// A range's first run, of each kind of micro-batch, is enqueued entry by
  /// entry: libraries then make ready what they need. Its second is captured,
  /// and later ones are launches of that graph. With a clock, and where
  /// the run has no graphs, entries are always enqueued one by one.
  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measured) override;

  /// Names the entries that the device may be at, where it has last noted an
  /// entry of the plan.
  std::string placeBehind(int planEntry) const;

private:
  /// Each so many entries the device notes where it is, which takes a
  /// microsecond.
  static constexpr int64_t notedEvery = 8;
  struct Bound {
    Task task;
    int planEntry;
    Turn turn;
    std::string place;
    std::string nodes; // as PlacedEntry has them
    /// "plan entry NAME (train, forward), ONNX node A"
    std::string describe() const {
      return nodes.empty() ? place : place + ", " + nodes;
    }
  };
  /// The kinds of micro-batches: what entries decide by it when they are
  /// enqueued.
  struct Variant {
    int64_t begin, end;
    bool isFirst, isLast;
    auto operator<=>(const Variant &) const = default;
  };
  struct Capture {
    int64_t runs = 0;
    CUgraphExec graph = nullptr;
  };
  void upload(const StepNumbers &numbers);
  void enqueue(int64_t begin, int64_t end);
  void enqueueTimed(int64_t begin, int64_t end, Measurements &measured);
  CUgraphExec capture(int64_t begin, int64_t end);

  CudaDevice &device;
  std::vector<Bound> entries;
  /// Collectives that are started and not waited for, in all of the program, and
  /// whether it waits for some that it does not start.
  std::set<uint32_t> open;
  bool awaitsOthers = false;
  std::map<Variant, Capture> captures;
  std::vector<CUevent> clocks; // for enqueueTimed, made when first needed
};

} // namespace shardc::runtime::cuda

#endif
