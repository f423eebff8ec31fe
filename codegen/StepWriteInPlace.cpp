// step-write-in-place: results of kernels take the places of inputs that die
// there.
#include "codegen/Passes.h"
#include "codegen/kernels/InPlaceRules.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"

namespace shardc {
#define GEN_PASS_DEF_STEPWRITEINPLACE
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

class InPlaceWriter {
public:
  InPlaceWriter(step::ProgramOp program, kernels::InPlaceRules &rules)
      : program(program), rules(rules), lifetimes(step::lifetimes(program)) {}

  void run() {
    int64_t position = 0;
    for (Operation &op : program.getBody().front()) {
      if (!step::isEntry(&op))
        continue;
      if (auto kernel = dyn_cast<step::LaunchOp>(op))
        for (size_t output = 0; output < kernel.getOutputs().size(); ++output)
          takeInput(kernel, output, position);
      ++position;
    }
    for (step::BufferOp buffer : replaced)
      buffer.erase();
  }

private:
  /// The buffer that a view shows the whole of, if it holds activations.
  step::BufferOp wholeBuffer(Value memref) {
    auto op = memref.getDefiningOp<step::ViewOp>();
    auto buffer = op.getBuffer().getDefiningOp<step::BufferOp>();
    if (!buffer || buffer.getKind() != step::Kind::activation ||
        op.getOffset() != 0 || !lifetimes.contains(buffer))
      return {};
    step::View view = step::View::of(memref);
    bool isWhole =
        view.isContiguous() && view.spanBytes() == int64_t(buffer.getBytes());
    return isWhole ? buffer : step::BufferOp();
  }

  void takeInput(step::LaunchOp kernel, size_t output, int64_t position) {
    step::BufferOp result = wholeBuffer(kernel.getOutputs()[output]);
    if (!result || lifetimes[result].first != position)
      return;
    for (size_t input = 0; input < kernel.getInputs().size(); ++input) {
      step::BufferOp buffer = wholeBuffer(kernel.getInputs()[input]);
      if (!buffer || buffer == result ||
          buffer.getBytes() != result.getBytes() ||
          lifetimes[buffer].last != position || isTwice(kernel, buffer) ||
          !rules.allows(kernel, kernel.getKernelAttr(), input, output))
        continue;
      lifetimes[buffer].last = lifetimes[result].last;
      result.getResult().replaceAllUsesWith(buffer.getResult());
      replaced.push_back(result);
      return;
    }
  }

  /// Whether another operand shows the buffer too.
  static bool isTwice(step::LaunchOp kernel, step::BufferOp buffer) {
    return llvm::count_if(kernel->getOperands(), [&](Value operand) {
             return operand.getDefiningOp<step::ViewOp>().getBuffer() ==
                    buffer.getResult();
           }) != 1;
  }

  step::ProgramOp program;
  kernels::InPlaceRules &rules;
  llvm::MapVector<Operation *, step::Lifetime> lifetimes;
  SmallVector<step::BufferOp> replaced;
};

struct StepWriteInPlace : impl::StepWriteInPlaceBase<StepWriteInPlace> {
  void runOnOperation() override {
    kernels::InPlaceRules rules;
    for (auto plan : getOperation().getOps<step::PlanOp>())
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
        InPlaceWriter(program, rules).run();
  }
};

} // namespace
} // namespace shardc
