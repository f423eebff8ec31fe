// Which data this is, as far as can be seen at once: for processes that must
// have the same, and for runs that go on.
#ifndef SHARDC_RUNTIME_DATA_FINGERPRINT_H
#define SHARDC_RUNTIME_DATA_FINGERPRINT_H

#include "runtime/data/Dataset.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Of each of the data's files, with the input's name: its size, and the hash of
/// its first 64 KiB and of pieces all over it, fewer where there are many files.
/// Its path does not matter.
std::vector<std::pair<std::string, std::string>>
fingerprintsOfFiles(const Dataset &data);

/// The hash of the fingerprints of an input's files, by the input's name. Of
/// inputs that are read from files.
std::map<std::string, std::string> fingerprintsOf(const Dataset &data);

} // namespace shardc::runtime

#endif
