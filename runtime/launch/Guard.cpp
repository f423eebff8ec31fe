// What a program sees to before it opens its first file.
#include "runtime/launch/Guard.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace shardc {

static const char *programName = "";

namespace {

/// Lines of /proc/self/maps. Calls nothing that a signal handler may not.
class Mappings {
public:
  Mappings() : file(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Mappings() {
    if (file >= 0)
      close(file);
  }

  /// The path of the file that is mapped at `address`; null where there is
  /// none.
  const char *pathAt(uintptr_t address) {
    while (nextLine()) {
      // BEGIN-END PERMISSIONS OFFSET DEVICE INODE   PATH
      const char *at = line;
      uintptr_t begin = hexadecimal(at);
      if (*at++ != '-')
        continue;
      uintptr_t end = hexadecimal(at);
      if (address >= begin && address < end)
        return strchr(at, '/');
    }
    return nullptr;
  }

private:
  bool nextLine() {
    size_t length = 0;
    for (char byte; nextByte(byte) && byte != '\n';)
      if (length + 1 < sizeof(line))
        line[length++] = byte < ' ' || byte == 127 ? '?' : byte;
    line[length] = '\0';
    return length > 0;
  }
  bool nextByte(char &byte) {
    if (position == filled) {
      ssize_t got = file < 0 ? 0 : read(file, block, sizeof(block));
      if (got <= 0)
        return false;
      filled = static_cast<size_t>(got);
      position = 0;
    }
    byte = block[position++];
    return true;
  }
  static uintptr_t hexadecimal(const char *&at) {
    uintptr_t value = 0;
    for (;; ++at)
      if (*at >= '0' && *at <= '9')
        value = value * 16 + uintptr_t(*at - '0');
      else if (*at >= 'a' && *at <= 'f')
        value = value * 16 + uintptr_t(*at - 'a' + 10);
      else
        return value;
  }

  int file;
  char block[4096];
  size_t position = 0, filled = 0;
  char line[4400]; // a path and what is before it
};

void put(const char *text) {
  for (size_t left = strlen(text); left > 0;) {
    ssize_t written = write(STDERR_FILENO, text, left);
    if (written < 0 && errno != EINTR)
      return;
    if (written > 0) {
      text += written;
      left -= static_cast<size_t>(written);
    }
  }
}

void onBusError(int signal, siginfo_t *info, void *) {
  static std::atomic_flag reported;
  // A negative code is that of kill(), which has no address.
  if (info->si_code > 0) {
    Mappings mappings;
    if (const char *path =
            mappings.pathAt(reinterpret_cast<uintptr_t>(info->si_addr))) {
      // Other threads meet the same file; one line is enough.
      while (reported.test_and_set())
        pause();
      put(programName);
      put(": error: ");
      put(path);
      put(" was truncated while it was in use, or its disk failed\n");
      _exit(1);
    }
  }
  // Nothing that is known: the usual death, when the instruction is run again.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  if (info->si_code <= 0)
    raise(signal);
}

/// `ulimit -s` is that of each new thread as well, and code that is linked here
/// counts on the usual one.
void ensureStacks() {
  constexpr size_t least = size_t(8) << 20;
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least) {
    limit.rlim_cur = std::min<rlim_t>(least, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit); // holds for this thread at once
  }
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_default_np(&attributes) != 0)
    return;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < least &&
      pthread_attr_setstacksize(&attributes, least) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

} // namespace

void guardProcess(const char *program) {
  programName = program;
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      // The lowest number that is free is this one. Opened the wrong way round,
      // so that its use is an error, as that of a closed one is.
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, nullptr);
  // Blocked and not ignored: LLVM takes it over for files that it would remove.
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  ensureStacks();
}

} // namespace shardc
