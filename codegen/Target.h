// What a trainer is built for. Whoever compiles holds one, resolved by its
// name, and asks nothing else about it: a new target is a folder that
// implements this, and a line in Target.cpp.
#ifndef SHARDC_CODEGEN_TARGET_H
#define SHARDC_CODEGEN_TARGET_H

#include "codegen/kernels/KernelCache.h"
#include "codegen/step/Workspaces.h"
#include "runtime/plan.pb.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc {

/// The kernels of a program, compiled.
class CompiledKernels {
public:
  virtual ~CompiledKernels() = default;
  /// The target's part of the plan, with what a launch of each kernel takes, in
  /// the order of the functions in @kernels.
  virtual plan::Target describe() const = 0;
  /// The bytes of the trainer's section of kernels, in the target's own form.
  virtual llvm::StringRef section() const = 0;
  /// Says which kernel of `plan`, whose programs launch them, is missing and
  /// why, so that no trainer can be made; empty where all are there.
  virtual std::string whyIncomplete(const plan::Plan &plan) const { return ""; }
  /// What --kernels writes: names of files, and their bytes.
  virtual std::vector<std::pair<std::string, llvm::StringRef>>
  files() const = 0;
  /// A line for each kernel, where there is something to say of it.
  virtual void print(llvm::raw_ostream &os) const = 0;
  /// `compiled_kernels` of --report.
  virtual llvm::json::Value toJson() const = 0;
  /// Said once; empty where all went as it should.
  virtual std::string warning() const { return ""; }
};

/// Kernels on their way, while the caller goes on with other IR of the context.
class KernelCompilation {
public:
  virtual ~KernelCompilation() = default;
  /// Waits, then gives the result; once.
  virtual llvm::Expected<std::unique_ptr<CompiledKernels>> take() = 0;
};

struct TargetOptions {
  /// "cpu:NAME" is short for the target cpu and this: native, or a name that
  /// LLVM knows.
  std::string cpu = "native";
  /// Threads of a rank that workspaces are sized for, where ranks have threads.
  int64_t workers = 1;
  /// Where compiled kernels are looked for and kept.
  kernels::KernelCache cache;
};

class Target {
public:
  virtual ~Target() = default;

  /// cpu, cpu:NAME, cuda (for cuda:sm_90) or cuda:sm_80, sm_90, sm_100. Fails
  /// on another name.
  static llvm::Expected<std::unique_ptr<Target>>
  resolve(llvm::StringRef name, const TargetOptions &options = {});
  /// The names in a list, as cpu,cuda:sm_90, in its order. auto: cpu, and
  /// cuda:sm_XX behind it where this machine has GPUs that run that. Fails
  /// where two are of one kind, which a trainer could not tell apart.
  static llvm::Expected<std::vector<std::string>>
  parseList(llvm::StringRef list);
  /// What stands before the colon of a name: cpu, cuda.
  static llvm::StringRef kindOf(llvm::StringRef name);

  /// With everything resolved: cpu:znver4, cuda:sm_90.
  virtual std::string name() const = 0;
  virtual const step::Workspaces &workspaces() const = 0;
  /// What the addresses of a kernel's arguments are multiples of, in bytes.
  virtual int64_t argumentAlignment() const = 0;
  /// What the offsets of buffers in their pools are multiples of, in bytes.
  virtual int64_t bufferAlignment() const = 0;
  /// Whether products of the library also add a residual and sum a bias
  /// gradient, and whether those of one input should be one.
  virtual bool mergesProducts() const = 0;
  /// The machine of the cost model, unless the user names one.
  virtual llvm::StringRef defaultCluster() const = 0;
  /// What --prefetch is, unless the user says so: auto where gathers move bytes
  /// while a rank computes.
  virtual llvm::StringRef defaultPrefetch() const = 0;
  /// Begins to compile the functions of `kernels` (linalg on tensors), which
  /// stays as it is.
  virtual std::unique_ptr<KernelCompilation>
  compile(mlir::ModuleOp kernels) const = 0;
};

} // namespace shardc

#endif
