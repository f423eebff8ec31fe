// Uniform numbers that are drawn in every step. They are no values of the run:
// what exporters make of them is dropout and drop path, an event that has a
// probability. Evaluations have its mean instead, by which what is kept was
// divided, as in PyTorch, where eval mode has none of it.
#ifndef SHARDC_FRONTEND_ONNX_DRAWN_H
#define SHARDC_FRONTEND_ONNX_DRAWN_H

#include "frontend/onnx/Decoder.h"

#include <memory>
#include <optional>

namespace shardc::onnx {

/// That a number, uniform in [0, 1), is below its probability; or else above
/// what is left of 1.
struct DrawnEvent {
  bool isBelow;
  double probability;
};

/// low + (high - low) u, u uniform in [0, 1), or an event of u.
struct Drawn {
  mlir::RankedTensorType type; ///< of floats, also where it is an event
  double low = 0, high = 1;
  int64_t site = 0;
  /// Whether the first dim is that of a rank's samples.
  bool isBySample = false;
  /// Of the site: all that is made of its numbers is this event, or its
  /// opposite.
  std::shared_ptr<std::optional<DrawnEvent>> asked =
      std::make_shared<std::optional<DrawnEvent>>();
  std::optional<DrawnEvent> event;
};

/// The number that all elements of a constant are, as it was written.
std::optional<double> numberOf(const Operand &operand);
/// Whether an operator takes what is drawn as it is; others take events as
/// booleans.
bool takesDrawn(llvm::StringRef op);
/// The event as a boolean.
mlir::FailureOr<Operand> drawnBoolean(NodeContext &context, const Drawn &drawn);
/// Sets a node's result to 1 where the event is true, else 0; evaluations have
/// its probability.
mlir::LogicalResult setDrawnMask(NodeContext &context, const Drawn &drawn,
                                 mlir::Type element);
/// A node that has such an input.
mlir::LogicalResult decodeDrawn(NodeContext &context);

} // namespace shardc::onnx

#endif
