// step-write-in-place: results of kernels take the places of inputs that die
// there.
#include "codegen/Passes.h"
#include "codegen/kernels/InPlaceRules.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"

#include "mlir/IR/Remarks.h"

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
    SmallVector<std::pair<step::BufferOp, const char *>> hindered;
    for (size_t input = 0; input < kernel.getInputs().size(); ++input) {
      step::BufferOp buffer = wholeBuffer(kernel.getInputs()[input]);
      if (!buffer || buffer == result || buffer.getBytes() != result.getBytes())
        continue;
      const char *why =
          lifetimes[buffer].last != position ? "is read later"
          : isTwice(kernel, buffer)          ? "is another operand as well"
          : !rules.allows(kernel, kernel.getKernelAttr(), input, output)
              ? "is read at another place than this writes, or after it"
              : nullptr;
      if (why) {
        hindered.push_back({buffer, why});
        continue;
      }
      explain(kernel, result, buffer);
      lifetimes[buffer].last = lifetimes[result].last;
      result.getResult().replaceAllUsesWith(buffer.getResult());
      replaced.push_back(result);
      return;
    }
    explain(kernel, result, hindered);
  }

  static constexpr remark::RemarkOpts remarks(StringRef name) {
    return remark::RemarkOpts::name(name).category("step-write-in-place");
  }
  static std::string text(step::BufferOp buffer) {
    return "'" + buffer.getName().str() + "'";
  }

  static void explain(step::LaunchOp kernel, step::BufferOp result,
                      step::BufferOp buffer) {
    if (auto note = remark::passed(kernel.getLoc(), remarks("in-place")))
      note << text(result) + " is written over " + text(buffer) + ", " +
                  std::to_string(buffer.getBytes()) + " bytes";
  }

  static void
  explain(step::LaunchOp kernel, step::BufferOp result,
          ArrayRef<std::pair<step::BufferOp, const char *>> hindered) {
    auto note = remark::missed(kernel.getLoc(), remarks("apart"));
    if (!note)
      return;
    std::string why;
    for (auto [buffer, reason] : hindered)
      why += (why.empty() ? ": " : "; ") + text(buffer) + " " + reason;
    if (hindered.empty())
      why = ": no input is a whole activation of its size";
    note << text(result) + " has " + std::to_string(result.getBytes()) +
                " bytes of its own" + why;
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
