// Elements of images read between their positions, as GridSample, RoiAlign and
// DeformConv do. https://onnx.ai/onnx/operators/onnx__GridSample.html
#ifndef SHARDC_FRONTEND_ONNX_DECODE_SAMPLING_H
#define SHARDC_FRONTEND_ONNX_DECODE_SAMPLING_H

#include "frontend/onnx/decode/Arithmetic.h"

namespace shardc::onnx {

enum class SampleMode { nearest, linear, cubic };
/// What lies outside of an image: zeros, its nearest element, or the image
/// reflected at its border.
enum class SamplePadding { zeros, border, reflection };

/// Images [N, S..., C] of which elements are taken at places of float type.
class Sampler : Arithmetic {
public:
  /// With `cornersAreCentres` an image reflects at the centres of its outermost
  /// elements, else at their outer edges.
  Sampler(Emitter &emit, const Operand &images, SampleMode mode,
          SamplePadding padding, bool cornersAreCentres);

  /// Row r of the places is of image `images[r]`, integers [R], and not of image
  /// r.
  void takeFrom(const Operand &images);

  /// What becomes of the parts of an element: their sum, or the largest one.
  enum class Parts { added, largest };

  /// The elements [N, P, C] at `places`: a value [N, P] per spatial dim, counted
  /// in elements, 0 being the centre of the first. Differentiable in images and
  /// places; the result has the images' type.
  Operand at(llvm::ArrayRef<Operand> places, Parts parts = Parts::added);

private:
  /// The elements of a dim that a place takes, and how much of each.
  struct Tap {
    Operand index;  ///< whole floats, [N, P]
    Operand weight; ///< none: all
  };
  std::vector<Tap> tapsOf(const Operand &place, size_t dim);
  Operand folded(const Operand &place, size_t dim);
  Operand reflected(const Operand &place, size_t dim);
  Operand read(llvm::ArrayRef<const Tap *> taps);

  Operand number(double value) { return emit.scalar(type, value); }
  Operand table; ///< [N S..., C]
  Operand image; ///< of each row of places, [N, 1]
  Shape sizes;   ///< of the spatial dims
  int64_t samples, channels;
  SampleMode mode;
  SamplePadding padding;
  bool cornersAreCentres;
  mlir::Type type; ///< of places and weights
};

} // namespace shardc::onnx

#endif
