// Ops that move elements without computing on them.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

LogicalResult reshape(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> shape = context.constantInts(1, "its shape");
  if (failed(shape))
    return failure();
  bool allowZero = context.intAttribute("allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (auto [dim, size] : llvm::enumerate(*shape)) {
    if (size == 0 && !allowZero) {
      if (int64_t(dim) >= input.rank())
        return context.error("its shape copies dim " + Twine(dim) +
                             " of an input of rank " + Twine(input.rank()));
      size = input.shape()[dim];
    }
    if (size == -1) {
      if (open)
        return context.error("its shape has more than one -1");
      open = dim;
    } else if (size < 0 || llvm::MulOverflow(known, size, known)) {
      return context.error("its shape has the dim " + Twine(size));
    }
  }
  int64_t elements = input.type().getNumElements();
  if (open)
    (*shape)[*open] = known == 0 ? 0 : elements / known;
  int64_t result = 1;
  for (int64_t size : *shape)
    if (llvm::MulOverflow(result, size, result))
      return context.checkShape(*shape);
  if (result != elements)
    return context.error("cannot reshape " + shapeText(input.shape()) + " to " +
                         shapeText(*shape) + "; check the --dim flags");
  context.set(0, context.emit.reshape(input, *shape));
  return success();
}

LogicalResult flatten(NodeContext &context) {
  const Operand &input = context.input(0);
  int64_t axis = context.intAttribute("axis", 1), rank = input.rank();
  if (axis < -rank || axis > rank)
    return context.error("axis " + Twine(axis) + " is out of range for rank " +
                         Twine(rank));
  axis = axis < 0 ? axis + rank : axis;
  auto product = [](ArrayRef<int64_t> dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t(1),
                           std::multiplies<>());
  };
  context.set(0, context.emit.reshape(
                     input, {product(input.shape().take_front(axis)),
                             product(input.shape().drop_front(axis))}));
  return success();
}

/// The axes, which were an attribute before opset 13; none where they are left
/// out.
FailureOr<std::optional<Shape>> givenAxes(NodeContext &context) {
  if (!context.has(1))
    return context.intsAttribute("axes");
  FailureOr<Shape> axes = context.constantInts(1, "axes");
  if (failed(axes))
    return failure();
  return std::optional(*axes);
}

LogicalResult squeeze(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<std::optional<Shape>> found = givenAxes(context);
  if (failed(found))
    return failure();
  Shape axes;
  if (*found) {
    FailureOr<Shape> counted = context.axes(**found, input.rank());
    if (failed(counted))
      return failure();
    axes = *counted;
  } else {
    for (auto [dim, size] : llvm::enumerate(input.shape()))
      if (size == 1)
        axes.push_back(dim);
  }
  // torch.squeeze leaves a dim that is not 1, and its exporter does not ask.
  bool isTorchs =
      fxCall(*context.node.proto).target.starts_with("torch.ops.aten.squeeze");
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(input.shape())) {
    bool removed =
        llvm::is_contained(axes, int64_t(dim)) && !(isTorchs && size != 1);
    if (removed && size != 1)
      return context.error(
          "expects dim " + Twine(dim) + " to be 1, got " + Twine(size) +
          "; check the --dim flags (where PyTorch's squeeze of "
          "a dim that is not 1 was exported, leave it out of "
          "the model)");
    if (!removed)
      shape.push_back(size);
  }
  context.set(0, context.emit.reshape(input, shape));
  return success();
}

LogicalResult unsqueeze(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<std::optional<Shape>> found = givenAxes(context);
  if (failed(found))
    return failure();
  if (!*found)
    return context.error("expects axes, got none");
  FailureOr<Shape> axes =
      context.axes(**found, input.rank() + int64_t((*found)->size()));
  if (failed(axes))
    return failure();
  Shape shape;
  ArrayRef<int64_t> rest = input.shape();
  for (int64_t dim = 0; dim < input.rank() + int64_t(axes->size()); ++dim) {
    if (llvm::is_contained(*axes, dim)) {
      shape.push_back(1);
      continue;
    }
    shape.push_back(rest.front());
    rest = rest.drop_front();
  }
  context.set(0, context.emit.reshape(input, shape));
  return success();
}

