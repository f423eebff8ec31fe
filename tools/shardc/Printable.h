// Text from files and command lines, as it may be shown on a terminal.
#ifndef SHARDC_TOOLS_SHARDC_PRINTABLE_H
#define SHARDC_TOOLS_SHARDC_PRINTABLE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace shardc {

/// One line. What a terminal obeys instead of showing it, and bytes that are no
/// UTF-8, become \n, \t, \xNN or \u{NNNN}. A word (a name, a path) of more than
/// 256 bytes is cut to that many, "..." in its middle, and a line to 4096.
std::string printable(llvm::StringRef text);

/// The same line by line: what divides lines stays.
std::string printableLines(llvm::StringRef text);

} // namespace shardc

#endif
