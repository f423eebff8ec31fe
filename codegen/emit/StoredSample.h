// Values that stay in a file of external data: what a trainer knows them by.
#ifndef SHARDC_CODEGEN_EMIT_STOREDSAMPLE_H
#define SHARDC_CODEGEN_EMIT_STOREDSAMPLE_H

#include "llvm/ADT/StringRef.h"

namespace shardc {

/// Source.sample of plan.proto, of `length` bytes from `offset` on in `file`,
/// relative to the model's folder; 0 where they are not there. External data
/// may be hundreds of gigabytes, which no compile reads.
uint64_t storedSample(llvm::StringRef model, llvm::StringRef file,
                      int64_t offset, int64_t length);

} // namespace shardc

#endif
