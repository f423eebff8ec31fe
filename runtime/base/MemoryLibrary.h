// Shared libraries that lie in this process's memory, loaded without touching a
// file system.
#ifndef SHARDC_RUNTIME_BASE_MEMORYLIBRARY_H
#define SHARDC_RUNTIME_BASE_MEMORYLIBRARY_H

#include <cstddef>
#include <span>

namespace shardc::runtime {

/// Loads the ELF shared object `image`, for dlsym(). It stays loaded until the
/// process ends. `name`: what profilers and debuggers call it; `what`: what an
/// Error does.
void *loadFromMemory(std::span<const std::byte> image, const char *name,
                     const char *what);

} // namespace shardc::runtime

#endif
