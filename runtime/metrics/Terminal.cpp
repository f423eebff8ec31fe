// Where people watch a run.
#include "runtime/metrics/Terminal.h"

#include "runtime/base/Printable.h"
#include "runtime/metrics/Print.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace shardc::runtime {

/// Open MPI gives rank 0 a terminal of its own, and hands what is said there on
/// to wherever mpirun's output goes.
static bool isForwarded() { return getenv("OMPI_COMM_WORLD_RANK"); }

static bool isDumb() {
  const char *kind = getenv("TERM");
  return !kind || std::string_view(kind) == "dumb";
}

Terminal::Terminal()
    : terminal(isatty(STDOUT_FILENO) && !isForwarded() && !isDumb()) {}

Terminal::~Terminal() { finish(); }

int Terminal::width() const {
  winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

void Terminal::line(const std::string &text) {
  erase();
  print(printableLines(text) + "\n");
}

void Terminal::warning(const std::string &text) {
  erase();
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: warning: %s\n", printable(text).c_str());
}

void Terminal::draw(const std::string &text) {
  print("\r\x1b[K" + text);
  drawn = true;
}

void Terminal::erase() {
  if (drawn)
    print("\r\x1b[K");
  drawn = false;
}

void Terminal::finish() {
  if (!drawn)
    return;
  print("\n");
  drawn = false;
}

} // namespace shardc::runtime