LogicalResult transpose(NodeContext &context) {
  const Operand &input = context.input(0);
  Shape permutation =
      llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, input.rank())));
  if (auto given = context.intsAttribute("perm")) {
    if (given->size() != permutation.size() ||
        !std::is_permutation(given->begin(), given->end(), permutation.begin()))
      return context.error("expects perm to be a permutation of the " +
                           Twine(input.rank()) + " dims of its input");
    permutation = *given;
  }
  context.set(0, context.emit.transpose(input, permutation));
  return success();
}

LogicalResult expand(NodeContext &context) {
  FailureOr<Shape> shape = context.constantInts(1, "its shape");
  if (failed(shape) || failed(context.checkShape(*shape)))
    return failure();
  // Both sides may have dims of 1 that grow: broadcasting against a tensor of
  // that shape.
  Operand like =
      context.emit.splat(*shape, context.emit.attributes().getI1Type(), 0);
  FailureOr<Shape> result = context.broadcastShape({context.input(0), like});
  if (failed(result))
    return failure();
  context.set(0, context.emit.broadcast(context.input(0), *result));
  return success();
}

LogicalResult tile(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> repeats = context.constantInts(1, "repeats");
  if (failed(repeats))
    return failure();
  if (int64_t(repeats->size()) != input.rank())
    return context.error("expects one repeat for each of " +
                         Twine(input.rank()) + " dims, got " +
                         Twine(repeats->size()));
  // [a, b] repeated (m, n) times: [1, a, 1, b] broadcast to [m, a, n, b], read
  // as [m a, n b]. Dims of 1 need no copy.
  Shape before, grown, after;
  for (auto [size, repeat] : llvm::zip(input.shape(), *repeats)) {
    int64_t tiled;
    if (repeat < 0 || llvm::MulOverflow(size, repeat, tiled))
      return context.error("repeats a dim " + Twine(repeat) + " times");
    after.push_back(tiled);
    if (repeat != 1 && size != 1) {
      before.push_back(1);
      grown.push_back(repeat);
    }
    before.push_back(size);
    grown.push_back(size == 1 ? repeat : size);
  }
  if (failed(context.checkShape(after)))
    return failure();
  context.set(
      0, context.emit.reshape(
             context.emit.broadcast(context.emit.reshape(input, before), grown),
             after));
  return success();
}

LogicalResult concat(NodeContext &context) {
  if (!context.attribute("axis"))
    return context.error("has no attribute axis");
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), context.input(0).rank());
  if (failed(axis) ||
      failed(context.sameElementType(0, context.inputCount() - 1)))
    return failure();
  Shape result(context.input(0).shape());
  for (size_t i = 1; i < context.inputCount(); ++i) {
    Shape shape(context.input(i).shape());
    if (shape.size() != result.size())
      return context.error("expects input " + Twine(i) + " to have rank " +
                           Twine(result.size()) + ", got " +
                           Twine(shape.size()));
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (int64_t(dim) == *axis)
        result[dim] += shape[dim];
      else if (shape[dim] != result[dim])
        return context.error("expects dim " + Twine(dim) + " of input " +
                             Twine(i) + " to be " + Twine(result[dim]) +
                             ", got " + Twine(shape[dim]) +
                             "; check the --dim flags");
    }
  }
  if (failed(context.checkShape(result)))
    return failure();
  context.set(0, context.emit.concat(context.allInputs(), *axis));
  return success();
}

/// numpy's slice of one dim: `start` and `count` of the elements start, start +
/// step, ... before `end`.
std::pair<int64_t, int64_t> sliceBounds(int64_t start, int64_t end,
                                        int64_t step, int64_t size) {
  // Bounds may be INT64_MIN or MAX: clamp before adding.
  auto fromFront = [&](int64_t value) {
    return value < 0 ? std::max(value, -size - 1) + size : value;
  };
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  start = std::clamp(fromFront(start), low, high);
  end = std::clamp(fromFront(end), low, high);
  int64_t distance = step > 0 ? end - start : start - end;
  uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
  return {start,
          distance <= 0 ? 0 : int64_t((uint64_t(distance) - 1) / stride + 1)};
}

