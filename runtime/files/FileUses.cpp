// All files that a run reads and writes, compared before the first is written.
#include "runtime/files/FileUses.h"

#include "runtime/base/Error.h"

#include <filesystem>
#include <utility>

namespace shardc::runtime {

namespace fs = std::filesystem;

void FileUses::reads(std::string what, const std::string &path) {
  FileIdentity file(path);
  if (file.exists())
    inputs.push_back({std::move(what), path, file});
}

void FileUses::writes(std::string what, const std::string &path) {
  outputs.push_back({std::move(what), path, FileIdentity(path)});
}

void FileUses::owns(std::string what, const std::string &path,
                    std::function<bool(const std::string &name)> isOwn) {
  owned.push_back({std::move(what), path, std::move(isOwn)});
}

std::string FileUses::entryOf(const std::string &folder,
                              const std::string &path) {
  std::error_code error;
  fs::path root = fs::weakly_canonical(fs::absolute(folder, error), error);
  fs::path inside = fs::weakly_canonical(fs::absolute(path, error), error)
                        .lexically_relative(root);
  std::string first = inside.empty() ? "" : inside.begin()->string();
  return first == "." || first == ".." ? "" : first;
}

void FileUses::check() const {
  for (const Owned &own : owned)
    for (const std::vector<Use> *uses : {&inputs, &outputs})
      for (const Use &use : *uses)
        if (std::string name = entryOf(own.path, use.path);
            !name.empty() && own.isOwn(name))
          fail(use.what, " lies in ", name, " of ", own.what,
               ", which this run may replace or remove; choose another path "
               "for one of them");
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
