// All files that a run reads and writes, compared before the first is written.
#include "runtime/files/FileUses.h"

#include "runtime/base/Error.h"

#include <utility>

namespace shardc::runtime {

void FileUses::reads(std::string what, const std::string &path) {
  FileIdentity file(path);
  if (file.exists())
    inputs.push_back({std::move(what), file});
}

void FileUses::writes(std::string what, const std::string &path) {
  outputs.push_back({std::move(what), FileIdentity(path)});
}

void FileUses::check() const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Use &output = outputs[i];
    for (const Use &input : inputs)
      if (input.file == output.file)
        fail(output.what, " would overwrite what is read: it is the file of ",
             input.what, "; choose another path");
    for (size_t j = 0; j < i; ++j)
      if (outputs[j].file == output.file)
        fail("two outputs would be one file: ", outputs[j].what, " and ",
             output.what, "; choose another path for one of them");
  }
}

} // namespace shardc::runtime
