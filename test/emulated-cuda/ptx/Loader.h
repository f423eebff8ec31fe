// Kernels in PTX as code of this machine, one by one and on demand. What was
// compiled is kept in a folder, for processes that come later.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_LOADER_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_LOADER_H

#include "Thread.h"

#include <string>

namespace shardc::test::ptx {

struct LoadedKernel {
  Kernel function = nullptr;
  const KernelFacts *facts = nullptr;
  const ConstantRange *constants = nullptr;
  /// What is not understood, or went wrong; empty: nothing.
  std::string problem;
};

/// Returns the kernel `name` of a text that holds it and all it mentions
/// (Pieces::kernel). Code stays until the process ends. `folder`: where objects
/// are kept, by a hash of the text, the processor and the translation's version;
/// empty: nowhere. Safe to call from several threads.
LoadedKernel loadKernel(const std::string &text, const std::string &name,
                        bool checked, const std::string &folder);

/// What of a module is not understood; empty: nothing. That a text was
/// understood is kept in `folder` too.
std::string whatIsWrong(const std::string &text, const std::string &folder);

} // namespace shardc::test::ptx

#endif
