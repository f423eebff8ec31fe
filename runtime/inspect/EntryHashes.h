// --hash-entries: what each entry has read and written, as hashes, so that two
// runs can be compared (shardc diff).
#ifndef SHARDC_RUNTIME_INSPECT_ENTRYHASHES_H
#define SHARDC_RUNTIME_INSPECT_ENTRYHASHES_H

#include "runtime/inspect/InspectedDevice.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Each rank writes a file (HashFiles.h) into the folder, in place of an earlier one: a line
/// with `ranks`, `rank` and `model` (the hash of the ONNX file), and then one of
/// each entry of the run's first `steps` steps, and of evaluations up to there,
/// in their order:
///
///     {"step":1,"micro_batch":0,"entry":"plan entry linear_1 (train, forward)",
///      "nodes":"...","read":{"a":"16 digits"},"written":{"c":"..."}}
///
/// A hash is XXH3-64 of an operand's elements in row-major order. What an entry
/// writes over has none of what it read. A line that cannot be written is an
/// Error.
InspectorFactory entryHashes(std::string folder, int64_t steps,
                             uint64_t modelHash);

} // namespace shardc::runtime

#endif
