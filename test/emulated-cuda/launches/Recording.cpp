// Lines, places and the memory in use.
#include "test/emulated-cuda/launches/Recording.h"

#include <cstdarg>
#include <cstdlib>

namespace shardc::test::cuda {

Recording &recording() {
  static Recording *one = [] {
    auto *made = new Recording;
    if (const char *path = std::getenv("SHARDC_LAUNCH_LOG")) {
      made->file = std::fopen(path, "w");
      made->memoryFile = std::string(path) + ".memory";
    }
    if (!made->file) {
      std::fprintf(stderr, "launch log: set SHARDC_LAUNCH_LOG to a file that "
                           "can be written\n");
      std::exit(2);
    }
    return made;
  }();
  return *one;
}

OpenedLibraries real;

void line(const char *format, ...) {
  FILE *file = recording().file;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputc('\n', file);
  // A trainer may end at any time.
  std::fflush(file);
}

std::string place(CUdeviceptr address) {
  const auto &all = recording().allocations;
  auto next = all.upper_bound(address);
  if (next != all.begin()) {
    const auto &[base, allocation] = *std::prev(next);
    if (address < base + allocation.bytes)
      return "memory " + std::to_string(allocation.number) + " + " +
             std::to_string(address - base);
  }
  return address ? "elsewhere" : "nowhere";
}
std::string place(const void *address) {
  return place(reinterpret_cast<CUdeviceptr>(address));
}
int number(CUstream stream) { return recording().streams.of(stream); }
int number(CUevent event) { return recording().events.of(event); }

void noteMemory() {
  Recording &to = recording();
  size_t free = 0, total = 0;
  if (to.isCapturing || !real.cuMemGetInfo ||
      real.cuMemGetInfo(&free, &total) != CUDA_SUCCESS ||
      total - free <= to.mostUsed)
    return;
  to.mostUsed = total - free;
  if (FILE *file = std::fopen(to.memoryFile.c_str(), "w")) {
    std::fprintf(file, "%zu\n", to.mostUsed);
    std::fclose(file);
  }
}

void allocated(CUdeviceptr address, size_t bytes) {
  Recording &to = recording();
  to.allocations[address] = {to.nextAllocation++, bytes};
  line("allocate memory %d: %zu bytes", to.nextAllocation - 1, bytes);
  noteMemory();
}

} // namespace shardc::test::cuda
