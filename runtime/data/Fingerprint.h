// Which data this is, as far as can be seen at once: for processes that must
// have the same, and for runs that go on.
#ifndef SHARDC_RUNTIME_DATA_FINGERPRINT_H
#define SHARDC_RUNTIME_DATA_FINGERPRINT_H

#include "runtime/data/Dataset.h"

#include <map>
#include <string>

namespace shardc::runtime {

/// A file's size, and the hash of its first 64 KiB and of pieces all over it:
/// its path does not matter.
std::string fingerprintOf(const std::string &path);

/// The hash of the fingerprints of an input's files, by the input's name. Of
/// inputs that are read from files.
std::map<std::string, std::string> fingerprintsOf(const Dataset &data);

} // namespace shardc::runtime

#endif
