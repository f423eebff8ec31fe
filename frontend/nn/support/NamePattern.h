// Regular expressions over names of parameters and modules, as flags take them.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_NAMEPATTERN_H
#define SHARDC_FRONTEND_NN_SUPPORT_NAMEPATTERN_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace shardc {

/// POSIX has no \d, \w and \s, which users of other expressions write: spells
/// them (and \D, \W, \S outside of brackets) as bracket expressions.
std::string translatePattern(llvm::StringRef pattern);

} // namespace shardc

#endif
