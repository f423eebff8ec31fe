// Which instructions the runtime's own loops and products use: the processor's,
// or fewer, where the environment says so.
#ifndef SHARDC_RUNTIME_SIMD_LEVEL_H
#define SHARDC_RUNTIME_SIMD_LEVEL_H

namespace shardc::runtime::simd {

/// The x86-64 microarchitecture level of this processor (System V ABI, AMD64
/// supplement, 3.1.1): 4 has AVX-512, 3 AVX2, everything else counts as 2.
int processorLevel();

/// The level that the environment asks for, so that one machine shows what
/// another would do: SHARDC_CPU=x86-64-v2, -v3 or -v4. It is the processor's
/// where nothing is asked for, and 0 where it is none of these.
int wantedLevel();

/// The level of what runs: the wanted one if the processor has it, else the
/// processor's (checkProcessor() refuses that).
int level();

} // namespace shardc::runtime::simd

#endif
