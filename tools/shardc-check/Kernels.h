// What a generated kernel computes, by the body that the plan has of it.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_KERNELS_H
#define SHARDC_TOOLS_SHARDC_CHECK_KERNELS_H

#include "tools/shardc-check/Plans.h"
#include "tools/shardc-check/Values.h"

namespace shardc::check {

/// The outputs of a launch, from the values of its inputs.
std::vector<Value> outputsOf(const plan::Kernel &kernel,
                             const plan::Launch &launch,
                             const std::vector<Value> &inputs, Values &values);

/// Whether an output may lie where an input does, as far as the body says: each
/// element, or each row of the last dim, is computed from that of the input.
bool mayLieInPlace(const plan::Kernel &kernel, const plan::Launch &launch,
                   int input, int output);

/// Reports a body and operands that do not fit together.
void checkLaunch(const plan::Plan &plan, const plan::Entry &entry,
                 Findings &findings);

/// A number as the checker writes it, whoever wrote it before.
std::string numberText(const std::string &text);

} // namespace shardc::check

#endif
