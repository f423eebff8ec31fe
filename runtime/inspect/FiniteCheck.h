// --check-finite: looks at what each entry has made.
#ifndef SHARDC_RUNTIME_INSPECT_FINITECHECK_H
#define SHARDC_RUNTIME_INSPECT_FINITECHECK_H

#include "runtime/inspect/InspectedDevice.h"

#include <atomic>
#include <memory>

namespace shardc::runtime {

/// Null: devices check from the beginning. Otherwise from when it is set, and
/// run programs as ever before; all of a process's devices have one.
using CheckSwitch = std::shared_ptr<const std::atomic<bool>>;

/// Reads back every float that an entry writes. The first NaN or +inf is an
/// Error that names the entry, the operand and the element, and an operand that
/// was not finite before. -inf is let through: masks are made of it. So is what
/// is gathered: who reads it is named.
InspectorFactory finiteCheck(CheckSwitch when = nullptr);

} // namespace shardc::runtime

#endif
