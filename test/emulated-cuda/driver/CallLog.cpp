// A line is one write, so that processes and threads share the file.
#include "CallLog.h"

#include "Checks.h"
#include "Settings.h"

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace shardc::test::cuda {

static int openLog() {
  const std::string &path = settings().calls;
  if (path.empty())
    return -1;
  int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    finding("SHARDC_EMULATED_CALLS names " + path +
            ", which cannot be written");
  return file;
}

void logCall(const char *function, size_t bytes) {
  static const int file = openLog();
  if (file < 0)
    return;
  std::string line = std::to_string(currentDevice()) + " " + function + " " +
                     std::to_string(bytes) + "\n";
  if (write(file, line.data(), line.size()) != ssize_t(line.size()))
    finding("a call cannot be logged");
}

} // namespace shardc::test::cuda
