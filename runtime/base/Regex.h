// Regular expressions (ECMAScript), as --group has them. In a file of their own,
// since <regex> takes a compiler seconds.
#ifndef SHARDC_RUNTIME_BASE_REGEX_H
#define SHARDC_RUNTIME_BASE_REGEX_H

#include <memory>
#include <string>

namespace shardc::runtime {

class Regex {
public:
  /// Throws an Error that says why `pattern` is none.
  explicit Regex(const std::string &pattern);
  Regex(Regex &&) noexcept;
  ~Regex();

  /// Whether it is found anywhere in the text.
  bool isFoundIn(const std::string &text) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled;
};

} // namespace shardc::runtime

#endif
