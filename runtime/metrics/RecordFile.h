// A file that grows record by record while a run goes on.
#ifndef SHARDC_RUNTIME_METRICS_RECORDFILE_H
#define SHARDC_RUNTIME_METRICS_RECORDFILE_H

#include "runtime/files/Descriptor.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::runtime {

/// What cannot be written is lost, not the run, and no half record stays.
class RecordFile {
public:
  /// `file` is open for writing, and at its end. `path` is for errors; `what`:
  /// the records, as "lines of metrics".
  RecordFile(Descriptor file, std::string path, std::string what);

  /// Writes a record at once, whole or not at all. Returns why it is the first
  /// that cannot be written, "" otherwise.
  [[nodiscard]] std::string write(std::string_view record);
  /// How many records are lost, and why: the end of a run says it. Empty: none.
  std::string lossText() const;

private:
  Descriptor file;
  std::string path, what;
  bool isRegular = false;
  uint64_t size = 0; // of whole records, where it is a regular file
  int64_t records = 0, lost = 0;
  std::string reason; // of the first record that was lost
};

} // namespace shardc::runtime

#endif
