// Configuration files: the first byte says whether the rest is TOML, YAML or
// JSON.
#include "runtime/flags/ConfigFile.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;
using runtime::cli::ConfigNode;

namespace {

void check(const ConfigNode &node) {
  bool isList = node.kind == ConfigNode::Kind::List,
       isTable = node.kind == ConfigNode::Kind::Table;
  fuzz::require((isList || node.elements.empty()) &&
                (isTable || node.entries.empty()) &&
                (node.isScalar() || node.text.empty()));
  for (const ConfigNode &element : node.elements)
    check(element);
  for (const auto &[key, value] : node.entries)
    check(value);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr const char *names[] = {"x.toml", "x.yaml", "x.json"};
  if (size == 0)
    return 0;
  std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  fuzz::read([&] {
    ConfigNode root = runtime::cli::parseConfig(text, names[data[0] % 3]);
    fuzz::require(root.kind == ConfigNode::Kind::Table);
    check(root);
  });
  return 0;
}
