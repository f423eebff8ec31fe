// The values of --group, --init-group, --no-decay and --weights-match.
#ifndef SHARDC_RUNTIME_CLI_PARSEGROUPS_H
#define SHARDC_RUNTIME_CLI_PARSEGROUPS_H

#include "runtime/train/Options.h"

#include <string>
#include <vector>

namespace shardc::runtime::cli {

/// A regex, as it is given. Throws an Error that begins with the flag.
std::string parseRegex(const std::string &flag, const std::string &text);

/// match=REGEX,lr-scale=F,weight-decay=F in any order, one of the numbers at
/// least. The regex may have commas: it ends where another key begins. Throws
/// an Error that begins with the flag.
GroupOption parseGroup(const std::string &flag, const std::string &text);

/// match=REGEX,DISTRIBUTION or match=REGEX,DISTRIBUTION=NUMBER,...: the regex
/// ends where the name of the last distribution begins.
InitGroupOption parseInitGroup(const std::string &flag,
                               const std::string &text);

/// match=REGEX,p=RATE: the regex may have commas, the rate is in [0, 1].
DropoutRateOption parseDropoutRate(const std::string &flag,
                                   const std::string &text);

/// Roles of parameters, separated by commas: norm, bias, embedding.
std::vector<std::string> parseRoles(const std::string &flag,
                                    const std::string &text);

} // namespace shardc::runtime::cli

#endif
