// The files that one path stands for.
#ifndef SHARDC_RUNTIME_FILES_LISTFILES_H
#define SHARDC_RUNTIME_FILES_LISTFILES_H

#include <string>
#include <vector>

namespace shardc::runtime {

/// The file itself, the files of a folder (without those whose names begin with
/// a dot, and without its folders), or those that a pattern (glob(7)) matches:
/// sorted by name. A path that is there is no pattern. Throws where a folder
/// or a pattern stands for no file.
std::vector<std::string> listFiles(const std::string &path);

} // namespace shardc::runtime

#endif