LogicalResult slice(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> starts = context.constantInts(1, "starts"),
                   ends = context.constantInts(2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  FailureOr<Shape> axes =
                       llvm::to_vector(llvm::seq<int64_t>(0, starts->size())),
                   steps = Shape(starts->size(), 1);
  if (context.has(3) && failed(axes = context.constantInts(3, "axes")))
    return failure();
  if (context.has(4) && failed(steps = context.constantInts(4, "steps")))
    return failure();
  if (failed(axes = context.axes(*axes, input.rank())))
    return failure();
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size())
    return context.error("expects as many ends, axes and steps as starts");
  Shape begin(input.rank(), 0), sizes(input.shape()), strides(input.rank(), 1);
  for (auto [axis, start, end, step] :
       llvm::zip(*axes, *starts, *ends, *steps)) {
    if (step == 0)
      return context.error("has a step of 0");
    std::tie(begin[axis], sizes[axis]) =
        sliceBounds(start, end, step, input.shape()[axis]);
    strides[axis] = sizes[axis] <= 1 ? 1 : step;
    if (sizes[axis] == 0)
      begin[axis] = 0;
  }
  context.set(0, context.emit.slice(input, begin, sizes, strides));
  return success();
}

/// Sizes of the pieces of Split and SplitToSequence along a dim of `total`.
FailureOr<Shape> splitSizes(NodeContext &context, int64_t total,
                            size_t pieces) {
  // An attribute before opset 13.
  std::optional<Shape> stored = context.intsAttribute("split");
  if (context.has(1) || stored) {
    FailureOr<Shape> sizes = context.has(1)
                                 ? context.constantInts(1, "its sizes")
                                 : FailureOr<Shape>(*stored);
    if (failed(sizes))
      return failure();
    int64_t sum = 0;
    for (int64_t size : *sizes)
      if (size < 0 || llvm::AddOverflow(sum, size, sum))
        return context.error("has a piece of size " + Twine(size));
    if (sum != total || sizes->size() != pieces)
      return context.error("cannot split " + Twine(total) + " into " +
                           Twine(pieces) + " pieces of " + Twine(sum) +
                           " elements together; check the --dim flags");
    return *sizes;
  }
  // num_outputs (opset 18) allows a smaller last piece.
  int64_t piece = (total + int64_t(pieces) - 1) / int64_t(pieces);
  Shape sizes(pieces, piece);
  sizes.back() = total - piece * (int64_t(pieces) - 1);
  if (sizes.back() < 0 || (context.node.opset < 18 && sizes.back() != piece))
    return context.error("cannot split " + Twine(total) + " into " +
                         Twine(pieces) + " pieces; check the --dim flags");
  return sizes;
}

LogicalResult split(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), input.rank());
  if (failed(axis))
    return failure();
  size_t pieces = context.outputCount();
  if (pieces == 0 ||
      context.intAttribute("num_outputs", pieces) != int64_t(pieces))
    return context.error(
        "expects num_outputs to be the number of its outputs, " +
        Twine(pieces));
  FailureOr<Shape> sizes = splitSizes(context, input.shape()[*axis], pieces);
  if (failed(sizes))
    return failure();
  int64_t start = 0;
  for (auto [index, size] : llvm::enumerate(*sizes)) {
    context.set(index, context.emit.sliceDim(input, *axis, start, size));
    start += size;
  }
  return success();
}

