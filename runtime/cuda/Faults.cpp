// Words that are all ones as long as nothing is wrong.
#include "runtime/cuda/Faults.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/CudaDevice.h"

namespace shardc::runtime::cuda {

Faults::~Faults() {
  for (const Block &block : blocks)
    device.context.driver.cuMemFreeHost.function(block.fetched);
}

CUdeviceptr
Faults::word(std::function<std::string(int64_t position, int64_t value)> text) {
  const Driver &driver = device.context.driver;
  constexpr size_t bytes = blockWords * sizeof(uint64_t);
  size_t index = entries.size();
  if (index % blockWords == 0) {
    Block block = {device.allocateSmall(bytes), nullptr};
    driver.cuMemsetD8Async(block.words, 0xff, bytes, device.compute);
    driver.cuMemHostAlloc(reinterpret_cast<void **>(&block.fetched), bytes,
                          CU_MEMHOSTALLOC_PORTABLE);
    blocks.push_back(block);
  }
  entries.push_back({place, std::move(text)});
  return blocks.back().words + index % blockWords * sizeof(uint64_t);
}

void Faults::fetch() {
  for (const Block &block : blocks)
    device.context.driver.cuMemcpyDtoHAsync(block.fetched, block.words,
                                            blockWords * sizeof(uint64_t),
                                            device.compute);
}

void Faults::check() {
  for (size_t i = 0; i < entries.size(); ++i) {
    uint64_t fault = blocks[i / blockWords].fetched[i % blockWords];
    if (fault != ~uint64_t(0))
      throw Error(entries[i].place + ": " +
                  entries[i].text(int64_t(fault >> 32), int32_t(fault)));
  }
}

} // namespace shardc::runtime::cuda
