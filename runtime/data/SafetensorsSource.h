// Samples in a tensor of a safetensors file.
#ifndef SHARDC_RUNTIME_DATA_SAFETENSORSSOURCE_H
#define SHARDC_RUNTIME_DATA_SAFETENSORSSOURCE_H

#include "runtime/data/Source.h"
#include "runtime/files/Descriptor.h"

#include <span>

namespace shardc::runtime {

/// Whether a file of `fileSize` bytes that begins with these begins as a
/// safetensors file does: with the length of a JSON object.
bool looksLikeSafetensors(std::span<const std::byte> begin, uint64_t fileSize);

/// The samples of the tensor `column`.
std::unique_ptr<Source> openSafetensors(SampleType type,
                                        const std::string &path,
                                        Descriptor file,
                                        const std::string &column);

} // namespace shardc::runtime

#endif
