// Amounts of memory as flags take them.
#ifndef SHARDC_PASSES_OPTIONS_BYTESIZE_H
#define SHARDC_PASSES_OPTIONS_BYTESIZE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace shardc {

/// What parseByteSize accepts, for errors.
constexpr llvm::StringLiteral byteSizeForms =
    "a number of bytes from 1 on, with kB, MB, GB, KiB, MiB or GiB after it";

/// "100MB", "1.5GiB", "4096"; nothing where the text is none of these.
std::optional<double> parseByteSize(llvm::StringRef text);

} // namespace shardc

#endif
