// step-outline-kernels: fuses ops that are generated code into kernels,
// functions of the nested module @kernels.
#include "codegen/Passes.h"

namespace shardc {
#define GEN_PASS_DEF_STEPOUTLINEKERNELS
#include "codegen/Passes.h.inc"

namespace {
struct StepOutlineKernels : impl::StepOutlineKernelsBase<StepOutlineKernels> {
  void runOnOperation() override {}
};
} // namespace
} // namespace shardc
