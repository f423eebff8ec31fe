// What UCX reads of the environment before main().
#ifndef SHARDC_RUNTIME_COMM_QUIETUCX_H
#define SHARDC_RUNTIME_COMM_QUIETUCX_H

namespace shardc::runtime {

/// Takes back what keeps the UCX in this program from what the system's UCX
/// needs, which an MPI library may load: its modules are those of fabrics, and
/// their registered memory needs the hooks. Before other threads begin.
void leaveUcxToOthers();

} // namespace shardc::runtime

#endif
