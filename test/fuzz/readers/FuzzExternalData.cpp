// Paths of external data, as a model file names them: whatever they are, what
// is opened lies below the folder. The input is the path.
#include "runtime/files/ConfinedOpen.h"
#include "test/fuzz/readers/Harness.h"

#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <fstream>

using namespace shardc;

namespace {

/// root/secret, and root/model with a file, a folder, and links inside, out
/// and around.
class Folder {
public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "shardc-fuzz-XXXXXX")
            .string();
    root = std::filesystem::canonical(mkdtemp(pattern.data()));
    std::filesystem::create_directories(root / "model/a/b");
    for (const char *name : {"secret", "model/f", "model/a/f", "model/a/b/f"})
      std::ofstream(root / name) << name;
    std::filesystem::create_symlink("../secret", root / "model/out");
    std::filesystem::create_symlink("a/f", root / "model/in");
    std::filesystem::create_symlink("..", root / "model/up");
    std::filesystem::create_symlink("loop", root / "model/loop");
    std::filesystem::create_symlink(root, root / "model/a/whole");
    std::filesystem::create_symlink("../b", root / "model/a/b/again");
  }
  ~Folder() { std::filesystem::remove_all(root); }
  std::filesystem::path root;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  static const std::string model = (folder.root / "model").string(),
                           owner = model + "/model.onnx";
  std::string path(reinterpret_cast<const char *>(data), size);
  fuzz::read([&] {
    runtime::Descriptor file = runtime::openConfined(owner, path);
    char opened[PATH_MAX];
    std::string link = "/proc/self/fd/" + std::to_string(file.get());
    ssize_t length = readlink(link.c_str(), opened, sizeof(opened));
    fuzz::require(length > 0 &&
                  std::string(opened, size_t(length)).starts_with(model + "/"));
  });
  return 0;
}
