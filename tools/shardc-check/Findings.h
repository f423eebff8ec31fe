// What is wrong with a plan, and where.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_FINDINGS_H
#define SHARDC_TOOLS_SHARDC_CHECK_FINDINGS_H

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace shardc::check {

template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Findings in their order, each once.
class Findings {
public:
  template <typename... Parts>
  void add(const std::string &where, const Parts &...parts) {
    std::string line = where + ": " + concat(parts...);
    if (seen.insert(line).second)
      lines.push_back(line);
  }
  const std::vector<std::string> &all() const { return lines; }

private:
  std::set<std::string> seen;
  std::vector<std::string> lines;
};

} // namespace shardc::check

#endif
