// External models of nn::LibraryCall say how ops become entries of a plan. They
// are in one file for each family of ops: FAMILYCalls.cpp for
// frontend/nn/ops/FAMILY.td.
#ifndef SHARDC_CODEGEN_LOWER_LIBRARYCALLS_H
#define SHARDC_CODEGEN_LOWER_LIBRARYCALLS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace shardc {

/// Keeps what the nn dialect promises: its library calls have the interface in
/// every context of `registry`.
void registerLibraryCalls(mlir::DialectRegistry &registry);

} // namespace shardc

#endif
