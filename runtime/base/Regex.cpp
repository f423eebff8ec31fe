// Regular expressions.
#include "runtime/base/Regex.h"

#include "runtime/base/Error.h"

#include <regex>

namespace shardc::runtime {

struct Regex::Compiled {
  std::regex regex;
};

Regex::Regex(const std::string &pattern) {
  try {
    compiled = std::make_unique<Compiled>(std::regex(pattern));
  } catch (const std::regex_error &error) {
    throw Error(error.what());
  }
}

Regex::Regex(Regex &&) noexcept = default;
Regex::~Regex() = default;

bool Regex::isFoundIn(const std::string &text) const {
  return std::regex_search(text, compiled->regex);
}

} // namespace shardc::runtime
