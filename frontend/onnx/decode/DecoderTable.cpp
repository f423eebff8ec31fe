// The table of decoders, and what is said of operators that are not in it.
#include "frontend/onnx/decode/DecoderTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

DecoderTable::DecoderTable() {
  for (ArrayRef<Decoder> family : {constantDecoders(),
                                   elementwiseDecoders(),
                                   activationDecoders(),
                                   shapeDecoders(),
                                   padDecoders(),
                                   sequenceDecoders(),
                                   indexingDecoders(),
                                   reductionDecoders(),
                                   normalizationDecoders(),
                                   randomDecoders(),
                                   matMulDecoders(),
                                   convolutionDecoders(),
                                   poolingDecoders(),
                                   batchNormDecoders(),
                                   channelNormDecoders(),
                                   resizeDecoders(),
                                   scatterDecoders(),
                                   recurrentDecoders(),
                                   einsumDecoders(),
                                   attentionDecoders(),
                                   lossDecoders(),
                                   trigonometryDecoders(),
                                   bitDecoders(),
                                   cumulativeDecoders(),
                                   samplingDecoders(),
                                   linearAttentionDecoders(),
                                   optimizerDecoders(),
                                   microsoftDecoders(),
                                   microsoftAttentionDecoders(),
                                   fourierDecoders(),
                                   quantizeDecoders(),
                                   controlFlowDecoders()})
    for (const Decoder &decoder : family)
      table[decoder.op].push_back(decoder);
}

/// The name that a node's decoders are listed by.
static std::string listedName(const Node &node) {
  StringRef domain = node.proto->domain();
  std::string prefix =
      domain.empty() || domain == "ai.onnx" ? "" : (domain + ".").str();
  return prefix + node.proto->op_type();
}

const Decoder *DecoderTable::find(const Node &node) const {
  auto entry = table.find(listedName(node));
  const Decoder *best = nullptr;
  if (entry != table.end())
    for (const Decoder &decoder : entry->second)
      if (decoder.since <= node.opset && (!best || decoder.since > best->since))
        best = &decoder;
  return best;
}

SmallVector<StringRef> DecoderTable::otherDomains() const {
  SmallVector<StringRef> domains;
  for (StringRef name : names())
    if (name.contains('.') &&
        !llvm::is_contained(domains, name.rsplit('.').first))
      domains.push_back(name.rsplit('.').first);
  return domains;
}

std::vector<StringRef> DecoderTable::names() const {
  std::vector<StringRef> result;
  for (const auto &entry : table)
    result.push_back(entry.getKey());
  llvm::sort(result);
  return result;
}

std::string DecoderTable::whyUnsupported(const Node &node) const {
  StringRef domain = node.proto->domain();
  const std::string listed = listedName(node);
  StringRef op = listed;
  if (op != node.proto->op_type()) {
    SmallVector<StringRef> known = otherDomains();
    if (!llvm::is_contained(known, domain))
      return ("operators of domain '" + domain +
              "' are not supported; supported are the default domain, " +
              llvm::join(known, ", ") + " and the model's own functions")
          .str();
    if (node.opset < 1)
      return ("the model's opset_import lacks the domain '" + domain + "'")
          .str();
  }
  if (auto entry = table.find(op); entry != table.end()) {
    int64_t since = INT64_MAX;
    for (const Decoder &decoder : entry->second)
      since = std::min(since, decoder.since);
    return "the operator is supported from opset " + std::to_string(since) +
           " on; export the model with that opset or a later one";
  }
  // A third of its letters may differ, or one name begins or ends as the other.
  constexpr size_t most = 3;
  std::vector<std::pair<unsigned, StringRef>> near;
  for (StringRef name : names()) {
    unsigned distance = op.edit_distance_insensitive(name);
    StringRef shorter = std::min(
        op, name, [](StringRef a, StringRef b) { return a.size() < b.size(); });
    StringRef longer = shorter == op ? name : op;
    if (distance * 3 <= std::max(op.size(), name.size()) ||
        (shorter.size() >= 4 && (longer.starts_with_insensitive(shorter) ||
                                 longer.ends_with_insensitive(shorter))))
      near.emplace_back(distance, name);
  }
  llvm::sort(near);
  // One that differs in capitals alone is the one that is meant.
  if (!near.empty() && near.front().first == 0)
    near.resize(1);
  std::vector<StringRef> nearest;
  for (auto [distance, name] : llvm::ArrayRef(near).take_front(most))
    nearest.push_back(name);
  return "the operator is not supported; " +
         (nearest.empty()
              ? std::string()
              : "the nearest that " +
                    std::string(nearest.size() > 1 ? "are: " : "is: ") +
                    llvm::join(nearest, ", ") + "; ") +
         "shardc --list-ops prints all";
}

std::string DecoderTable::list() const {
  std::string result;
  for (StringRef name : names()) {
    result += name;
    llvm::SmallVector<int64_t> versions;
    for (const Decoder &decoder : table.find(name)->second)
      versions.push_back(decoder.since);
    llvm::sort(versions);
    for (int64_t version : versions)
      result += " " + std::to_string(version);
    result += "\n";
  }
  return result;
}
