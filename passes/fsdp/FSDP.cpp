// The fsdp dialect's registration.
#include "passes/fsdp/FSDP.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::fsdp;

#include "passes/fsdp/FSDPDialect.cpp.inc"
#include "passes/fsdp/FSDPEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "passes/fsdp/FSDPAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "passes/fsdp/CollectiveInterface.cpp.inc"
#include "passes/fsdp/FSDPTypes.cpp.inc"
#define GET_OP_CLASSES
#include "passes/fsdp/FSDPOps.cpp.inc"

void FSDPDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "passes/fsdp/FSDPAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "passes/fsdp/FSDPTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "passes/fsdp/FSDPOps.cpp.inc"
      >();
}
