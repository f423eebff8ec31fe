// Whether a path leads all processes of a run to one folder.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SHAREDFOLDER_H
#define SHARDC_RUNTIME_CHECKPOINT_SHAREDFOLDER_H

#include "runtime/comm/Communicator.h"

#include <string>

namespace shardc::runtime {

/// Called by all ranks together. Rank 0 writes a file of a random name, which
/// every rank looks for; then nothing is left of it, nor of folders that were
/// made for it. Throws an Error on all ranks where one does not see it, or where
/// it cannot be written.
void checkSharedFolder(Communicator &communicator, const std::string &path);

} // namespace shardc::runtime

#endif
