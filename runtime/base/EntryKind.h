// What an entry of the plan is, read off plan.proto's own description of it.
#ifndef SHARDC_RUNTIME_BASE_ENTRYKIND_H
#define SHARDC_RUNTIME_BASE_ENTRYKIND_H

#include "runtime/plan.pb.h"

#include <optional>
#include <string>

namespace shardc::runtime {

/// The message of the entry's kind; null where it has none that this runtime
/// knows.
const google::protobuf::Message *messageOf(const plan::Entry &entry);

/// What plan.proto says of the kind: gemm, attention, loss, kernel, embedding,
/// copy, collective, wait, optimizer or other.
std::string workKind(const plan::Entry &entry);

/// The token of the collective that the entry starts or waits for.
std::optional<uint32_t> collectiveToken(const plan::Entry &entry);

/// Whether units are updated in backward, before there is a norm to clip by.
bool updatesInBackward(const plan::Program &train);

} // namespace shardc::runtime

#endif
