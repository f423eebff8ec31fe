// The files that a compilation reads and writes, as its options name them.
#ifndef SHARDC_TOOLS_SHARDC_COMPILERFILES_H
#define SHARDC_TOOLS_SHARDC_COMPILERFILES_H

#include "tools/shardc/Options.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// Where --dump-phases-to puts the IR after a phase.
std::string phaseFile(const Options &options, Phase phase);

/// That no file is input and output, or two outputs. `externalData` is what the
/// model's file names, once it was read.
llvm::Error checkFiles(const Options &options,
                       llvm::ArrayRef<std::string> externalData);

} // namespace shardc

#endif
