// What the mains of tools with commands share.
#include "tools/ToolMain.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/launch/Guard.h"
#include "runtime/metrics/Print.h"

#include <cstdio>

namespace shardc::runtime {

/// `failure` becomes the exit code of what is thrown.
static int run(const char *name, const std::string &description,
               const std::vector<cli::Command> &commands, int argc, char **argv,
               int &failure) {
  cli::ReadCommand read = cli::readCommand(description, commands, argc, argv);
  if (!read.wrong.empty()) {
    std::fprintf(stderr, "%s: error: %s; --help lists the commands\n", name,
                 printable(read.wrong).c_str());
    return 2;
  }
  if (read.command) {
    failure = read.command->failure;
    return read.command->run();
  }
  print(read.help);
  return 0;
}

int toolMain(const char *name, const std::string &description,
             const std::vector<cli::Command> &commands, int argc, char **argv) {
  guardProcess(name);
  int failure = 1;
  try {
    int code = run(name, description, commands, argc, argv, failure);
    checkPrinted("nothing is lost");
    return code;
  } catch (const std::exception &error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: error: %s\n", name,
                 printable(error.what()).c_str());
  }
  return failure;
}

} // namespace shardc::runtime
