// Any device, but it looks at what each entry has made: --check-finite.
#ifndef SHARDC_RUNTIME_CHECKED_CHECKEDDEVICE_H
#define SHARDC_RUNTIME_CHECKED_CHECKEDDEVICE_H

#include "runtime/device/Device.h"

#include <atomic>
#include <memory>

namespace shardc::runtime {

/// Null: devices check from the beginning. Otherwise from when it is set, and
/// run programs as ever before; all of a process's devices have one.
using CheckSwitch = std::shared_ptr<const std::atomic<bool>>;

/// Devices whose programs run an entry at a time on one of `inner`, and read
/// back every float that it writes. The first NaN or +inf is an Error that names
/// the entry, the operand and the element, and an operand that was not finite
/// before. -inf is let through: masks are made of it. So is what is gathered:
/// who reads it is named.
DeviceFactory checkedDevices(DeviceFactory inner, CheckSwitch when = nullptr);

} // namespace shardc::runtime

#endif
