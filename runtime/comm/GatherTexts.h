// Texts of all ranks, for all of them.
#ifndef SHARDC_RUNTIME_COMM_GATHERTEXTS_H
#define SHARDC_RUNTIME_COMM_GATHERTEXTS_H

#include "runtime/comm/Communicator.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// Called by all ranks together; by rank what each gave. Any bytes.
std::vector<std::string> gatherTexts(Communicator &communicator,
                                     std::string_view own);

} // namespace shardc::runtime

#endif
