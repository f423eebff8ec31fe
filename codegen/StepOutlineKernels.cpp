// step-outline-kernels: fuses ops that are generated code into kernels,
// functions of the nested module @kernels.
#include "codegen/Passes.h"
#include "codegen/kernels/GroupBody.h"
#include "codegen/kernels/KernelGroups.h"
#include "frontend/nn/NN.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc {
#define GEN_PASS_DEF_STEPOUTLINEKERNELS
#include "codegen/Passes.h.inc"

namespace {

/// A kernel's name says its first ops.
constexpr size_t opsInName = 3;

/// The function of a group, or why the group is not one kernel.
struct Kernel {
  func::FuncOp function;
  std::string why;
};

/// A name that no other kernel of the module has.
std::string nameOf(const OpGroup &group, StringRef body, ModuleOp kernels) {
  std::string name;
  StringRef previous;
  size_t parts = 0;
  for (Operation *op : group) {
    StringRef part = op->getName().stripDialect();
    if (part == previous)
      continue;
    if (parts++ == opsInName)
      break;
    name += (part + "_").str();
    previous = part;
  }
  std::string hash = llvm::utohexstr(llvm::xxh3_64bits(body),
                                     /*LowerCase=*/true, /*Width=*/16);
  for (size_t digits = 4;; ++digits)
    if (std::string candidate = name + hash.substr(0, digits);
        !kernels.lookupSymbol(candidate) || digits == hash.size())
      return candidate;
}

/// `why`: what hindered one op more.
void explainCut(ArrayRef<Operation *> ops, size_t count,
                const std::string &why) {
  Operation *next = ops[count];
  if (auto note = remark::missed(
          next->getLoc(),
          remark::RemarkOpts::name("cut").category("step-outline-kernels")))
    note << "a group of " + std::to_string(ops.size()) + " ops is cut before " +
                next->getName().getStringRef().str() + ": " + why;
}

struct StepOutlineKernels : impl::StepOutlineKernelsBase<StepOutlineKernels> {
  using StepOutlineKernelsBase::StepOutlineKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bySignature.clear();
    byBody.clear();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    kernels = module.lookupSymbol<ModuleOp>("kernels");
    if (kernels) {
      kernels.emitError("kernels are outlined once");
      return signalPassFailure();
    }
    kernels = ModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      eraseDead(block);
      separateViews(block);
      for (const KernelGroup &group : groupKernels(block, spaces, fuse))
        if (failed(outline(group.ops, group.place)))
          return signalPassFailure();
      eraseDead(block);
    }
  }

private:
  void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Built once for equal groups.
  FailureOr<Kernel> kernelFor(const OpGroup &group,
                              const GroupSignature &signature) {
    auto [entry, isNew] = bySignature.try_emplace(signature.key);
    if (!isNew)
      return entry->second;
    FailureOr<func::FuncOp> function =
        buildKernelFunction(group, signature, kernels, "kernel");
    if (failed(function))
      return group.front()->emitOpError("cannot be generated code");
    std::string &why = entry->second.why;
    if (!findLoopNest(*function, why)) {
      function->erase();
      if (group.size() == 1)
        return group.front()->emitOpError() << "is not one kernel: " << why;
      return entry->second;
    }
    std::string body;
    llvm::raw_string_ostream os(body);
    // Otherwise the whole module around it is verified and numbered first.
    function->print(os, OpPrintingFlags().useLocalScope().assumeVerified());
    auto [known, isNewBody] = byBody.try_emplace(body, *function);
    if (isNewBody) {
      function->setName(nameOf(group, body, kernels));
      (*function)->setAttr(step::bodyAttr, groupBody(group, signature));
    } else {
      function->erase();
    }
    entry->second.function = known->second;
    return entry->second;
  }

  LogicalResult outline(ArrayRef<Operation *> ops, Operation *place) {
    // The longest part that is one kernel, then the rest: groups are formed by
    // shape, and a body may still need a row that its work item does not have.
    while (!ops.empty()) {
      size_t count = ops.size();
      std::string why;
      for (;; --count) {
        OpGroup group(ops.take_front(count));
        GroupSignature signature = signatureOf(group);
        if (signature.outputs.empty())
          break;
        FailureOr<Kernel> kernel = kernelFor(group, signature);
        if (failed(kernel))
          return failure();
        if (kernel->function) {
          replace(group, signature, kernel->function, place);
          break;
        }
        why = kernel->why;
      }
      if (count < ops.size() && !why.empty())
        explainCut(ops, count, why);
      ops = ops.drop_front(count);
    }
    return success();
  }

  void replace(const OpGroup &group, const GroupSignature &signature,
               func::FuncOp kernel, Operation *place) {
    OpBuilder builder(place);
    SmallVector<Location> locations;
    for (Operation *op : group)
      locations.push_back(op->getLoc());
    auto symbol = SymbolRefAttr::get(builder.getContext(), "kernels",
                                     {FlatSymbolRefAttr::get(kernel)});
    auto launch =
        step::CallOp::create(builder, builder.getFusedLoc(locations),
                             kernel.getResultTypes(), symbol, signature.inputs);
    for (auto [output, result] :
         llvm::zip_equal(signature.outputs, launch.getOutputs())) {
      Value(output).replaceAllUsesWith(result);
      moveViewsBehind(launch, result);
    }
  }

  /// Views of what a group computes may stand before its last op.
  void moveViewsBehind(Operation *launch, Value value) {
    Operation *behind = launch;
    SmallVector<Value> values{value};
    while (!values.empty()) {
      for (Operation *user : values.pop_back_val().getUsers()) {
        if (!isAbsorbed(user) || !user->isBeforeInBlock(behind))
          continue;
        // Operation::moveAfter would make the block number all its ops again
        // for the next isBeforeInBlock.
        user->remove();
        behind->getBlock()->getOperations().insertAfter(behind->getIterator(),
                                                        user);
        behind = user;
        values.push_back(user->getResult(0));
      }
    }
  }

  ModuleOp kernels;
  KernelSpaces spaces;
  llvm::StringMap<Kernel> bySignature;
  llvm::StringMap<func::FuncOp> byBody;
};

} // namespace
} // namespace shardc
