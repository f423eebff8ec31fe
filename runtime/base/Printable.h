// Text from files and command lines, as it may be shown on a terminal.
#ifndef SHARDC_RUNTIME_BASE_PRINTABLE_H
#define SHARDC_RUNTIME_BASE_PRINTABLE_H

#include <string>
#include <string_view>

namespace shardc::runtime {

/// One line. Control characters (a terminal obeys them), characters that turn
/// the direction of text, and bytes that are no UTF-8 are shown as \n, \t, \xNN
/// or \u{NNNN}. A word (a name, a path) of more than 256 bytes is cut to that
/// many, "..." in its middle, and a line to 4096.
std::string printable(std::string_view text);

/// The same line by line: what divides lines stays.
std::string printableLines(std::string_view text);

} // namespace shardc::runtime

#endif
