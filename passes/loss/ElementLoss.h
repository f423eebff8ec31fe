// Losses of an output and a target of its shape, element by element.
#ifndef SHARDC_PASSES_LOSS_ELEMENTLOSS_H
#define SHARDC_PASSES_LOSS_ELEMENTLOSS_H

#include "passes/options/LossOption.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace shardc {

/// Values whose sum is the loss before its normalization, of an output and a
/// target of one float type:
///
///   mse                   (o - t)^2
///   l1                    |o - t|
///   smooth_l1, beta b     huber / b, l1 where b is 0
///   huber, delta d        (o - t)^2 / 2 up to |o - t| = d, d (|o - t| - d / 2)
///   binary_cross_entropy  w t softplus(-o) + (1 - t) softplus(o), w pos-weight
///   soft_cross_entropy    -w ((1 - s) t + s / C) log_softmax(o), along the last
///                         dim of C classes, w class-weights, s label-smoothing
///
/// These are torch.nn's MSELoss, L1Loss, SmoothL1Loss, HuberLoss,
/// BCEWithLogitsLoss, and CrossEntropyLoss with probabilities as targets, whose
/// weights, too, leave the mean over elements or rows as it is.
mlir::Value elementLoss(const LossOption &option, mlir::Value output,
                        mlir::Value target, mlir::OpBuilder &builder);

/// scale * sum of all elements of `value`.
mlir::Value scaledSum(mlir::Value value, mlir::Value scale,
                      mlir::OpBuilder &builder);

} // namespace shardc

#endif
