// Which instructions the runtime's own loops and products use.
#include "runtime/simd/Level.h"

#include <cstdlib>
#include <string_view>

namespace shardc::runtime::simd {

int processorLevel() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4")   ? 4
         : __builtin_cpu_supports("x86-64-v3") ? 3
                                               : 2;
}

int wantedLevel() {
  const char *variable = std::getenv("SHARDC_CPU");
  std::string_view name = variable ? variable : "";
  return name.empty()          ? processorLevel()
         : name == "x86-64-v2" ? 2
         : name == "x86-64-v3" ? 3
         : name == "x86-64-v4" ? 4
                               : 0;
}

int level() {
  static const int chosen = [] {
    int wanted = wantedLevel(), has = processorLevel();
    return wanted != 0 && wanted < has ? wanted : has;
  }();
  return chosen;
}

} // namespace shardc::runtime::simd
