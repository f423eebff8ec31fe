// The names of attributes that ops, functions and modules carry beside their
// own: what one phase leaves for a later one.
#ifndef SHARDC_FRONTEND_NN_ATTRIBUTES_H
#define SHARDC_FRONTEND_NN_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace shardc::nn {

// -- of arguments and results of functions ------------------------------------

/// A text: the input or output as the model's file calls it.
inline constexpr llvm::StringLiteral nameAttr = "nn.name";
/// A text: what the run gives as this argument. input, labels, loss_scale, ...
inline constexpr llvm::StringLiteral roleAttr = "nn.role";
/// A symbol: the parameter that this result of @train is the gradient of.
inline constexpr llvm::StringLiteral gradientOfAttr = "nn.gradient_of";

// -- of nn.parameter ----------------------------------------------------------

/// Texts: other names of a tied parameter.
inline constexpr llvm::StringLiteral aliasesAttr = "nn.aliases";
/// A text: norm, bias, embedding or weight, for --no-decay.
inline constexpr llvm::StringLiteral parameterRoleAttr = "nn.parameter_role";
/// A text: the unit that it will be a part of, until there are units.
inline constexpr llvm::StringLiteral parameterUnitAttr = "nn.unit";
/// A text, of a trained one that another formula updates than the run's
/// optimizer: its name. In a step of muon, adamw for what is no matrix;
/// `runningOptimizer` for running statistics.
inline constexpr llvm::StringLiteral optimizerAttr = "nn.optimizer";
/// Takes what nn.running_gradient says away, whatever the run's optimizer, its
/// learning rate and clipping are.
inline constexpr llvm::StringLiteral runningOptimizer = "running";

// -- of other ops -------------------------------------------------------------

/// On an op that computes a part of what one operator of the model does: its
/// result is not rounded to 16 bits. Import leaves it, nn-precision takes it
/// away.
inline constexpr llvm::StringLiteral unroundedAttr = "nn.unrounded";
/// A text: the reduction of a loss that the graph computes itself.
inline constexpr llvm::StringLiteral reductionAttr = "nn.reduction";
/// On a sum over a batch's samples that nn-sum-over-ranks asks for, a dictionary:
/// `factor`, what one process has by the sum over ranks (0: not known), and the
/// unit attributes `meets_samples` and `statistic` (SampleSums.h).
inline constexpr llvm::StringLiteral sampleSumAttr = "nn.sample_sum";
/// On an op that computes samples of a batch with each other.
inline constexpr llvm::StringLiteral mixesSamplesAttr = "nn.mixes_samples";
/// On an op that backward computes again (nn-remat).
inline constexpr llvm::StringLiteral recomputedAttr = "nn.recomputed";

// -- of a function ------------------------------------------------------------

/// A unit attribute: a sum that should have one is not there.
inline constexpr llvm::StringLiteral lostSumAttr = "nn.lost_sum";

// -- of the module ------------------------------------------------------------

/// A text: the model's file.
inline constexpr llvm::StringLiteral modelAttr = "nn.model";
/// Texts by scope: classes of PyTorch's modules, until units are assigned.
inline constexpr llvm::StringLiteral scopeClassesAttr = "nn.scope_classes";
/// Texts by key: the loss, as nn-attach-loss found or made it.
inline constexpr llvm::StringLiteral lossAttr = "nn.loss";
/// A unit attribute: evaluations count labels that are right.
inline constexpr llvm::StringLiteral accuracyAttr = "nn.accuracy";
/// Types by key: what nn-precision has chosen.
inline constexpr llvm::StringLiteral precisionAttr = "nn.precision";
/// Dictionaries: where numbers are drawn, and which statistics run.
inline constexpr llvm::StringLiteral sitesAttr = "nn.sites";
inline constexpr llvm::StringLiteral runningAttr = "nn.running";
/// What nn-remat has decided, for reports.
inline constexpr llvm::StringLiteral rematAttr = "nn.remat";

} // namespace shardc::nn

#endif
