// This machine's name.
#include "runtime/base/HostName.h"

#include <unistd.h>

namespace shardc::runtime {

std::string hostName() {
  char name[256] = "";
  bool isKnown = gethostname(name, sizeof(name) - 1) == 0 && *name;
  return isKnown ? name : "unknown-host";
}

} // namespace shardc::runtime
