// The importer's pass; Passes.td describes it.
#ifndef SHARDC_FRONTEND_ONNX_PASSES_H
#define SHARDC_FRONTEND_ONNX_PASSES_H

#include "frontend/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "frontend/onnx/Passes.h.inc"
} // namespace shardc

#endif
