// MLIR's remark engine, which hands on what it lets through.
#include "tools/shardc/Remarks.h"

#include "frontend/nn/support/NamePattern.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shardc;

llvm::ArrayRef<StringRef> shardc::passesWithRemarks() {
  static constexpr StringRef passes[] = {
      "nn-raise", "fsdp-assign-units",    "nn-sum-over-ranks",
      "nn-remat", "step-outline-kernels", "step-write-in-place"};
  return passes;
}

namespace {
class DiagnosticStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    InFlightDiagnostic diagnostic = emitRemark(remark.getLocation());
    diagnostic << remark.getCategoryName() << ": ";
    for (const remark::detail::Remark::Arg &part : remark.getArgs())
      diagnostic << part.val;
  }
};
} // namespace

llvm::Error shardc::enableRemarks(MLIRContext &context, StringRef expression) {
  std::string pattern = translatePattern(expression), why;
  llvm::Regex regex(pattern);
  if (!regex.isValid(why))
    return llvm::createStringError("--remarks " + expression + ": " + why);
  if (llvm::none_of(passesWithRemarks(),
                    [&](StringRef pass) { return regex.match(pass); }))
    return llvm::createStringError(
        "--remarks " + expression +
        ": no pass with remarks has such a name; there are " +
        llvm::join(passesWithRemarks(), ", "));
  remark::RemarkCategories categories;
  // The engine asks that it is the whole name.
  categories.passed = categories.missed = categories.failed =
      categories.analysis = ".*(" + pattern + ").*";
  if (failed(remark::enableOptimizationRemarks(
          context, std::make_unique<DiagnosticStreamer>(),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    return llvm::createStringError("--remarks: there are remarks already");
  return llvm::Error::success();
}
