// The known word nearest to a mistyped one.
#ifndef SHARDC_RUNTIME_BASE_SUGGEST_H
#define SHARDC_RUNTIME_BASE_SUGGEST_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// Insertions, deletions, replacements and swaps of neighbours that lead from
/// one to the other.
size_t editDistance(std::string_view from, std::string_view to);

/// The candidate that `word` was probably meant to be; empty where none is
/// near.
std::string nearest(std::string_view word,
                    const std::vector<std::string> &candidates);

/// ", did you mean 'X'?" or nothing: the end of an error.
std::string suggestion(std::string_view word,
                       const std::vector<std::string> &candidates);

} // namespace shardc::runtime

#endif
