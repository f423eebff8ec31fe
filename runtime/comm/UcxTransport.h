// Messages over UCX (openucx.org): TCP, within a host and between hosts.
#ifndef SHARDC_RUNTIME_COMM_UCXTRANSPORT_H
#define SHARDC_RUNTIME_COMM_UCXTRANSPORT_H

#include "runtime/comm/Transport.h"

#include <memory>

namespace shardc::runtime {

/// Nothing of UCX is begun before the call. `exchange`: of the processes'
/// addresses. A process that dies is lost within a second, one whose host loses
/// its power within some more. Throws an Error where there is no network.
std::unique_ptr<Transport> ucxTransport(int process, int processes,
                                        const TextExchange &exchange);

} // namespace shardc::runtime

#endif
