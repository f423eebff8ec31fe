// Messages that end the process.
#include "Findings.h"

#include "Memory.h"
#include "Pinned.h"
#include "test/emulated-cuda/ptx/Thread.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <ucontext.h>
#include <unistd.h>

namespace shardc::test::cuda {

thread_local const char *running = nullptr;

void finding(const std::string &text) {
  // The first one counts. Others that come meanwhile wait for the end.
  static std::mutex once;
  once.lock();
  std::fflush(stdout);
  std::string line = "emulated CUDA: " + text + "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  // Threads of streams still run: no destructor can.
  _exit(findingCode);
}

static struct sigaction before;

static constexpr greg_t trapFlag = 1 << 8; // of EFLAGS: stop behind the next

static void onStep(int, siginfo_t *, void *context) {
  static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~trapFlag;
  closeAgain();
}

static void onFault(int signal, siginfo_t *info, void *context) {
  auto address = reinterpret_cast<CUdeviceptr>(info->si_addr);
  if (mayTouch(info->si_addr, running)) {
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] |= trapFlag;
    return; // the instruction runs again
  }
  bool ofKernels = isDeviceAddress(address - ptx::kernelMemoryOffset);
  if (isDeviceAddress(address) && !running)
    finding("the host touches a device's memory: " + describeAddress(address) +
            "; copy it");
  if (ofKernels || isDeviceAddress(address))
    finding(std::string(running ? running : "the host") +
            " touches what is not allocated: " +
            describeAddress(ofKernels ? address - ptx::kernelMemoryOffset
                                      : address));
  if (running)
    std::fprintf(stderr, "emulated CUDA: signal %d in %s\n", signal, running);
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
    return before.sa_sigaction(signal, info, context);
  sigaction(signal, &before, nullptr); // the instruction runs again
}

void watchFaults() {
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before);
  action.sa_sigaction = onStep;
  sigaction(SIGTRAP, &action, nullptr);
}

} // namespace shardc::test::cuda
