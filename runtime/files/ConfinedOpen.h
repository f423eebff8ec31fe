// Files that another file names, which must lie where that one does.
#ifndef SHARDC_RUNTIME_FILES_CONFINEDOPEN_H
#define SHARDC_RUNTIME_FILES_CONFINEDOPEN_H

#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

/// What became of a file that another one names.
struct ConfinedFile {
  enum class Outcome {
    opened,
    outside,     // the path is empty, absolute, or goes up
    linkOutside, // it leads through a link to `target`, which lies elsewhere
    failed,      // `error` is the system's, ENOENT where there is no such file
  };
  Outcome outcome;
  Descriptor file;
  std::string target;
  int error = 0;
};

/// Opens for reading the file `relative`, which the file `owner` (a model with
/// external data, an index of shards) names: `owner` may come from elsewhere,
/// so it may name nothing but what lies beside it. Symbolic links are followed
/// where they end at a file
///  - below the folder of `owner`,
///  - below the folder in which `owner` lies itself, where it is a link, or
///  - below `blobs`, where the folder is a snapshot of a Hugging Face cache
///    (REPOSITORY/snapshots/REVISION, with REPOSITORY/blobs);
/// docs/decisions/0018-links-that-external-data-may-follow.md has the reasons.
/// It waits for nothing (O_NONBLOCK), and may be anything but a folder.
ConfinedFile openBeside(const std::string &owner, const std::string &relative);

/// The same, of a regular file. Throws an Error for anything else.
Descriptor openConfined(const std::string &owner, const std::string &relative);

/// The folder of a path: "." where it names none.
std::string folderOf(const std::string &path);

} // namespace shardc::runtime

#endif
