// What the flags say of a self-test.
#ifndef SHARDC_RUNTIME_SELFTEST_SELFTESTOPTIONS_H
#define SHARDC_RUNTIME_SELFTEST_SELFTESTOPTIONS_H

#include <optional>
#include <string>

namespace shardc::runtime {

struct SelfTestOptions {
  bool wanted = false;
  std::optional<double> least;        // bytes per second
  std::optional<std::string> cluster; // path of the file
};

} // namespace shardc::runtime

#endif
