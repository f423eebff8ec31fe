// A file of samples, as a flag names it.
#ifndef SHARDC_RUNTIME_DATA_NAMEDFILE_H
#define SHARDC_RUNTIME_DATA_NAMEDFILE_H

#include <string>

namespace shardc::runtime {

/// NAME=FILE
struct NamedFile {
  std::string name;
  std::string path;
};

} // namespace shardc::runtime

#endif
