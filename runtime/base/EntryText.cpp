// Entries are in the order in which they run: the nearest one that comes from a
// node says where in the model a rank is.
#include "runtime/base/EntryText.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace shardc::runtime {

/// An optimizer's step comes from all parameters of its unit, and has to leave
/// room in a line for what else there is to say.
static constexpr int namedNodes = 4;

std::string nodesText(const plan::Entry &entry) {
  if (entry.nodes().empty())
    return "";
  std::string text = entry.nodes_size() == 1 ? "ONNX node " : "ONNX nodes ";
  int named = std::min(entry.nodes_size(), namedNodes);
  for (int i = 0; i < named; ++i)
    text += (i ? ", " : "") + entry.nodes(i);
  if (entry.nodes_size() > named)
    text += concat(" and ", entry.nodes_size() - named, " more");
  return text;
}

/// The nearest entry on that side; negative: none there comes from a node.
static int nearest(const plan::Program &program, int index, int step) {
  for (index += step; index >= 0 && index < program.entries_size();
       index += step)
    if (program.entries(index).nodes_size() > 0)
      return index;
  return -1;
}

std::string nodesNear(const plan::Program &program, int index) {
  std::string own = nodesText(program.entries(index));
  if (!own.empty())
    return own;
  int before = nearest(program, index, -1), behind = nearest(program, index, 1);
  bool isForward = program.entries(index).phase() == "forward";
  if (behind >= 0 && (isForward || before < 0))
    return "before " + nodesText(program.entries(behind));
  return before < 0 ? "" : "behind " + nodesText(program.entries(before));
}

} // namespace shardc::runtime
