// --metrics: one JSON object per line, written as it happens.
#include "runtime/metrics/MetricsFile.h"

#include "runtime/Error.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

MetricsFile::MetricsFile(const std::string &path) : path(path) {
  file = Descriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file)
    failErrno("cannot write ", path);
}

void MetricsFile::write(const nlohmann::ordered_json &object) {
  std::string line =
      object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
      "\n";
  file.write(line.data(), line.size(), path);
}

} // namespace shardc::runtime
