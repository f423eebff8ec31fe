// Entries are in the order in which they run: the nearest one that comes from a
// node says where in the model a rank is.
#include "runtime/base/EntryText.h"

namespace shardc::runtime {

std::string nodesText(const plan::Entry &entry) {
  std::string text;
  for (const std::string &node : entry.nodes())
    text += (text.empty() ? "" : ", ") + node;
  if (text.empty())
    return text;
  return (entry.nodes_size() == 1 ? "ONNX node " : "ONNX nodes ") + text;
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
