// What --loss says.
#ifndef SHARDC_PASSES_OPTIONS_LOSSOPTION_H
#define SHARDC_PASSES_OPTIONS_LOSSOPTION_H

#include "runtime/base/LossKinds.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc {

/// `cross-entropy:logits=NAME,labels=NAME[,ignore=-100][,shift=0]
/// [,label-smoothing=0][,class-weights=W:W:...]`, `KIND:logits=NAME,target=NAME` of
/// soft-cross-entropy and binary-cross-entropy, `KIND:output=NAME,target=NAME`
/// of mse, l1, smooth-l1[,beta=1] and huber[,delta=1], or `output:NAME`.
struct LossOption {
  const runtime::LossKind *kind = nullptr;
  std::string output; // the logits, for cross-entropy
  std::string target; // labels or target; empty for an output of the graph
  int64_t ignore = -100;
  int64_t shift = 0;
  double smoothing = 0;             // of labels, from 0 to 1
  double number = 1;                // beta or delta
  std::vector<double> classWeights; // of each class; none: 1 each
  /// Of what is there, in a binary cross entropy: one for all elements, or one
  /// for each of the last dim; none: 1.
  std::vector<double> positiveWeights;

  /// Errors are one line that names the offending part and the accepted forms.
  static llvm::Expected<LossOption> parse(llvm::StringRef text);
};

} // namespace shardc

#endif
