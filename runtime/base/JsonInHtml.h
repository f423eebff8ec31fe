// JSON in a page.
#ifndef SHARDC_RUNTIME_BASE_JSONINHTML_H
#define SHARDC_RUNTIME_BASE_JSONINHTML_H

#include <string>
#include <string_view>

namespace shardc::runtime {

/// The JSON text `json`, as it may stand in a script element of HTML: it ends
/// no element, whatever its strings hold.
inline std::string jsonInHtml(std::string_view json) {
  std::string text;
  for (char c : json)
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

} // namespace shardc::runtime

#endif
