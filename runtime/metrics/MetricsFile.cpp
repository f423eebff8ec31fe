// --metrics, --log-samples: one JSON object per line, written as it happens.
#include "runtime/metrics/MetricsFile.h"

#include "runtime/base/Error.h"
#include "runtime/metrics/Lines.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

MetricsFile::MetricsFile(const std::string &given,
                         std::optional<int64_t> goesOnAt, std::string lines)
    : path(given), shown(given), what(std::move(lines)) {
  open(goesOnAt);
  records.emplace(std::move(file), shown, "lines of " + what);
}

void MetricsFile::open(std::optional<int64_t> goesOnAt) {
  // Behind a link, the file that it leads to is kept and made anew, not the
  // link.
  std::error_code none;
  if (auto real = std::filesystem::canonical(shown, none); !none)
    path = real.string();
  // Between opening and locking another run may give the name to a file of its
  // own; then this is that run's, or an earlier one's.
  struct stat opened, named;
  do {
    file =
        Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file || fstat(file.get(), &opened) != 0)
      failErrno("cannot write ", shown);
    if (!S_ISREG(opened.st_mode))
      return;
    // A file system without locks says so in other words.
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      fail("cannot write ", shown, ": another process writes its ", what,
           " there; choose another name");
    if (opened.st_size > 0 && goesOnAt) {
      cutBehind(*goesOnAt);
      return;
    }
    if (opened.st_size > 0)
      keepEarlierRun();
  } while (opened.st_size > 0 || stat(path.c_str(), &named) != 0 ||
           named.st_ino != opened.st_ino || named.st_dev != opened.st_dev);
}

void MetricsFile::checkEarlierRun() {
  // The lines of a run begin so. A path that was mistyped is not moved away.
  char bytes[16] = {};
  Descriptor reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader || pread(reader.get(), bytes, sizeof(bytes), 0) < 0)
    failErrno("cannot read ", shown, ", which may hold an earlier run's ",
              what);
  std::string_view begin(bytes, sizeof(bytes));
  if (!begin.starts_with(R"({"step":)") && !begin.starts_with(R"({"event":)"))
    fail("cannot write ", shown, ": it holds something else than the ", what,
         " of an earlier run; choose another name");
}

/// Whether a line is of what comes behind the steps that are done.
static bool isBehind(const std::string &line, int64_t steps) {
  auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") ||
      !json["step"].is_number_integer())
    return json.is_discarded();
  // Steps count from 0; an event has as many steps behind it.
  return json["step"].get<int64_t>() >= steps + json.contains("event");
}

void MetricsFile::cutBehind(int64_t step) {
  checkEarlierRun();
  std::ifstream reader(path, std::ios::binary);
  std::string line;
  off_t size = 0;
  // A line without an end was cut off with the run.
  while (std::getline(reader, line) && !reader.eof() && !isBehind(line, step))
    size += static_cast<off_t>(line.size()) + 1;
  if (ftruncate(file.get(), size) != 0 || lseek(file.get(), size, SEEK_SET) < 0)
    failErrno("cannot write ", shown);
}

void MetricsFile::keepEarlierRun() {
  checkEarlierRun();
  for (int number = 1;; ++number) {
    keptAs = concat(path, ".", number);
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, keptAs.c_str(),
                  RENAME_NOREPLACE) == 0)
      return;
    // Not all file systems can refuse to replace; a link can.
    if (errno == EINVAL && link(path.c_str(), keptAs.c_str()) == 0 &&
        unlink(path.c_str()) == 0)
      return;
    if (errno != EEXIST)
      failErrno("cannot write ", shown, ": the ", what,
                " of an earlier run cannot be moved to ", keptAs);
  }
}

std::string MetricsFile::write(const nlohmann::ordered_json &object) {
  return records->write(textOf(object) + "\n");
}

std::string MetricsFile::lossText() const { return records->lossText(); }

} // namespace shardc::runtime
