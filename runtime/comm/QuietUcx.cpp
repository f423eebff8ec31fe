// What UCX reads of the environment before main(). Every program that links it
// needs this, whether it makes a transport or not: runtime/CMakeLists.txt asks
// the linker for the symbol.
#include <cstdlib>
#include <utility>

/// No handlers of signals, no hooks in malloc and mmap, and no lines of its own.
extern "C" __attribute__((constructor(101))) void shardcQuietsUcx() {
  for (auto [name, value] : {std::pair{"UCX_HANDLE_ERRORS", "none"},
                             {"UCX_ERROR_SIGNALS", ""},
                             {"UCX_DEBUG_SIGNO", "0"}, // SIGHUP else
                             {"UCX_MEM_MMAP_HOOK_MODE", "none"},
                             {"UCX_MEM_EVENTS", "n"},
                             {"UCX_WARN_UNUSED_ENV_VARS", "n"},
                             {"UCX_LOG_LEVEL", "fatal"},
                             {"UCX_MODULE_DIR", ""}})
    setenv(name, value, /*overwrite=*/0);
}
