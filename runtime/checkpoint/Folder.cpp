// Names, and what becomes of them.
#include "runtime/checkpoint/Folder.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/files/Descriptor.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

namespace fs = std::filesystem;

static constexpr std::string_view prefix = "step-", temporary = ".tmp";

static std::string nameOf(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%08lld", (long long)step);
  return name;
}

/// None where the name is not that of a committed checkpoint.
static std::optional<int64_t> stepOf(const std::string &name) {
  int64_t step = 0;
  if (!name.starts_with(prefix))
    return std::nullopt;
  const char *begin = name.data() + prefix.size(),
             *end = name.data() + name.size();
  auto [stop, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stop != end || nameOf(step) != name)
    return std::nullopt;
  return step;
}

bool CheckpointFolder::isCheckpointName(const std::string &name) {
  return stepOf(name).has_value();
}

bool CheckpointFolder::isOwnName(const std::string &name) {
  return isCheckpointName(name) ||
         (name.starts_with(prefix) && name.ends_with(temporary));
}

/// Brings the names in a folder to the disk.
static void syncFolder(const std::string &path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0)
    failErrno("cannot write ", path);
}

static std::vector<std::string> namesIn(const std::string &path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator each(path, error), end; !error && each != end;
       each.increment(error))
    names.push_back(each->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    fail("cannot read ", path, ": ", error.message());
  return names;
}

std::string CheckpointFolder::pathOf(int64_t step) const {
  return path + "/" + nameOf(step);
}
std::string CheckpointFolder::temporaryPathOf(int64_t step) const {
  return pathOf(step) + std::string(temporary);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> steps;
  for (const std::string &name : namesIn(path))
    if (std::optional<int64_t> step = stepOf(name))
      steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

static void remove(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    fail("cannot remove ", path, ": ", error.message());
}

static void makeFolder(const std::string &path) {
  if (mkdir(path.c_str(), 0777) != 0)
    failErrno("cannot make the folder ", path);
}

void CheckpointFolder::make() const {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    fail("cannot make the folder ", path, ": ", error.message());
  if (access(path.c_str(), W_OK | X_OK) != 0)
    failErrno("cannot write to the folder ", path);
}

void CheckpointFolder::clean() const {
  for (const std::string &name : namesIn(path))
    if (isOwnName(name) && !isCheckpointName(name))
      remove(path + "/" + name);
}

void CheckpointFolder::begin(int64_t step) const {
  std::string folder = temporaryPathOf(step);
  remove(folder);
  makeFolder(folder);
  makeFolder(folder + "/" + modelFolder);
  makeFolder(folder + "/" + optimFolder);
}

void CheckpointFolder::commit(int64_t step) const {
  std::string from = temporaryPathOf(step), to = pathOf(step);
  for (const char *name : {"/model", "/optim", ""})
    syncFolder(from + name);
  // A run that goes on from an older checkpoint comes by this step again. The
  // two change places at once, so that one of them is always there.
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_NOREPLACE) != 0) {
    bool isThere = errno == EEXIST;
    if (isThere && renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                             RENAME_EXCHANGE) == 0)
      remove(from);
    else if (isThere || rename(from.c_str(), to.c_str()) != 0)
      failErrno("cannot rename ", from, " to ", to);
  }
  syncFolder(path);
}

void CheckpointFolder::discard(int64_t step) const noexcept {
  std::error_code ignored;
  fs::remove_all(temporaryPathOf(step), ignored);
}

std::optional<int64_t> CheckpointFolder::best() const {
  std::error_code error;
  fs::path target = fs::read_symlink(path + "/" + bestLink, error);
  std::optional<int64_t> step = error ? std::nullopt : stepOf(target.string());
  if (step && fs::is_directory(pathOf(*step), error))
    return step;
  return std::nullopt;
}

void CheckpointFolder::markBest(int64_t step) const {
  // Renamed, so that there is one at any time.
  std::string link = path + "/" + bestLink, made = link + ".tmp";
  std::error_code error;
  fs::remove(made, error);
  if (!error)
    fs::create_symlink(nameOf(step), made, error);
  if (!error)
    fs::rename(made, link, error);
  if (error)
    fail("cannot make the link ", link, ": ", error.message());
  syncFolder(path);
}

void CheckpointFolder::prune(int64_t keep,
                             std::optional<int64_t> newest) const {
  std::vector<int64_t> all = steps();
  if (newest)
    all.erase(std::ranges::upper_bound(all, *newest), all.end());
  std::optional<int64_t> kept = best();
  for (size_t i = 0; i + keep < all.size(); ++i) {
    if (all[i] == kept)
      continue;
    // Half a checkpoint has no name of one.
    std::string old = temporaryPathOf(all[i]);
    remove(old);
    if (rename(pathOf(all[i]).c_str(), old.c_str()) != 0)
      failErrno("cannot rename ", pathOf(all[i]));
    remove(old);
  }
}

std::string CheckpointFolder::setAside(int64_t behind) const {
  std::vector<int64_t> all = steps();
  all.erase(all.begin(), std::ranges::upper_bound(all, behind));
  if (all.empty())
    return "";
  for (int number = 1;; ++number) {
    std::string aside = concat(path, "/earlier-", number);
    if (mkdir(aside.c_str(), 0777) != 0) {
      if (errno == EEXIST)
        continue;
      failErrno("cannot make the folder ", aside);
    }
    for (int64_t step : all)
      if (rename(pathOf(step).c_str(), (aside + "/" + nameOf(step)).c_str()) !=
          0)
        failErrno("cannot rename ", pathOf(step), " to ", aside);
    if (best())
      return aside; // The link leads to one that stays.
    std::string link = std::string("/") + bestLink;
    std::error_code error;
    if (fs::is_symlink(path + link, error) &&
        rename((path + link).c_str(), (aside + link).c_str()) != 0)
      failErrno("cannot rename ", path, link, " to ", aside);
    return aside;
  }
}

} // namespace shardc::runtime
