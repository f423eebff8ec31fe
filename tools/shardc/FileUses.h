// All files that a compilation reads and writes, compared before the first is
// written.
#ifndef SHARDC_TOOLS_SHARDC_FILEUSES_H
#define SHARDC_TOOLS_SHARDC_FILEUSES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace shardc {

/// Which file a path leads to, however it is spelt: its device and inode, links
/// followed. Where there is none yet, those of the nearest folder that is
/// there, and the names that lead on from it.
class FileIdentity {
public:
  explicit FileIdentity(llvm::StringRef path);
  bool operator==(const FileIdentity &other) const {
    return file == other.file && beyond == other.beyond;
  }
  bool exists() const { return beyond.empty(); }

private:
  llvm::sys::fs::UniqueID file;
  std::string beyond;
};

class FileUses {
public:
  /// `what`: the flag with its path, as errors show it: "--report r.json". An
  /// input that is not there is none.
  void reads(const llvm::Twine &what, llvm::StringRef path);
  void writes(const llvm::Twine &what, llvm::StringRef path);
  /// Files in `folder` whose names end in one of `endings` (".ptx"), which are
  /// not known yet. `flag` names the folder.
  void writesInto(llvm::StringRef flag, llvm::StringRef folder,
                  llvm::ArrayRef<llvm::StringRef> endings);

  /// An error that names both uses where an output is the same file as an input
  /// or as another output, by whatever spelling or link.
  llvm::Error check() const;

private:
  struct Use {
    std::string what;
    FileIdentity file, folder;
    std::string name;
    /// Of all files in `folder` with these endings; empty: of `file`.
    llvm::SmallVector<std::string, 2> endings;
  };
  static Use useOf(const llvm::Twine &what, llvm::StringRef path);
  static bool meet(const Use &a, const Use &b);

  llvm::SmallVector<Use> inputs, outputs;
};

} // namespace shardc

#endif
