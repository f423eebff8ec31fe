// What an entry of the plan is, read off plan.proto's own description of it.
#ifndef SHARDC_RUNTIME_BASE_ENTRYKIND_H
#define SHARDC_RUNTIME_BASE_ENTRYKIND_H

#include "runtime/plan.pb.h"

#include <cstdint>
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

/// Whether an entry runs in the last micro-batch of a step only.
bool runsOnlyAtEnd(const plan::Entry &entry);
/// How often an entry runs in a step.
int64_t runsPerStep(const plan::Entry &entry, int64_t microBatches);

/// Whether units are updated in backward, before there is a norm to clip by.
bool updatesInBackward(const plan::Program &train);

} // namespace shardc::runtime

#endif
