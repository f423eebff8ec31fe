// A group of nn ops as one function of linalg on tensors.
#ifndef SHARDC_CODEGEN_KERNELS_KERNELFUNCTION_H
#define SHARDC_CODEGEN_KERNELS_KERNELFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

namespace shardc::kernels {

/// Ops that become one kernel, in program order; the kernel runs at the place
/// of the last.
using OpGroup = llvm::SmallVector<mlir::Operation *, 4>;

/// A concatenation of more inputs is copied input by input: a kernel would
/// decide for each element which input it is of, and its code would grow with
/// their number.
constexpr size_t mostConcatInputs = 8;

/// Marks the views of a function that no kernel takes a copy of: slices of a
/// tensor that has many, which are copied out where they are not contiguous, so
/// that equal work on each is one kernel; and every so many views in a row, so
/// that bodies stay shallow. Pads of which many differ in place alone are
/// marked too: they are copies into zeros.
void separateViews(mlir::Block &block);

/// Whether `op` is a slice that kernels read where it lies: as an argument with
/// strides, so that equal work on others is the same kernel.
bool isReadInPlace(mlir::Operation *op);

/// Whether `op` only says where elements lie, or that they are all equal: every
/// kernel that reads its result takes a copy of it, and it has no kernel of its
/// own: for other readers it is a view.
bool isAbsorbed(mlir::Operation *op);

/// Whether `op` is generated code.
bool isGenerated(mlir::Operation *op);

/// Calls `visit` for every op that uses `value`, looking through absorbed ops;
/// stops where `visit` returns false.
bool forEachUser(mlir::Value value,
                 llvm::function_ref<bool(mlir::Operation *)> visit);

/// The value that `value` is a view of, looking through absorbed ops.
mlir::Value throughAbsorbed(mlir::Value value);

/// The inputs and outputs of a group.
struct GroupSignature {
  llvm::SmallVector<mlir::Value> inputs, outputs;
  /// A key that is equal for groups with equal bodies, in one context.
  std::string key;
};
/// Appends a type, attribute or name to a key: they are unique, so their
/// addresses say as much as their texts.
template <typename Unique>
void writeUnique(llvm::raw_ostream &os, Unique unique) {
  const void *address = unique.getAsOpaquePointer();
  os.write(reinterpret_cast<const char *>(&address), sizeof(address));
}
GroupSignature signatureOf(const OpGroup &group);

/// Appends the group's function to `module`.
llvm::FailureOr<mlir::func::FuncOp>
buildKernelFunction(const OpGroup &group, const GroupSignature &signature,
                    mlir::ModuleOp module, llvm::StringRef name);

/// Turns every linalg op but linalg.fill into linalg.generic, as findLoopNest
/// wants it.
void generalizeNamedOps(mlir::ModuleOp kernels);

} // namespace shardc::kernels

#endif
