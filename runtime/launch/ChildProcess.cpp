// A process that a Supervisor has started.
#include "runtime/launch/ChildProcess.h"

#include "runtime/launch/ExitCode.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

/// A line that never ends is printed in pieces.
static constexpr size_t longestLine = 64 << 10;

namespace {

/// What execve() takes, made before fork(): a child of a process with threads
/// may not allocate.
class Strings {
public:
  void add(std::string text) { texts.push_back(std::move(text)); }
  char *const *list() {
    pointers.clear();
    for (std::string &text : texts)
      pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers.data();
  }

private:
  std::vector<std::string> texts;
  std::vector<char *> pointers;
};

} // namespace

/// In the child: calls nothing that may not be called between fork and exec.
/// Returns where something failed.
static void become(pid_t parent, int input, int errors, const char *program,
                   char *const *arguments, char *const *environment,
                   const sigset_t &unblocked) {
  setpgid(0, 0);
  // It dies with its parent, which may have died meanwhile.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return;
  if (getppid() != parent)
    _exit(exitCodeOf(SIGKILL));
  if (dup2(input, STDIN_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    return;
  // Handlers are gone with the program; what was ignored (SIGHUP, by nohup)
  // stays so.
  sigprocmask(SIG_SETMASK, &unblocked, nullptr);
  execve(program, arguments, environment);
}

ChildProcess::ChildProcess(int process, const std::string &program,
                           const std::vector<std::string> &arguments,
                           const Environment &added, const sigset_t &unblocked)
    : number(process) {
  Environment all = added;
  all.merge(currentEnvironment());
  Strings environment, words;
  for (const auto &[name, value] : all)
    environment.add(name + "=" + value);
  for (const std::string &word : arguments)
    words.add(word);
  char *const *environmentList = environment.list();
  char *const *wordList = words.list();

  Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int said[2], failed[2];
  if (!nothing || pipe2(failed, O_CLOEXEC) != 0)
    failErrno("cannot start process ", number);
  Descriptor failedRead(failed[0]), failedWrite(failed[1]);
  if (pipe2(said, O_CLOEXEC) != 0)
    failErrno("cannot start process ", number);
  output = Descriptor(said[0]);
  Descriptor saidWrite(said[1]);

  pid_t parent = getpid();
  pid = fork();
  if (pid < 0)
    failErrno("cannot start process ", number);
  if (pid == 0) {
    become(parent, nothing.get(), saidWrite.get(), program.c_str(), wordList,
           environmentList, unblocked);
    int code = errno;
    while (write(failedWrite.get(), &code, sizeof(code)) < 0 && errno == EINTR)
      ;
    _exit(127);
  }
  // Both do it, so that it is done when either goes on.
  setpgid(pid, pid);
  running = true;
  failedWrite.close();
  int code = 0;
  ssize_t got;
  while ((got = read(failedRead.get(), &code, sizeof(code))) < 0 &&
         errno == EINTR)
    ;
  if (got == sizeof(code)) {
    waitpid(pid, &endStatus, 0);
    running = false;
    fail("cannot start process ", number, ": ", program, ": ",
         std::strerror(code));
  }
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
}

ChildProcess::ChildProcess(ChildProcess &&other) noexcept
    : number(other.number), pid(other.pid),
      running(std::exchange(other.running, false)), killed(other.killed),
      endStatus(other.endStatus), output(std::move(other.output)),
      line(std::move(other.line)) {}

ChildProcess::~ChildProcess() {
  if (!running)
    return;
  kill();
  while (waitpid(pid, &endStatus, 0) < 0 && errno == EINTR)
    ;
}

std::vector<std::string> ChildProcess::takeLines(bool all) {
  std::vector<std::string> lines;
  if (!output)
    return lines;
  char block[16 << 10];
  ssize_t got;
  while ((got = read(output.get(), block, sizeof(block))) != 0) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      break;
    line.append(block, static_cast<size_t>(got));
    size_t end;
    while ((end = line.find('\n')) != std::string::npos ||
           line.size() > longestLine) {
      size_t length = std::min(end, longestLine);
      lines.push_back(line.substr(0, length));
      line.erase(0, length == end ? length + 1 : length);
    }
  }
  if (got == 0)
    output.close();
  if ((all || got == 0) && !line.empty())
    lines.push_back(std::exchange(line, ""));
  return lines;
}

bool ChildProcess::reap() {
  if (!running)
    return false;
  // Seen, but not yet gone: its group's number is not another's.
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid), &info,
             WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid)
    return false;
  ::kill(-pid, SIGKILL);
  while (waitpid(pid, &endStatus, 0) < 0 && errno == EINTR)
    ;
  running = false;
  return true;
}

bool ChildProcess::isStopped() const {
  siginfo_t info = {};
  return running &&
         waitid(P_PID, static_cast<id_t>(pid), &info,
                WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

void ChildProcess::signal(int signal) const {
  if (running)
    ::kill(pid, signal);
}

void ChildProcess::kill() {
  if (!running)
    return;
  killed = true;
  ::kill(-pid, SIGKILL);
}

} // namespace shardc::runtime
