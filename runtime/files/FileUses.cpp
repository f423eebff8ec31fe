// All files that a program reads and writes, compared before the first is
// written.
#include "runtime/files/FileUses.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace shardc::runtime {

namespace fs = std::filesystem;

static bool endsInOneOf(const std::string &path,
                        const std::vector<std::string_view> &endings) {
  return std::ranges::any_of(
      endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

void FileUses::reads(std::string what, const std::string &path) {
  FileIdentity file(path);
  if (file.exists())
    inputs.push_back({std::move(what), path, file});
}

void FileUses::writes(std::string what, const std::string &path) {
  outputs.push_back({std::move(what), path, FileIdentity(path)});
}

void FileUses::writesInto(const std::string &what, const std::string &folder,
                          std::vector<std::string_view> endings) {
  // What a link in the folder leads to would be lost as well.
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (endsInOneOf(at->path(), endings))
      writes(concat(what, " (", at->path().string(), ")"), at->path());
  outputs.push_back({what, folder, FileIdentity(folder), std::move(endings)});
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

bool FileUses::Use::meets(const Use &other) const {
  if (!other.endings.empty())
    return endings.empty() && other.meets(*this);
  if (endings.empty())
    return file == other.file;
  return file == FileIdentity(fs::path(other.path).parent_path()) &&
         endsInOneOf(other.path, endings);
}

std::string FileUses::conflict() const {
  for (const Owned &own : owned)
    for (const std::vector<Use> *uses : {&inputs, &outputs})
      for (const Use &use : *uses)
        if (std::string name = entryOf(own.path, use.path);
            !name.empty() && own.isOwn(name))
          return concat(use.what, " lies in ", name, " of ", own.what,
                        ", which this run may replace or remove; choose "
                        "another path for one of them");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Use &output = outputs[i];
    for (const Use &input : inputs)
      if (output.meets(input))
        return concat(output.what,
                      " would overwrite what is read: it is the file of ",
                      input.what, "; choose another path");
    for (size_t j = 0; j < i; ++j)
      // What lies in a folder now is one of those that will.
      if (output.meets(outputs[j]) &&
          !outputs[j].what.starts_with(output.what + " ("))
        return concat("two outputs would be one file: ", outputs[j].what,
                      " and ", output.what,
                      "; choose another path for one of them");
  }
  return "";
}

void FileUses::check() const {
  if (std::string text = conflict(); !text.empty())
    throw Error(text);
}

} // namespace shardc::runtime
