// What the conformance tests of devices share: for every kind of entry, alone
// on a device, its results beside those of plain loops in float64. A kind's
// tests are a suite KindConformance; ConformanceTest.cpp demands one of each.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_CONFORMANCESUITE_H
#define SHARDC_TEST_RUNTIME_DEVICE_CONFORMANCESUITE_H

#include "runtime/base/Error.h"
#include "test/runtime/device/Numbers.h"
#include "test/runtime/device/TestedDevices.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// How a tensor lies in an allocation of its own.
struct Layout {
  std::vector<int64_t> strides; // empty: row-major
  int64_t offset = 0;           // elements before the first
};
/// Row-major, but with rows of the last dim `gap` elements apart, and as much
/// in front.
Layout spaced(const std::vector<int64_t> &shape, int64_t gap);
/// Row-major in the order of dims that `order` says, outermost first.
Layout permuted(const std::vector<int64_t> &shape,
                const std::vector<int64_t> &order);

/// A rank, its device, and programs of entries on it.
class Bench {
public:
  Bench(const TestedDevice &tested, Communicator &world);
  ~Bench();

  Tensor put(const Numbers &numbers, const Layout &layout = {});
  /// For a result: holds what is no number, in floats.
  Tensor room(plan::DType dtype, const std::vector<int64_t> &shape,
              const Layout &layout = {});
  /// Zeros of the pool host, once.
  Tensor onHost(plan::DType dtype, int64_t elements);
  /// What an entry's workspace should be; none where the device wants none.
  template <typename Kind> void giveWorkspace(Kind &entry) {
    if (int64_t bytes = tested.workspaceBytes(entry::Any(entry)))
      entry.workspace = scratch(bytes);
  }

  /// Runs a program of these entries. Expects what they do not write to be as
  /// it was: operands, and what lies between, before and behind elements.
  void run(std::vector<entry::Any> entries, const StepNumbers &numbers = {});
  template <typename Kind>
  void run(Kind entry, const StepNumbers &numbers = {}) {
    run(std::vector<entry::Any>{entry::Any(std::move(entry))}, numbers);
  }
  /// The Error that running them throws; empty: none.
  std::string errorOf(std::vector<entry::Any> entries,
                      const StepNumbers &numbers = {});

  /// A program of these entries, called "entry 0" and so on; it lives as long
  /// as the bench.
  DeviceProgram &programOf(std::vector<entry::Any> entries);
  /// Reads back what changed.
  void readBack() { compare({}, false); }

  /// Elements as the last run left them.
  std::vector<double> get(const Tensor &tensor) const;
  std::vector<std::byte> bytesOf(const Tensor &tensor) const;
  /// That a tensor is as expected. `what`: its name, for the message.
  void expect(const Tensor &tensor, const Expected &expected, const char *what);

  bool hasRun(size_t kind) const;
  int rank() const { return world.rank(); }

  Communicator &world;
  std::unique_ptr<Device> device;

private:
  struct Allocation {
    std::byte *begin;
    std::vector<std::byte> content; // as last seen
    int64_t elementSize;
  };
  Tensor allocate(plan::DType dtype, const std::vector<int64_t> &shape,
                  const Layout &layout, const Numbers *numbers);
  Tensor scratch(int64_t bytes);
  const Allocation &allocationOf(const Tensor &tensor) const;
  void compare(const std::vector<entry::Any> &entries, bool expectUnchanged);

  const TestedDevice &tested;
  std::vector<Allocation> allocations;
  std::vector<bool> ran; // by index of entry::Any
  std::vector<std::unique_ptr<DeviceProgram>> programs; // before the device
};

/// A suite of tests of one kind of entry, over all devices.
template <typename Kind>
class Conformance : public testing::TestWithParam<TestedDevice> {
protected:
  /// Runs body as each rank of a world.
  void onRanks(int ranks, const std::function<void(Bench &)> &body) {
    if (ranks > GetParam().most) {
      lacking = ranks;
      return;
    }
    runRanksAsThreads(ranks, [&](Communicator &world) {
      Bench bench(GetParam(), world);
      body(bench);
      if (bench.hasRun(entry::Any(Kind()).index()))
        hasRun = true;
      // The others would wait for this rank for ever.
      if (HasFatalFailure())
        fail("a test failed");
    });
  }
  void onDevice(const std::function<void(Bench &)> &body) { onRanks(1, body); }

  void TearDown() override {
    if (!hasRun && lacking)
      GTEST_SKIP() << "needs " << lacking << " devices";
    EXPECT_TRUE(hasRun) << "no entry of the suite's kind has run";
  }

private:
  std::atomic<bool> hasRun = false;
  int lacking = 0; // ranks of a world that there are not devices for
};

#define SHARDC_CONFORMANCE(Kind)                                               \
  class Kind##Conformance : public Conformance<entry::Kind> {};                \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Devices, Kind##Conformance, testing::ValuesIn(testedDevices()),          \
      [](const auto &info) { return std::string(info.param.name); })

} // namespace shardc::runtime

#endif
