// TOML by toml++. The one file of the runtime that includes it.
#include "runtime/flags/ConfigFile.h"

#include "runtime/base/Error.h"

// As in the compiler, which is built without exceptions.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

namespace shardc::runtime::cli {

template <typename Number> static std::string textOf(Number number) {
  char text[64];
  return std::string(text, std::to_chars(text, std::end(text), number).ptr);
}

static ConfigNode convert(const toml::node &node, const std::string &path) {
  using Kind = ConfigNode::Kind;
  ConfigNode result;
  result.line = node.source().begin.line;
  if (const toml::table *table = node.as_table()) {
    result.kind = Kind::Table;
    std::vector<std::pair<toml::source_position, const toml::node *>> order;
    std::vector<std::string> keys;
    for (auto &&[key, value] : *table) {
      order.emplace_back(key.source().begin, &value);
      keys.emplace_back(key.str());
    }
    // They come by name.
    std::vector<size_t> places(order.size());
    for (size_t i = 0; i < places.size(); ++i)
      places[i] = i;
    std::ranges::stable_sort(places, [&](size_t a, size_t b) {
      return order[a].first < order[b].first;
    });
    for (size_t place : places) {
      ConfigNode value = convert(*order[place].second, path);
      value.line = order[place].first.line;
      result.entries.push_back({keys[place], std::move(value)});
    }
  } else if (const toml::array *list = node.as_array()) {
    result.kind = Kind::List;
    for (const toml::node &element : *list)
      result.elements.push_back(convert(element, path));
  } else if (auto text = node.as_string()) {
    result.kind = Kind::Text;
    result.text = text->get();
  } else if (auto truth = node.as_boolean()) {
    result.kind = Kind::Boolean;
    result.text = truth->get() ? "true" : "false";
  } else if (auto whole = node.as_integer()) {
    result.kind = Kind::Number;
    result.text = textOf(whole->get());
  } else if (auto number = node.as_floating_point()) {
    result.kind = Kind::Number;
    result.text = textOf(number->get());
  } else {
    fail(path, ":", result.line,
         ": there is a date or a time, which no flag takes; put it in quotes");
  }
  return result;
}

ConfigNode parseToml(std::string_view text, const std::string &path) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    std::string what(parsed.error().description());
    if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z')
      what[0] |= 0x20;
    fail(path, ":", parsed.error().source().begin.line, ": ", what);
  }
  return convert(parsed.table(), path);
}

} // namespace shardc::runtime::cli
