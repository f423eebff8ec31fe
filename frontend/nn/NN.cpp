// The nn dialect's registration.
#include "frontend/nn/NN.h"

#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/KernelBuilder.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <type_traits>

using namespace mlir;
using namespace shardc::nn;

/// Types of operands and result: one where all are equal, else a function type.
static void printSameTypes(OpAsmPrinter &printer, Operation *, Type operand,
                           Type result) {
  if (operand == result)
    printer << result;
  else
    printer << '(' << operand << ") -> " << result;
}
static void printSameTypes(OpAsmPrinter &printer, Operation *, Type first,
                           Type second, Type result) {
  if (first == result && second == result)
    printer << result;
  else
    printer << '(' << first << ", " << second << ") -> " << result;
}
static ParseResult parseSameTypes(OpAsmParser &parser,
                                  ArrayRef<Type *> operands, Type &result) {
  if (failed(parser.parseOptionalLParen())) {
    if (failed(parser.parseType(result)))
      return failure();
    for (Type *operand : operands)
      *operand = result;
    return success();
  }
  for (Type *operand : operands)
    if ((operand != operands.front() && failed(parser.parseComma())) ||
        failed(parser.parseType(*operand)))
      return failure();
  return failure(failed(parser.parseRParen()) || failed(parser.parseArrow()) ||
                 failed(parser.parseType(result)));
}
static ParseResult parseSameTypes(OpAsmParser &parser, Type &operand,
                                  Type &result) {
  return parseSameTypes(parser, {&operand}, result);
}
static ParseResult parseSameTypes(OpAsmParser &parser, Type &first,
                                  Type &second, Type &result) {
  return parseSameTypes(parser, {&first, &second}, result);
}

#include "frontend/nn/NNDialect.cpp.inc"
#include "frontend/nn/NNEnums.cpp.inc"
#include "frontend/nn/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "frontend/nn/NNAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "frontend/nn/NNOps.cpp.inc"

template <typename... Ops> void NNDialect::addOpsAndPromises() {
  addOperations<Ops...>();
  auto promise = [&]<typename OpTy>(std::type_identity<OpTy>) {
    if constexpr (OpTy::template hasTrait<HasLibraryCall>())
      this->declarePromisedInterface<LibraryCall, OpTy>();
  };
  (promise(std::type_identity<Ops>()), ...);
}

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "frontend/nn/NNAttributes.cpp.inc"
      >();
  addOpsAndPromises<
#define GET_OP_LIST
#include "frontend/nn/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location location) {
  if (auto elements = dyn_cast<ElementsAttr>(value);
      elements && elements.getType() == type)
    return ConstantOp::create(builder, location, elements);
  return nullptr;
}
