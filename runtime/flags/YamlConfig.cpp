// YAML by yaml-cpp. Its parser's events are taken, not its tree, which has no
// duplicate keys to show and follows aliases.
#include "runtime/flags/ConfigFile.h"

#include "runtime/base/Error.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <optional>
#include <sstream>

namespace shardc::runtime::cli {

namespace {

using Kind = ConfigNode::Kind;

class TreeBuilder final : public YAML::EventHandler {
public:
  explicit TreeBuilder(const std::string &path) : path(path) {}

  ConfigNode root;

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &mark, YAML::anchor_t) override {
    add(mark, Kind::Nothing);
  }
  void OnAlias(const YAML::Mark &mark, YAML::anchor_t) override {
    fail(path, ":", mark.line + 1,
         ": there is an alias (*NAME), which is not read; write out what it "
         "stands for");
  }
  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t,
                const std::string &value) override;
  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    checkTag(mark, tag);
    open(mark, Kind::List);
  }
  void OnSequenceEnd() override { stack.pop_back(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &tag,
                  YAML::anchor_t, YAML::EmitterStyle::value) override {
    checkTag(mark, tag);
    open(mark, Kind::Table);
  }
  void OnMapEnd() override { stack.pop_back(); }

private:
  /// A list or a table that is not complete.
  struct Open {
    ConfigNode *node;
    std::optional<std::string> key; // the next value's
    int64_t line = 0;               // the key's
  };

  void checkTag(const YAML::Mark &mark, const std::string &tag) {
    if (tag.size() > 1 && !tag.starts_with("tag:yaml.org,2002:"))
      fail(path, ":", mark.line + 1, ": there is a tag, ", tag,
           ", which is not read");
  }
  /// Null for a key.
  ConfigNode *add(const YAML::Mark &mark, Kind kind,
                  const std::string &text = "");
  void open(const YAML::Mark &mark, Kind kind) {
    if (ConfigNode *node = add(mark, kind))
      stack.push_back({node});
  }

  const std::string &path;
  /// What is open stays where it is: only the last one gets more.
  std::vector<Open> stack;
};

ConfigNode *TreeBuilder::add(const YAML::Mark &mark, Kind kind,
                             const std::string &text) {
  ConfigNode node;
  node.kind = kind;
  node.line = mark.line + 1;
  node.text = text;
  if (stack.empty()) {
    root = std::move(node);
    return &root;
  }
  Open &last = stack.back();
  if (last.node->kind == Kind::List)
    return &last.node->elements.emplace_back(std::move(node));
  if (!last.key) {
    if (!node.isScalar())
      fail(path, ":", node.line, ": a key is a text, got ", node.kindText());
    last.key = text;
    last.line = node.line;
    return nullptr;
  }
  node.line = last.line;
  last.node->entries.push_back({*last.key, std::move(node)});
  last.key.reset();
  return &last.node->entries.back().value;
}

void TreeBuilder::OnScalar(const YAML::Mark &mark, const std::string &tag,
                           YAML::anchor_t, const std::string &value) {
  checkTag(mark, tag);
  bool isPlain = tag == "?";
  for (const char *truth : {"true", "True", "TRUE", "false", "False", "FALSE"})
    if (isPlain && value == truth) {
      add(mark, Kind::Boolean, (value[0] | 0x20) == 't' ? "true" : "false");
      return;
    }
  double number;
  const char *end = value.data() + value.size();
  bool isNumber =
      isPlain && std::from_chars(value.data(), end, number).ptr == end;
  add(mark, isNumber ? Kind::Number : Kind::Text, value);
}

} // namespace

ConfigNode parseYaml(std::string_view text, const std::string &path) {
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(path);
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      TreeBuilder second(path);
      if (parser.HandleNextDocument(second))
        fail(path, ":", second.root.line,
             ": a second document begins here; there may be one");
    }
  } catch (const YAML::Exception &error) {
    if (error.mark.is_null())
      fail(path, ": ", error.msg);
    fail(path, ":", error.mark.line + 1, ": ", error.msg);
  }
  return std::move(builder.root);
}

} // namespace shardc::runtime::cli