/// Triangular part: the other elements become zero.
LogicalResult trilu(NodeContext &context) {
  const Operand &input = context.input(0);
  if (input.rank() < 2)
    return context.error("expects an input of rank 2 or more");
  int64_t k = 0;
  if (context.has(1)) {
    FailureOr<double> diagonal = context.constantFloat(1, "its diagonal");
    if (failed(diagonal))
      return failure();
    k = int64_t(std::clamp(*diagonal, -4e18, 4e18));
  }
  Emitter &emit = context.emit;
  int64_t rows = input.shape()[input.rank() - 2],
          columns = input.shape()[input.rank() - 1];
  k = std::clamp(k, -rows - 1, columns + 1);
  Operand row = emit.binary<nn::AddOp>(emit.iota(rows, 0, 2), emit.integer(k));
  bool upper = context.intAttribute("upper", 1) != 0;
  Operand kept = emit.compare(upper ? nn::CompareKind::le : nn::CompareKind::ge,
                              row, emit.iota(columns, 1, 2));
  context.set(0, emit.select(kept, input, emit.scalar(input.elementType(), 0)));
  return success();
}

/// [N, C b b, H, W] -> [N, C, H b, W b] and back.
/// Whether a channel is made of a channel and a place in the block, in this
/// order (CRD), or of a place and a channel (DCR).
FailureOr<bool> channelsFirst(NodeContext &context) {
  StringRef mode = context.stringAttribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return context.error("has the mode '" + mode + "'; expects DCR or CRD");
  return mode == "CRD";
}

LogicalResult depthToSpace(NodeContext &context) {
  const Operand &input = context.input(0);
  int64_t block = context.intAttribute("blocksize", 0);
  if (input.rank() != 4 || block <= 0 || block > 65536 ||
      input.shape()[1] % (block * block) != 0)
    return context.error(
        "expects an input [N, C, H, W] with C a multiple of blocksize squared");
  int64_t n = input.shape()[0], c = input.shape()[1] / (block * block),
          h = input.shape()[2], w = input.shape()[3];
  FailureOr<bool> crd = channelsFirst(context);
  if (failed(crd))
    return failure();
  Operand split =
      context.emit.reshape(input, *crd ? Shape{n, c, block, block, h, w}
                                       : Shape{n, block, block, c, h, w});
  Operand moved = context.emit.transpose(split, *crd ? Shape{0, 1, 4, 2, 5, 3}
                                                     : Shape{0, 3, 4, 1, 5, 2});
  context.set(0, context.emit.reshape(moved, {n, c, h * block, w * block}));
  return success();
}

LogicalResult spaceToDepth(NodeContext &context) {
  const Operand &input = context.input(0);
  int64_t block = context.intAttribute("blocksize", 0);
  if (input.rank() != 4 || block <= 0 || input.shape()[2] % block != 0 ||
      input.shape()[3] % block != 0)
    return context.error(
        "expects an input [N, C, H, W] with H and W multiples of blocksize");
  int64_t n = input.shape()[0], c = input.shape()[1],
          h = input.shape()[2] / block, w = input.shape()[3] / block;
  FailureOr<bool> crd = channelsFirst(context);
  if (failed(crd))
    return failure();
  Operand split = context.emit.reshape(input, {n, c, h, block, w, block});
  Operand moved = context.emit.transpose(split, *crd ? Shape{0, 1, 3, 5, 2, 4}
                                                     : Shape{0, 3, 5, 1, 2, 4});
  context.set(0, context.emit.reshape(moved, {n, c * block * block, h, w}));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::shapeDecoders() {
  static constexpr Decoder decoders[] = {
      {"Concat", 4, 1, -1, concat},
      {"DepthToSpace", 11, 1, 1, depthToSpace},
      {"Expand", 8, 2, 2, expand},
      {"Flatten", 1, 1, 1, flatten},
      {"Reshape", 5, 2, 2, reshape},
      {"Slice", 10, 3, 5, slice},
      {"SpaceToDepth", 1, 1, 1, spaceToDepth},
      {"Split", 2, 1, 2, split},
      {"Squeeze", 1, 1, 2, squeeze},
      {"Tile", 6, 2, 2, tile},
      {"Transpose", 1, 1, 1, transpose},
      {"Trilu", 14, 1, 2, trilu},
      {"Unsqueeze", 1, 1, 2, unsqueeze},
  };
  return decoders;
}
