// All files that a compilation reads and writes, compared before the first is
// written.
#include "tools/shardc/FileUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <filesystem>

using namespace shardc;
using llvm::StringRef;
using llvm::Twine;

/// What a path names once the links at its end are followed, also where the
/// last one leads to nothing yet.
static std::filesystem::path behindLinks(std::filesystem::path path) {
  constexpr int mostLinks = 40; // as the kernel
  std::error_code error;
  for (int i = 0; i < mostLinks && std::filesystem::is_symlink(path, error);
       ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

FileIdentity::FileIdentity(StringRef path) {
  std::filesystem::path at = path.str(), rest;
  auto find = [&] {
    return !llvm::sys::fs::getUniqueID(at.empty() ? "." : at.string(), file);
  };
  bool found = find();
  if (!found)
    at = behindLinks(at);
  for (; !found; found = find()) {
    rest = at.filename() / rest;
    at = at.parent_path();
  }
  beyond = rest.lexically_normal().string();
}

FileUses::Use FileUses::useOf(const Twine &what, StringRef path) {
  return {what.str(),
          FileIdentity(path),
          FileIdentity(llvm::sys::path::parent_path(path)),
          llvm::sys::path::filename(path).str(),
          {}};
}

void FileUses::reads(const Twine &what, StringRef path) {
  Use use = useOf(what, path);
  if (use.file.exists())
    inputs.push_back(std::move(use));
}

void FileUses::writes(const Twine &what, StringRef path) {
  outputs.push_back(useOf(what, path));
}

void FileUses::writesInto(StringRef flag, StringRef folder,
                          llvm::ArrayRef<StringRef> endings) {
  // What a link in the folder leads to would be lost as well.
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error))
    if (llvm::any_of(endings, [&](StringRef ending) {
          return StringRef(at->path()).ends_with(ending);
        }))
      writes(flag + " " + folder + " (" + at->path() + ")", at->path());
  outputs.push_back({(flag + " " + folder).str(), FileIdentity(folder),
                     FileIdentity(folder), "",
                     llvm::to_vector<2>(llvm::map_range(
                         endings, [](StringRef text) { return text.str(); }))});
}

bool FileUses::meet(const Use &a, const Use &b) {
  if (!b.endings.empty())
    return a.endings.empty() && meet(b, a);
  if (a.endings.empty())
    return a.file == b.file;
  return a.folder == b.folder && llvm::any_of(a.endings, [&](StringRef ending) {
           return StringRef(b.name).ends_with(ending);
         });
}

llvm::Error FileUses::check() const {
  for (auto [index, output] : llvm::enumerate(outputs)) {
    for (const Use &input : inputs)
      if (meet(output, input))
        return llvm::createStringError(
            output.what + " would overwrite what is read: it is the file of " +
            input.what + "; choose another path");
    for (const Use &other : llvm::ArrayRef(outputs).take_front(index))
      // What lies in the folder now is one of those that will.
      if (meet(output, other) &&
          !StringRef(other.what).starts_with(output.what + " ("))
        return llvm::createStringError(
            "two outputs would be one file: " + other.what + " and " +
            output.what + "; choose another path for one of them");
  }
  return llvm::Error::success();
}
