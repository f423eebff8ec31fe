// Stretches of the forward pass that belong to one unit or module.
#ifndef SHARDC_PASSES_ANALYSES_FORWARDREGIONS_H
#define SHARDC_PASSES_ANALYSES_FORWARDREGIONS_H

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <optional>
#include <string>

namespace shardc {

/// Divides forward's ops into regions: an op that reads a parameter is where
/// the parameter says, and those behind it up to the next such op are there,
/// too. What one region makes and another reads is an input of that one: kept,
/// it bounds how far back, and for how long, something runs again.
class ForwardRegions {
public:
  /// The name of a parameter's region: empty, where it is in none; nothing,
  /// where the parameter does not say (a buffer).
  using NameOf =
      std::function<std::optional<std::string>(nn::ParameterOp parameter)>;

  /// There are none.
  ForwardRegions() = default;
  ForwardRegions(mlir::func::FuncOp train, mlir::Operation *lastForward,
                 const NameOf &nameOf);

  bool contains(mlir::Operation *op) const { return regions.contains(op); }
  /// Whether what it makes is read in another region, or in none.
  bool makesInput(mlir::Operation *op) const { return inputs.contains(op); }
  /// Whether it is a library call, or made of a library call's result of its
  /// region.
  bool isMadeOfCalls(mlir::Operation *op) const {
    return madeOfCalls.contains(op);
  }
  /// Whether all of a region's ops stand together, for the op's region: else
  /// its parameters are gathered at several places.
  bool isInOnePiece(mlir::Operation *op) const;
  /// Whether the loss is made in its region: backward begins there, and what
  /// would run again right then is as well kept.
  bool isLast(mlir::Operation *op) const {
    return last > 0 && regions.lookup(op) == last;
  }
  bool isEmpty() const { return regions.empty(); }

private:
  /// Where an op's operand was made, if in a region, and whether in that of
  /// the op.
  std::pair<mlir::Operation *, bool> producerOf(mlir::Value operand,
                                                mlir::Operation *reader) const;

  llvm::DenseMap<mlir::Operation *, int64_t> regions; // from 1 on
  int64_t last = 0;                                   // the loss's; 0: none
  llvm::SmallVector<int64_t> sameName; // regions of the region's name
  llvm::DenseSet<mlir::Operation *> inputs, madeOfCalls;
};

} // namespace shardc

#endif
