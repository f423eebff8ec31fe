// What a plan has of a name, and why it is so: shardc explain.
#ifndef SHARDC_TOOLS_SHARDC_EXPLAIN_ANSWER_H
#define SHARDC_TOOLS_SHARDC_EXPLAIN_ANSWER_H

#include "codegen/record/StepRecord.h"
#include "passes/report/Report.h"
#include "runtime/plan.pb.h"
#include "tools/shardc/Diagnostics.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace shardc {

/// What a compilation has decided, and why.
struct Decisions {
  const plan::Plan &plan;
  const CompileReport &report;
  const record::StepRecord &step;
  llvm::ArrayRef<Remark> remarks;
};

/// Lines about `what`: "memory", or the name of parameters, units, collectives
/// or buffers, all that have it. The error names what there is.
llvm::Expected<std::string> answer(llvm::StringRef what,
                                   const Decisions &decisions);

/// The answers by noun; nothing where none has the name.
void explainMemory(llvm::raw_ostream &os, const Decisions &decisions);
void explainParameters(llvm::raw_ostream &os, llvm::StringRef name,
                       const Decisions &decisions);
void explainUnits(llvm::raw_ostream &os, llvm::StringRef name,
                  const Decisions &decisions);
void explainCollectives(llvm::raw_ostream &os, llvm::StringRef name,
                        const Decisions &decisions);
void explainBuffers(llvm::raw_ostream &os, llvm::StringRef name,
                    const Decisions &decisions);

/// "layers.0/gemm (forward, 152 us)": an entry and when it begins.
std::string placeOf(const record::StepRecord &step, int64_t entry);

} // namespace shardc

#endif
