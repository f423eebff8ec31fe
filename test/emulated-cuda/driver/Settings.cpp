// Environment variables become settings.
#include "Settings.h"

#include "Work.h"

#include <cerrno>
#include <cstdlib>

namespace shardc::test::cuda {

static uint64_t number(const char *name, const char *text, char **rest) {
  errno = 0;
  uint64_t value = std::strtoull(text, rest, 10);
  if (errno || *rest == text)
    finding(std::string(name) + " is '" + text + "': set it to a number");
  return value;
}

template <typename T> static void read(const char *name, T &into) {
  const char *text = std::getenv(name);
  if (!text)
    return;
  char *rest = nullptr;
  uint64_t value = number(name, text, &rest);
  if (*rest)
    finding(std::string(name) + " is '" + text + "': set it to a number");
  into = T(value);
}

const Settings &settings() {
  static const Settings all = [] {
    Settings made;
    read("SHARDC_EMULATED_GPUS", made.devices);
    if (made.devices > 16)
      finding("SHARDC_EMULATED_GPUS is " + std::to_string(made.devices) +
              ": there are at most 16");
    read("SHARDC_EMULATED_GPU_BYTES", made.bytes);
    read("SHARDC_EMULATED_CAPABILITY", made.capability);
    read("SHARDC_EMULATED_CHECKS", made.checked);
    read("SHARDC_EMULATED_SHARED_CHECKS", made.checksShared);
    if (std::getenv("SHARDC_EMULATED_DELAY_SEED")) {
      uint64_t seed = 0;
      read("SHARDC_EMULATED_DELAY_SEED", seed);
      made.delaySeed = seed;
    }
    if (const char *folder = std::getenv("SHARDC_EMULATED_CUDA_CACHE"))
      made.cache = folder;
    if (const char *file = std::getenv("SHARDC_EMULATED_CALLS"))
      made.calls = file;
    const char *name = "SHARDC_EMULATED_FAIL_LAUNCH";
    if (const char *text = std::getenv(name)) {
      char *rest = nullptr;
      made.failingDevice = int(number(name, text, &rest));
      if (*rest != ':')
        finding(std::string(name) + " is '" + text + "': set it to DEVICE:N");
      made.failingLaunch = number(name, rest + 1, &rest);
    }
    if (const char *text = std::getenv("SHARDC_EMULATED_MUTANT"))
      made.mutant = Mutant::read(text);
    return made;
  }();
  return all;
}

} // namespace shardc::test::cuda
