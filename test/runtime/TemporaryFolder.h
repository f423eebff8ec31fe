// A folder for one test, removed with all that is in it.
#ifndef SHARDC_TEST_RUNTIME_TEMPORARYFOLDER_H
#define SHARDC_TEST_RUNTIME_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "shardc-test-XXXXXX")
            .string();
    root = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(root); }

  const std::string &path() const { return root; }
  std::string operator/(const std::string &name) const {
    return root + "/" + name;
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::string read(const std::string &name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
  }
  /// Names in the folder, in no order.
  size_t size() const {
    return std::distance(std::filesystem::directory_iterator(root),
                         std::filesystem::directory_iterator());
  }

private:
  std::string root;
};

#endif
