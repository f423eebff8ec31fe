// All files that a run reads and writes, compared before the first is written.
#ifndef SHARDC_RUNTIME_FILES_FILEUSES_H
#define SHARDC_RUNTIME_FILES_FILEUSES_H

#include "runtime/files/FileIdentity.h"

#include <string>
#include <vector>

namespace shardc::runtime {

class FileUses {
public:
  /// `what`: the flag with its path, as errors show it: "--metrics m.jsonl". An
  /// input that is not there is none.
  void reads(std::string what, const std::string &path);
  void writes(std::string what, const std::string &path);

  /// Throws an Error that names both uses where an output is the same file as
  /// an input or as another output, by whatever spelling or link.
  void check() const;

private:
  struct Use {
    std::string what;
    FileIdentity file;
  };
  std::vector<Use> inputs, outputs;
};

} // namespace shardc::runtime

#endif
