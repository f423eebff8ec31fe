// This machine's name.
#ifndef SHARDC_RUNTIME_BASE_HOSTNAME_H
#define SHARDC_RUNTIME_BASE_HOSTNAME_H

#include <string>

namespace shardc::runtime {

/// "unknown-host" where it has none.
std::string hostName();

} // namespace shardc::runtime

#endif
