// The answer comes through a pipe, behind a byte that says whether it is one.
#include "runtime/launch/AskInChild.h"

#include "runtime/base/Error.h"
#include "runtime/files/Descriptor.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardc::runtime {

static constexpr char isAnswer = 'a', isError = 'e';

static std::string readAll(int file) {
  std::string text;
  char block[4096];
  ssize_t got;
  while ((got = read(file, block, sizeof(block))) != 0) {
    if (got < 0 && errno != EINTR)
      break;
    text.append(block, static_cast<size_t>(std::max<ssize_t>(0, got)));
  }
  return text;
}

std::string askInChild(const std::function<std::string()> &answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    failErrno("cannot make a pipe to a child process");
  Descriptor from(ends[0]), to(ends[1]);
  pid_t parent = getpid(), child = fork();
  if (child < 0)
    failErrno("cannot start a child process");
  if (child == 0) {
    // It dies with its parent, which may have died meanwhile.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    std::string text;
    try {
      text = isAnswer + answer();
    } catch (const std::exception &error) {
      text = isError + std::string(error.what());
    }
    try {
      to.write(text.data(), text.size(), "the pipe to the parent");
    } catch (const Error &) {
      // It sees that nothing came.
    }
    // What is registered for the end of the program is the parent's.
    _exit(0);
  }
  to.close();
  std::string text = readAll(from.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (text.empty())
    fail("a process that looked for devices came to its end before it had, ",
         WIFSIGNALED(status) ? concat("by signal ", WTERMSIG(status), " (",
                                      strsignal(WTERMSIG(status)), ")")
                             : concat("with exit code ", WEXITSTATUS(status)));
  if (text.front() == isError)
    throw Error(text.substr(1));
  return text.substr(1);
}

} // namespace shardc::runtime
