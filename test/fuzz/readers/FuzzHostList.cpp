// The lists of hosts and of tasks that Slurm abbreviates.
#include "runtime/launch/HostList.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  fuzz::read([&] { fuzz::require(!runtime::expandHostList(text).empty()); });
  fuzz::read([&] { fuzz::require(!runtime::expandTaskCounts(text).empty()); });
  return 0;
}
