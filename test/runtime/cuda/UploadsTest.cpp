// What the host waits for when it uploads to a GPU that is busy.
#include "runtime/cuda/CudaDevice.h"
#include "test/runtime/device/CudaDevices.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace shardc::runtime {
namespace {

/// More than uploads have where a plan has small inputs.
constexpr int64_t elements = 3 << 19, bytes = elements * 4;

plan::Plan planWithInput() {
  plan::Plan plan;
  plan.mutable_target()->mutable_cuda();
  plan::Tensor &input = *plan.add_inputs()->mutable_tensor();
  input.set_dtype(plan::FLOAT32);
  input.add_shape(elements);
  return plan;
}

using Gate = std::atomic<bool>;

void waitFor(void *gate) {
  while (!*static_cast<Gate *>(gate))
    std::this_thread::yield();
}

TEST(Uploads, WaitForTheCopyBeforeTheLastOneAlone) {
  if (!cudaDeviceCount())
    GTEST_SKIP() << "no GPU";
  plan::Plan plan = planWithInput();
  runRanksAsThreads(1, [&](Communicator &world) {
    auto device = cudaDevice(plan, world);
    std::byte *memory = device->allocate("an input", bytes);
    auto upload = [&](float value) {
      std::vector<float> values(size_t(elements), value);
      device->upload(memory, values.data(), bytes);
    };
    upload(1);
    device->settle();
    // Two go to pinned memory while the device stands still, and a few numbers
    // with each.
    Gate isOpen = false;
    device->context.driver.cuLaunchHostFunc(device->compute, waitFor, &isOpen);
    float number = 5;
    for (float value : {2.0f, 3.0f}) {
      upload(value);
      for (int i = 0; i < 4; ++i)
        device->upload(memory + i * 4, &number, sizeof(number));
    }
    EXPECT_FALSE(isOpen);
    // The third waits for the first of them.
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      isOpen = true;
    });
    upload(4);
    EXPECT_TRUE(isOpen);
    opener.join();
    device->settle();
    std::vector<float> found(size_t(elements), 0);
    device->download(found.data(), memory, bytes);
    EXPECT_EQ(found, std::vector<float>(size_t(elements), 4));
  });
}

} // namespace
} // namespace shardc::runtime
