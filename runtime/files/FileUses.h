// All files that a program reads and writes, compared before the first is
// written.
#ifndef SHARDC_RUNTIME_FILES_FILEUSES_H
#define SHARDC_RUNTIME_FILES_FILEUSES_H

#include "runtime/files/FileIdentity.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

class FileUses {
public:
  /// `what`: the flag with its path, as errors show it: "--metrics m.jsonl". An
  /// input that is not there is none.
  void reads(std::string what, const std::string &path);
  void writes(std::string what, const std::string &path);
  /// Files in `folder` whose names end in one of `endings` (".ptx"), which are
  /// not known yet.
  void writesInto(const std::string &what, const std::string &folder,
                  std::vector<std::string_view> endings);

  /// The run makes, replaces and removes what is in those entries of the folder
  /// `path` whose names `isOwn` tells, and all below.
  void owns(std::string what, const std::string &path,
            std::function<bool(const std::string &name)> isOwn);

  /// An error that names both uses where an output is the same file as an input
  /// or as another output, by whatever spelling or link, and where an input or
  /// an output lies in what the run owns. Empty: there is none.
  std::string conflict() const;
  /// Throws it.
  void check() const;

private:
  struct Use {
    std::string what, path;
    FileIdentity file;
    /// Of all files in the folder `file` with these endings; empty: of `file`.
    std::vector<std::string_view> endings = {};
    /// Whether both may be of one file.
    bool meets(const Use &other) const;
  };
  struct Owned {
    std::string what, path;
    std::function<bool(const std::string &name)> isOwn;
  };
  /// The name of the entry of the folder that the path leads into; empty: it
  /// leads elsewhere.
  static std::string entryOf(const std::string &folder,
                             const std::string &path);
  std::vector<Use> inputs, outputs;
  std::vector<Owned> owned;
};

} // namespace shardc::runtime

#endif
