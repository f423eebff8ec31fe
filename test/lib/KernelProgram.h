// Functions of nn ops outlined into kernels that run here: the CPU's, or a
// GPU's by emulation.
#ifndef SHARDC_TEST_LIB_KERNELPROGRAM_H
#define SHARDC_TEST_LIB_KERNELPROGRAM_H

#include "EmulatedKernels.h"
#include "LoadedKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace shardc::test {

struct KernelSettings {
  /// Whether several ops may be one kernel.
  bool fuse = true;
  /// The CPU to generate code for, which must run here.
  std::string cpu = "native";
  /// Whether the kernels are a GPU's, run thread by thread: as gpu.func, or as
  /// the PTX that a trainer has for this GPU.
  bool emulateGpu = false;
  std::string emulatePtx = "";
};

class KernelProgram {
public:
  /// Outlines and compiles a copy of `module`; none after an error at it.
  static std::optional<KernelProgram> compile(mlir::ModuleOp module,
                                              const KernelSettings &settings);

  /// The module that calls the kernels.
  mlir::ModuleOp outlined() const { return module.get(); }
  bool has(llvm::StringRef kernel) const { return extents.contains(kernel); }
  /// The number of work items of the CPU's kernels, of blocks of the GPU's.
  int64_t extent(llvm::StringRef kernel) const {
    return extents.lookup(kernel);
  }
  size_t kernels() const { return extents.size(); }
  /// What compiling took.
  double seconds() const { return compileSeconds; }

  /// Runs work items [begin, end) of a kernel. `falling`: a GPU's threads in
  /// falling order, where what one leaves to another without a barrier would be
  /// missing.
  llvm::Error run(llvm::StringRef kernel, std::vector<void *> arguments,
                  int64_t begin, int64_t end, bool falling) const;

private:
  explicit KernelProgram(mlir::OwningOpRef<mlir::ModuleOp> outlined)
      : module(std::move(outlined)) {}
  llvm::Error compileForHost(const KernelSettings &settings);
  llvm::Error emulate(const KernelSettings &settings);
  llvm::Error emulatePtx(llvm::StringRef gpu);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// One of the two.
  std::optional<LoadedKernels> loaded;
  std::optional<EmulatedKernels> emulated;
  llvm::StringMap<int64_t> extents;
  double compileSeconds = 0;
};

} // namespace shardc::test

#endif
