// NumPy's .npy files: one array. Format: numpy.lib.format, versions 1.0
// to 3.0.
#ifndef SHARDC_RUNTIME_DATA_NPY_H
#define SHARDC_RUNTIME_DATA_NPY_H

#include "runtime/data/ArraySource.h"
#include "runtime/data/Tokens.h"

#include <cstdint>
#include <span>
#include <string>

namespace shardc::runtime {

/// Reads the header of a file of `fileSize` bytes and checks that the data are
/// all there. `begin`: its first bytes, at most `longestNpyHead` of them are
/// looked at. Throws an Error that begins with `name`.
StoredArray parseNpyHeader(std::span<const std::byte> begin, uint64_t fileSize,
                           const std::string &name);
/// NumPy itself reads headers of up to 10,000 characters.
constexpr size_t longestNpyHead = 1 << 16;

/// The ids in an array of one or two axes, row behind row; the rows are its
/// documents.
std::unique_ptr<Tokens> openNpyTokens(const std::string &path, Descriptor file);

/// Where a file's array lies. The dtype is INVALID where no input takes it.
StoredArray openNpyArray(const Descriptor &file, const std::string &path);

/// The samples of a file.
std::unique_ptr<Source> openNpy(SampleType type, const std::string &path,
                                Descriptor file);

} // namespace shardc::runtime

#endif
