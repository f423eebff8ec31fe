// Any device, but it looks at what each entry has made: --check-finite.
#ifndef SHARDC_RUNTIME_CHECKED_CHECKEDDEVICE_H
#define SHARDC_RUNTIME_CHECKED_CHECKEDDEVICE_H

#include "runtime/device/Device.h"

namespace shardc::runtime {

/// Devices whose programs run an entry at a time on one of `inner`, and read
/// back every float that it writes. The first NaN or +inf is an Error that names
/// the entry, the operand and the element, and an operand that was not finite
/// before. -inf is let through: masks are made of it.
DeviceFactory checkedDevices(DeviceFactory inner);

} // namespace shardc::runtime

#endif
