// Files that another file names, which must lie where that one does.
#ifndef SHARDC_RUNTIME_FILES_CONFINEDOPEN_H
#define SHARDC_RUNTIME_FILES_CONFINEDOPEN_H

#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

/// Opens for reading the file `relative`, which the file `owner` (a model with
/// external data, an index of shards) names: `owner` may come from elsewhere,
/// so it may name nothing but what lies beside it. Throws for a path that is
/// absolute or goes up. Symbolic links are followed where they end at a regular
/// file
///  - below the folder of `owner`,
///  - below the folder in which `owner` lies itself, where it is a link, or
///  - below `blobs`, where the folder is a snapshot of a Hugging Face cache
///    (REPOSITORY/snapshots/REVISION, with REPOSITORY/blobs),
/// and are an error elsewhere:
/// docs/decisions/0018-links-that-external-data-may-follow.md.
Descriptor openConfined(const std::string &owner, const std::string &relative);

/// The folder of a path: "." where it names none.
std::string folderOf(const std::string &path);

} // namespace shardc::runtime

#endif
