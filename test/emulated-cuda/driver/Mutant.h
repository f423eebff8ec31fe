// A defect on purpose, so that tests can show what finds it. Nobody has to build
// anything for it.
//
// SHARDC_EMULATED_MUTANT="KIND|CALL|N|DEVICE|MORE..." changes the N-th call, from
// 1 on ("3+": that and all behind it), that a device makes ("*": each of them),
// and whose description begins with CALL, in which '*' stands for any text:
//
//   cuLaunchKernel of NAME                 cuMemcpyHtoDAsync of 48 bytes at ...
//   rank 0 of 2 (...): ncclAllGather of ...   cublasLtMatmul ...
//   cuEventRecord, cuStreamWaitEvent, cuEventSynchronize, cuStreamSynchronize,
//     each "behind" what the stream or event has last, or "behind nothing"
//   cuGraphLaunch                          cuMemAlloc of 4096 bytes
//
// and " in a capture" where that is so. KIND, with what MORE says:
//
//   drop                  it succeeds, and does nothing
//   early                 what it enqueues waits for nothing
//   before | FUNCTION     FUNCTION is called first: cuMemAlloc, cuMemFree (of
//                         the memory that its first parameter points to),
//                         cuStreamSynchronize, cuStreamQuery,
//                         cuEventSynchronize (of an event behind the stream),
//                         read (by the host, of what is freed above)
//   shift | BYTE | AMOUNT the 64-bit number at that byte of what it is given is
//                         so much more: a kernel's parameters; send, receive and
//                         count of a collective; A, B, C and D of a product;
//                         the bytes of an allocation
//   blocks | AMOUNT, threads | AMOUNT   of a launch, so many more
//   default               it is given the legacy default stream
//   pageable              a copy whose host memory is not pinned
//   again                 an allocation gives out what the one before it gave
//   swap                  a collective comes behind the next one
//   list                  nothing; with 1+, all such calls are printed
//
// "statement|KERNEL|OPCODE|N|MORE" is about code: the N-th statement of the
// kernel whose opcode begins with OPCODE is left out, or has the opcode MORE.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_MUTANT_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_MUTANT_H

#include "Work.h"

#include <string>
#include <vector>

namespace shardc::test::cuda {

struct Mutant {
  std::string kind, call;
  uint64_t number = 1;
  bool andLater = false, everyDevice = false;
  int device = 0;
  std::vector<std::string> more;

  /// It is a finding if the text is none.
  static Mutant read(const std::string &text);
};

/// Whether there is a mutant: descriptions are made for it alone.
bool hasMutant();
/// Whether this is the call that the mutant of a kind changes. Counts it.
bool isMutated(const char *kind, const std::string &description);
/// What the mutant says more, as a number.
int64_t mutantNumber(size_t which);
const std::string &mutantText(size_t which);
/// Calls what the mutant of the kind `before` says. `memory`: what the call that
/// is described is about.
CUresult callBefore(const std::string &description, CUstream stream,
                    CUdeviceptr memory);
/// The text of a kernel, as the mutant has it.
std::string mutatedKernel(const std::string &name, std::string text);

} // namespace shardc::test::cuda

#endif
