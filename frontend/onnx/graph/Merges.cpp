// A value that a call takes and no call returns, beside an input that is the
// result of the same function.
#include "frontend/onnx/graph/Merges.h"
#include "frontend/onnx/graph/FxCall.h"

using llvm::StringRef;

namespace shardc::onnx {

std::vector<Merge> findMerges(llvm::ArrayRef<Node> nodes,
                              const GraphSignature &signature) {
  std::vector<Merge> merges;
  if (!signature.present)
    return merges;
  std::vector<FxCall> calls;
  llvm::StringSet<> returned;
  llvm::StringMap<int> producer;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    calls.push_back(fxCall(*node.proto));
    if (calls.back())
      returned.insert(calls.back().result);
    for (const std::string &output : node.proto->output())
      producer[output] = index;
  }
  llvm::StringSet<> seen;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    std::vector<StringRef> values = calls[index].values();
    for (StringRef value : values) {
      if (returned.contains(value))
        continue;
      for (const std::string &input : node.proto->input()) {
        auto entry = producer.find(input);
        if (entry == producer.end())
          continue;
        StringRef kept = calls[entry->second].result;
        if (kept == value || fxFunction(kept) != fxFunction(value))
          continue;
        std::vector<std::string> parameters =
            parameterArguments(*nodes[entry->second].proto, signature);
        if (!parameters.empty() && seen.insert(value).second)
          merges.push_back({entry->second, std::move(parameters), value.str()});
      }
    }
  }
  return merges;
}

} // namespace shardc::onnx
