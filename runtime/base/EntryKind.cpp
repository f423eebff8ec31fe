// Entries of the plan by reflection.
#include "runtime/base/EntryKind.h"

#include <algorithm>

namespace shardc::runtime {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

static const FieldDescriptor *kindOf(const plan::Entry &entry) {
  static const google::protobuf::OneofDescriptor *kind =
      plan::Entry::descriptor()->FindOneofByName("kind");
  return entry.GetReflection()->GetOneofFieldDescriptor(entry, kind);
}

const Message *messageOf(const plan::Entry &entry) {
  const FieldDescriptor *kind = kindOf(entry);
  return kind ? &entry.GetReflection()->GetMessage(entry, kind) : nullptr;
}

std::string workKind(const plan::Entry &entry) {
  const FieldDescriptor *kind = kindOf(entry);
  return kind ? kind->options().GetExtension(plan::work) : "other";
}

std::optional<uint32_t> collectiveToken(const plan::Entry &entry) {
  const Message *message = messageOf(entry);
  if (!message)
    return std::nullopt;
  const FieldDescriptor *token =
      message->GetDescriptor()->FindFieldByName("token");
  if (!token)
    return std::nullopt;
  return message->GetReflection()->GetUInt32(*message, token);
}

bool runsOnlyAtEnd(const plan::Entry &entry) {
  return entry.last() || entry.phase() == "optimizer";
}
int64_t runsPerStep(const plan::Entry &entry, int64_t microBatches) {
  return entry.first() || runsOnlyAtEnd(entry) ? 1 : microBatches;
}

bool updatesInBackward(const plan::Program &train) {
  return std::ranges::any_of(train.entries(), [](const plan::Entry &entry) {
    return entry.has_optimizer_step() && !entry.optimizer_step().has_norm();
  });
}

} // namespace shardc::runtime
