// Whether this machine's processor runs the kernels that were compiled.
#ifndef SHARDC_RUNTIME_CPU_PROCESSOR_H
#define SHARDC_RUNTIME_CPU_PROCESSOR_H

#include <string>

namespace shardc::runtime {

/// The x86-64 microarchitecture level (2 to 4) that code for `cpu` needs, which
/// is a name of LLVM's or x86-64-vN. It is 0 where it is not known.
int neededLevel(const std::string &cpu);

/// Throws an Error where the kernels would end in an illegal instruction, as
/// far as the name tells, and where SHARDC_CPU in the environment asks for
/// loops that the processor does not run (simd/Level.h).
void checkProcessor(const std::string &cpu);

} // namespace shardc::runtime

#endif
