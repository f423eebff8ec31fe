// The files that one path stands for.
#include "runtime/files/ListFiles.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <filesystem>
#include <glob.h>

namespace shardc::runtime {

static std::vector<std::string> matches(const std::string &pattern) {
  glob_t found;
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<std::string> listFiles(const std::string &path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  bool isFolder = fs::is_directory(path, error);
  if (isFolder) {
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error))
      if (!entry->path().filename().string().starts_with('.') &&
          !fs::is_directory(entry->path()))
        paths.push_back(entry->path().string());
    if (error)
      fail(path, ": ", error.message());
  } else if (!fs::exists(path, error) &&
             path.find_first_of("*?[") != std::string::npos) {
    paths = matches(path);
  } else {
    return {path};
  }
  if (paths.empty())
    fail(path, isFolder ? ": is a folder without files"
                        : ": there is no file that matches");
  // By bytes, whatever the locale: every process has the same order.
  std::ranges::sort(paths);
  return paths;
}

} // namespace shardc::runtime
