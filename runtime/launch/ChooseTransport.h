// What carries the messages of a run, by flags and the environment alone.
#ifndef SHARDC_RUNTIME_LAUNCH_CHOOSETRANSPORT_H
#define SHARDC_RUNTIME_LAUNCH_CHOOSETRANSPORT_H

#include "runtime/comm/MpiLibrary.h"
#include "runtime/launch/Launch.h"

#include <vector>

namespace shardc::runtime {

/// Throws an Error where MPI is asked for and no launcher has given this
/// process a place in it: MPI would take it for the only one.
TransportKind chosenTransport(const LaunchFlags &flags, const Launch &launch,
                              const Environment &environment);

/// Whose library knows what the launcher has told this process, the likeliest
/// first.
std::vector<MpiLibrary::Kind> mpiKinds(const Environment &environment);

} // namespace shardc::runtime

#endif
