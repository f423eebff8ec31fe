// What sort of work a plan entry is, as --profile and --trace call it.
#ifndef SHARDC_RUNTIME_METRICS_WORKKIND_H
#define SHARDC_RUNTIME_METRICS_WORKKIND_H

#include "runtime/plan.pb.h"

namespace shardc::runtime {

/// gemm, attention, loss, kernel, embedding, copy, collective, wait, optimizer
/// or other.
const char *workKind(const plan::Entry &entry);

/// The id of the collective that the entry starts or waits for, -1 for none.
int64_t collectiveId(const plan::Entry &entry);

} // namespace shardc::runtime

#endif
