// What an entry of the plan comes from, for people.
#ifndef SHARDC_RUNTIME_BASE_ENTRYTEXT_H
#define SHARDC_RUNTIME_BASE_ENTRYTEXT_H

#include "runtime/plan.pb.h"

#include <string>

namespace shardc::runtime {

/// "ONNX nodes A, B"; of many the first four, "and N more". Empty where an entry
/// comes from none.
std::string nodesText(const plan::Entry &entry);

/// The same of entry `index` of a program. What comes from no node, as a
/// collective, is said by what it is for: "before ONNX node A" in forward,
/// "behind ONNX node A" in what follows. Empty where the program has no nodes.
std::string nodesNear(const plan::Program &program, int index);

} // namespace shardc::runtime

#endif
