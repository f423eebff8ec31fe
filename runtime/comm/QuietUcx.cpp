// What UCX reads of the environment before main(). Every program that links it
// needs this, whether it makes a transport or not: runtime/CMakeLists.txt asks
// the linker for the symbol.
#include "runtime/comm/QuietUcx.h"

#include <cstdlib>

namespace {

/// What a user has not said otherwise.
struct Setting {
  const char *name, *value;
  bool isForOthers = true; // for what an MPI library loads as well
  bool isOurs = false;
};

constinit Setting settings[] = {{"UCX_HANDLE_ERRORS", "none"},
                                {"UCX_ERROR_SIGNALS", ""},
                                {"UCX_DEBUG_SIGNO", "0"}, // SIGHUP else
                                {"UCX_MEM_MMAP_HOOK_MODE", "none", false},
                                {"UCX_MEM_EVENTS", "n", false},
                                {"UCX_WARN_UNUSED_ENV_VARS", "n"},
                                {"UCX_LOG_LEVEL", "fatal"},
                                {"UCX_MODULE_DIR", "", false}};

} // namespace

/// No handlers of signals, no hooks in malloc and mmap, and no lines of its own.
extern "C" __attribute__((constructor(101))) void shardcQuietsUcx() {
  for (Setting &setting : settings)
    if (!getenv(setting.name)) {
      setting.isOurs = true;
      setenv(setting.name, setting.value, /*overwrite=*/0);
    }
}

void shardc::runtime::leaveUcxToOthers() {
  for (const Setting &setting : settings)
    if (setting.isOurs && !setting.isForOthers)
      unsetenv(setting.name);
}
