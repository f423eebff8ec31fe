// Why a worker of torchrun ended, where its agent looks for it.
#ifndef SHARDC_RUNTIME_LAUNCH_ERRORFILE_H
#define SHARDC_RUNTIME_LAUNCH_ERRORFILE_H

#include "runtime/launch/Launch.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// What torch.distributed.elastic.multiprocessing.errors reads: JSON with the
/// message, and the time (in seconds since 1970) that tells which worker's
/// error was the first.
std::string errorFileText(const std::string &message, int64_t time);

/// Writes it to the file that TORCHELASTIC_ERROR_FILE names; nothing where
/// that is not set. Returns whether it could: a run that fails is not the place
/// to fail again.
bool writeErrorFile(const Environment &environment, const std::string &message);

} // namespace shardc::runtime

#endif
