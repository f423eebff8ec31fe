// Uniform numbers that are drawn in every step. Where exporters make a factor, 0
// or 1, of an event of them, they are dropout and drop path: evaluations have
// its mean instead, by which what is kept was divided, as in PyTorch, where eval
// mode has none of it. Where they are used otherwise they are numbers, which
// evaluations draw too.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_DRAWN_H
#define SHARDC_FRONTEND_ONNX_DECODE_DRAWN_H

#include "frontend/onnx/decode/Decoder.h"

#include <memory>
#include <optional>

namespace shardc::onnx {

/// That a number, uniform in [0, 1), is below its probability; or else above
/// what is left of 1.
struct DrawnEvent {
  bool isBelow;
  double probability;

  DrawnEvent opposite() const { return {!isBelow, 1 - probability}; }
};

/// Where numbers are drawn.
struct DrawnSite {
  mlir::RankedTensorType type; ///< of floats
  int64_t number = 0;
  /// What has the samples; none where it is a constant, and then `isBySample`
  /// says whether the first dim is as long as a rank's batch.
  Operand like;
  bool isBySample = false;
  /// All that is made of its numbers is this event, or its opposite, once a
  /// mask has been made;
  std::optional<DrawnEvent> asked;
  /// or all is made of the numbers themselves, once these have been read.
  Operand numbers;
};

/// low + (high - low) u, u uniform in [0, 1), or an event of u.
struct Drawn {
  mlir::RankedTensorType type; ///< of floats, also where it is an event
  double low = 0, high = 1;
  std::shared_ptr<DrawnSite> site;
  std::optional<DrawnEvent> event;
};

/// A site for numbers of this shape and type; with `like`, for its samples.
std::shared_ptr<DrawnSite> makeSite(Emitter &emit, mlir::RankedTensorType type,
                                    const Operand &like);
/// What is drawn there, of a distribution that has no parameters.
Operand drawNumbers(Emitter &emit, const DrawnSite &site,
                    nn::Distribution distribution);

/// The number that all elements of a constant are, as it was written.
std::optional<double> numberOf(const Operand &operand);
/// The numbers as a value; none where they are masks.
std::optional<Operand> valuesOf(Emitter &emit, const Drawn &drawn);
/// What a node takes of its drawn input: what is drawn, as it is, where
/// decodeDrawn goes on with it; else an event as a boolean, or numbers as a
/// value.
mlir::FailureOr<Operand> takenDrawn(NodeContext &context, size_t position);
/// Sets a node's result to 1 where the event is true, else 0; evaluations have
/// its probability, but of a site whose numbers have been read before.
mlir::LogicalResult setDrawnMask(NodeContext &context, const Drawn &drawn,
                                 mlir::Type element);
/// A node that has such an input.
mlir::LogicalResult decodeDrawn(NodeContext &context);

} // namespace shardc::onnx

#endif
