// A file that grows record by record while a run goes on.
#include "runtime/metrics/RecordFile.h"

#include "runtime/base/Error.h"

#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

RecordFile::RecordFile(Descriptor opened, std::string path, std::string what)
    : file(std::move(opened)), path(std::move(path)), what(std::move(what)) {
  struct stat status;
  isRegular = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (isRegular)
    size = status.st_size;
}

std::string RecordFile::write(std::string_view record) {
  ++records;
  try {
    file.write(record.data(), record.size(), path);
    size += record.size();
    return "";
  } catch (const Error &error) {
    // Half a record would make the file unreadable, and the next one with it.
    if (isRegular && ftruncate(file.get(), static_cast<off_t>(size)) == 0)
      lseek(file.get(), static_cast<off_t>(size), SEEK_SET);
    if (++lost > 1)
      return "";
    reason = error.what();
    return reason;
  }
}

std::string RecordFile::lossText() const {
  if (lost == 0)
    return "";
  return concat(lost, " of ", records, " ", what, " are lost: ", reason);
}

} // namespace shardc::runtime
