// Whether this machine's processor runs the kernels that were compiled.
#include "runtime/cpu/Processor.h"

#include "runtime/base/Error.h"
#include "runtime/simd/Level.h"

#include <cstdlib>
#include <string_view>

namespace shardc::runtime {

int neededLevel(const std::string &cpu) {
  static constexpr struct {
    std::string_view name;
    int level;
  } known[] = {
      {"x86-64-v2", 2},      {"nehalem", 2},        {"x86-64-v3", 3},
      {"haswell", 3},        {"broadwell", 3},      {"skylake", 3},
      {"alderlake", 3},      {"raptorlake", 3},     {"znver1", 3},
      {"znver2", 3},         {"znver3", 3},         {"x86-64-v4", 4},
      {"skylake-avx512", 4}, {"cascadelake", 4},    {"cooperlake", 4},
      {"icelake-client", 4}, {"icelake-server", 4}, {"tigerlake", 4},
      {"sapphirerapids", 4}, {"emeraldrapids", 4},  {"graniterapids", 4},
      {"znver4", 4},         {"znver5", 4}};
  for (const auto &[name, level] : known)
    if (cpu == name)
      return level;
  return 0;
}

void checkProcessor(const std::string &cpu) {
  int has = simd::processorLevel(), wanted = simd::wantedLevel();
  if (wanted == 0 || wanted > has)
    fail("SHARDC_CPU: expected x86-64-v2",
         has >= 3 ? " to x86-64-v" + std::to_string(has) : "",
         ", which this processor has, got '", std::getenv("SHARDC_CPU"), "'");
  int level = neededLevel(cpu);
  if (level > has)
    fail("this trainer was compiled for the processor ", cpu,
         ", and this one lacks instructions of it (x86-64-v", level,
         "); compile it with shardc --cpu x86-64-v3 or lower, or on this "
         "machine");
}

} // namespace shardc::runtime
