// Files that a model file names, which must lie in the model's folder.
#ifndef SHARDC_RUNTIME_FILES_CONFINEDOPEN_H
#define SHARDC_RUNTIME_FILES_CONFINEDOPEN_H

#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

/// Opens `relative` for reading below `folder`. Throws for a path that is
/// absolute, goes up, or leads through a symbolic link: a model file from
/// elsewhere names what it wants to be read.
Descriptor openConfined(const std::string &folder, const std::string &relative);

/// The folder of a path: "." where it names none.
std::string folderOf(const std::string &path);

} // namespace shardc::runtime

#endif
