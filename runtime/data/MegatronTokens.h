// Megatron-LM's indexed datasets: ids in FILE.bin, where sequences and
// documents begin in FILE.idx.
#ifndef SHARDC_RUNTIME_DATA_MEGATRONTOKENS_H
#define SHARDC_RUNTIME_DATA_MEGATRONTOKENS_H

#include "runtime/data/Tokens.h"

#include <string_view>

namespace shardc::runtime {

inline constexpr std::string_view megatronMagic{"MMIDIDX\0\0", 9};

/// `path` and `index` are FILE.idx; FILE.bin lies beside it.
std::unique_ptr<Tokens> openMegatronTokens(const std::string &path,
                                           Descriptor index);

} // namespace shardc::runtime

#endif
