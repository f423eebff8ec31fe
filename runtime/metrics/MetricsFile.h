// --metrics: one JSON object per line, written as it happens.
#ifndef SHARDC_RUNTIME_METRICS_METRICSFILE_H
#define SHARDC_RUNTIME_METRICS_METRICSFILE_H

#include "runtime/files/Descriptor.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shardc::runtime {

class MetricsFile {
public:
  /// Creates the file, or empties it. Throws an Error with the path.
  explicit MetricsFile(const std::string &path);
  /// Writes a line at once; numbers keep all their digits. Throws when it
  /// cannot be written.
  void write(const nlohmann::ordered_json &object);

private:
  std::string path;
  Descriptor file;
};

} // namespace shardc::runtime

#endif
