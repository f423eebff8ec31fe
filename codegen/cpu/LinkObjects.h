// Links object files into one shared object, with lld, in this process.
#ifndef SHARDC_CODEGEN_CPU_LINKOBJECTS_H
#define SHARDC_CODEGEN_CPU_LINKOBJECTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace shardc::cpu {

/// Returns the bytes of a shared object that needs libmvec, libm and libc. It
/// is equal for equal objects in equal order.
llvm::Expected<std::string> linkObjects(llvm::ArrayRef<std::string> objects);

} // namespace shardc::cpu

#endif
