// Ops that read at positions. Positions that are known and evenly spaced become
// slices and broadcasts, so that the masks and position tables of exported
// models reach the passes without a gather.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Extremes.h"
#include "frontend/onnx/graph/FxCall.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

namespace {

/// Indices start, start + step, ... that run through `dims` of the index tensor
/// in row-major order (outermost first). Without dims all indices are `start`.
struct AffineIndices {
  int64_t start = 0, step = 0, count = 1;
  SmallVector<std::pair<int64_t, int64_t>> dims; ///< dim and its size
};

std::optional<AffineIndices> asAffine(const HostTensor &indices) {
  HostTensor compact = indices.compact();
  if (compact.elements() == 0 || compact.elements() > Emitter::maxElements)
    return std::nullopt;
  AffineIndices result;
  Shape position(compact.rank(), 0), steps(compact.rank(), 0);
  result.start = compact.intAt(position);
  for (int64_t dim = 0; dim < compact.rank(); ++dim) {
    if (compact.shape()[dim] == 1)
      continue;
    position[dim] = 1;
    steps[dim] = compact.intAt(position) - result.start;
    position[dim] = 0;
    if (steps[dim] != 0)
      result.dims.emplace_back(dim, compact.shape()[dim]);
  }
  for (int64_t linear = 0; linear < compact.elements(); ++linear) {
    int64_t expected = result.start, rest = linear;
    for (int64_t dim = compact.rank() - 1; dim >= 0; --dim) {
      expected += steps[dim] * (rest % compact.shape()[dim]);
      rest /= compact.shape()[dim];
    }
    if (compact.intAt(linear) != expected)
      return std::nullopt;
  }
  // Several dims must continue each other: batch * sequence + position.
  llvm::stable_sort(result.dims, [&](auto lhs, auto rhs) {
    return std::abs(steps[lhs.first]) > std::abs(steps[rhs.first]);
  });
  for (auto [dim, size] : llvm::reverse(result.dims)) {
    if (result.step == 0)
      result.step = steps[dim];
    if (steps[dim] != result.step * result.count)
      return std::nullopt;
    result.count *= size;
  }
  return result;
}

/// Indices in [-size, size) counted from the front; fails where one lies
/// outside.
bool wrap(AffineIndices &indices, int64_t size) {
  int64_t last = indices.start + indices.step * (indices.count - 1);
  if (indices.start < 0 && last < 0) {
    indices.start += size;
    last += size;
  }
  return indices.start >= 0 && last >= 0 && indices.start < size && last < size;
}

/// data[indices[0], indices[1], ...], each affine along another dim of `shape`;
/// none where that is not so. The result has the dims `shape`, then those of
/// data that are not indexed, from dim `first` of data on.
std::optional<Operand> gatherAffine(Emitter &emit, const Operand &data,
                                    int64_t first, ArrayRef<HostTensor> indices,
                                    ArrayRef<int64_t> shape) {
  SmallVector<AffineIndices> affine;
  llvm::SmallDenseSet<int64_t> used;
  Shape starts(data.rank(), 0), sizes(data.shape()), steps(data.rank(), 1);
  for (auto [position, index] : llvm::enumerate(indices)) {
    std::optional<AffineIndices> found = asAffine(index);
    int64_t dim = first + position;
    if (!found || !wrap(*found, data.shape()[dim]))
      return std::nullopt;
    for (auto [varying, size] : found->dims)
      if (!used.insert(varying).second)
        return std::nullopt;
    starts[dim] = found->start;
    sizes[dim] = found->count;
    steps[dim] = found->count > 1 ? found->step : 1;
    affine.push_back(*found);
  }
  Operand sliced = emit.slice(data, starts, sizes, steps);
  // Indexed dims that have one element fall away; the others come in the order
  // of the indices' dims.
  Shape kept(data.shape().take_front(first)),
      permutation = llvm::to_vector(llvm::seq<int64_t>(0, first));
  Shape result(kept), spread(kept);
  SmallVector<std::pair<int64_t, int64_t>> order;
  for (const AffineIndices &entry : affine)
    for (auto [dim, size] : entry.dims) {
      order.emplace_back(dim, kept.size());
      kept.push_back(size);
    }
  llvm::sort(order);
  for (auto [dim, position] : order)
    permutation.push_back(position);
  for (size_t dim = first + indices.size(); dim < size_t(data.rank()); ++dim) {
    permutation.push_back(kept.size());
    kept.push_back(data.shape()[dim]);
  }
  for (auto [dim, size] : llvm::enumerate(shape)) {
    spread.push_back(used.contains(dim) ? size : 1);
    result.push_back(size);
  }
  for (int64_t size : data.shape().drop_front(first + indices.size())) {
    spread.push_back(size);
    result.push_back(size);
  }
  return emit.broadcast(
      emit.reshape(emit.transpose(emit.reshape(sliced, kept), permutation),
                   spread),
      result);
}

Operand asIndex(Emitter &emit, const Operand &indices) {
  Type element = indices.elementType();
  return element.isInteger(32)
             ? indices
             : emit.cast(indices, emit.attributes().getI64Type());
}

/// Constant indices must lie in [-size, size).
LogicalResult checkRange(NodeContext &context, const Operand &indices,
                         int64_t size) {
  if (!indices.isConstant() || indices.host().elements() == 0)
    return success();
  HostTensor compact = indices.host().compact();
  if (compact.elements() > Emitter::maxElements)
    return context.error("has more than " + Twine(Emitter::maxElements) +
                         " indices");
  for (int64_t linear = 0; linear < compact.elements(); ++linear)
    if (int64_t index = compact.intAt(linear); index < -size || index >= size)
      return context.error("index " + Twine(index) +
                           " is out of range for a dim of size " + Twine(size));
  return success();
}

/// PyTorch's embedding gives the row `padding_idx` of its table no gradient:
/// `rows`, without a gradient where they are that row. The file tells only by
/// its metadata.
FailureOr<Operand> stopAtPadding(NodeContext &context, const Operand &rows) {
  FxCall call = fxCall(*context.node.proto);
  const Operand &table = context.input(0), &ids = context.input(1);
  if (!call.target.starts_with("torch.ops.aten.embedding.") ||
      table.isConstant() || !table.isFloat() || table.rank() != 2)
    return rows;
  // embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, ...);
  // PyTorch counts a padding_idx from the end before it gets here.
  if (call.argument(3, "scale_grad_by_freq") == "True")
    return context.error("an embedding with scale_grad_by_freq is not "
                         "supported: its gradient is divided by how often an "
                         "id occurs");
  int64_t padding = -1;
  if (call.argument(2, "padding_idx").getAsInteger(10, padding) || padding < 0)
    return rows;
  Emitter &emit = context.emit;
  Operand index = asIndex(emit, ids);
  Operand isPadding =
      emit.compare(nn::CompareKind::eq, index,
                   emit.cast(emit.integer(padding), index.elementType()));
  if (isPadding.isConstant() &&
      llvm::none_of(isPadding.host().toInts(), [](int64_t is) { return is; }))
    return rows;
  Shape column(ids.shape());
  column.push_back(1);
  return emit.emit<nn::StopGradientOp>(
      rows.type(),
      {rows, emit.broadcast(emit.reshape(isPadding, column), rows.shape())});
}

LogicalResult gather(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1);
  if (indices.isFloat())
    return context.error("expects its indices to be integers");
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), data.rank());
  if (failed(axis) || failed(checkRange(context, indices, data.shape()[*axis])))
    return failure();
  Shape shape(data.shape().take_front(*axis));
  llvm::append_range(shape, indices.shape());
  llvm::append_range(shape, data.shape().drop_front(*axis + 1));
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter &emit = context.emit;
  std::optional<Operand> rows;
  if (indices.isConstant())
    rows = gatherAffine(emit, data, *axis, {indices.host()}, indices.shape());
  if (!rows)
    rows = emit.emit<nn::GatherOp>(emit.typeOf(shape, data.elementType()),
                                   {data, asIndex(emit, indices)},
                                   {emit.named("axis", *axis)});
  FailureOr<Operand> result = stopAtPadding(context, *rows);
  if (failed(result))
    return failure();
  context.set(0, *result);
  return success();
}

LogicalResult gatherND(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1);
  int64_t batchDims = context.intAttribute("batch_dims", 0);
  if (indices.isFloat() || indices.rank() == 0)
    return context.error(
        "expects its indices to be integers of rank 1 or more");
  if (batchDims < 0 || batchDims >= indices.rank() ||
      batchDims >= data.rank() ||
      data.shape().take_front(batchDims) !=
          indices.shape().take_front(batchDims))
    return context.error("expects data and indices to agree in the first " +
                         Twine(batchDims) + " dims");
  int64_t tuple = indices.shape().back();
  if (tuple < 1 || batchDims + tuple > data.rank())
    return context.error("its index tuples have " + Twine(tuple) +
                         " elements, data has rank " + Twine(data.rank()));
  Shape shape(indices.shape().drop_back());
  llvm::append_range(shape, data.shape().drop_front(batchDims + tuple));
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter &emit = context.emit;
  if (indices.isConstant() && batchDims == 0) {
    SmallVector<HostTensor> components;
    for (int64_t i = 0; i < tuple; ++i) {
      Operand component = emit.sliceDim(indices, indices.rank() - 1, i, 1);
      if (failed(checkRange(context, component, data.shape()[i])))
        return failure();
      components.push_back(
          emit.reshape(component, indices.shape().drop_back()).host());
    }
    if (auto result = gatherAffine(emit, data, 0, components,
                                   indices.shape().drop_back())) {
      context.set(0, *result);
      return success();
    }
  }
  context.set(0,
              emit.emit<nn::GatherNdOp>(emit.typeOf(shape, data.elementType()),
                                        {data, asIndex(emit, indices)},
                                        {emit.named("batch_dims", batchDims)}));
  return success();
}

/// result[i, j, k] = data[i, index[i, j, k], k] for axis 1: a GatherND over the
/// last dim with all others as batch dims.
LogicalResult gatherElements(NodeContext &context) {
  Operand data = context.input(0), indices = context.input(1);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), data.rank());
  if (failed(axis) || indices.rank() != data.rank() || indices.isFloat())
    return failed(axis) ? failure()
                        : context.error("expects integer indices of rank " +
                                        Twine(data.rank()));
  if (failed(checkRange(context, indices, data.shape()[*axis])))
    return failure();
  Emitter &emit = context.emit;
  for (int64_t dim = 0; dim < data.rank(); ++dim) {
    if (dim == *axis)
      continue;
    if (indices.shape()[dim] > data.shape()[dim])
      return context.error(
          "expects dim " + Twine(dim) + " of its indices to be at most " +
          Twine(data.shape()[dim]) + ", got " + Twine(indices.shape()[dim]));
    data = emit.sliceDim(data, dim, 0, indices.shape()[dim]);
  }
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, data.rank()));
  std::swap(permutation[*axis], permutation.back());
  data = emit.transpose(data, permutation);
  indices = asIndex(emit, emit.transpose(indices, permutation));
  Shape tuples(indices.shape());
  tuples.push_back(1);
  Operand result = emit.emit<nn::GatherNdOp>(
      emit.typeOf(indices.shape(), data.elementType()),
      {data, emit.reshape(indices, tuples)},
      {emit.named("batch_dims", data.rank() - 1)});
  context.set(0, emit.transpose(result, permutation));
  return success();
}

/// result[t] = data[length - 1 - t] in the first `length` elements of a
/// sequence, and data[t] behind them.
LogicalResult reverseSequence(NodeContext &context) {
  const Operand &input = context.input(0), &lengths = context.input(1);
  int64_t time = context.intAttribute("time_axis", 0),
          batch = context.intAttribute("batch_axis", 1);
  if (input.rank() < 2 || std::min(time, batch) != 0 ||
      std::max(time, batch) != 1)
    return context.error("expects time_axis and batch_axis to be 0 and 1, and "
                         "an input of rank 2 or more");
  int64_t sequences = input.shape()[batch], steps = input.shape()[time];
  if (lengths.isFloat() || lengths.shape() != ArrayRef<int64_t>(sequences))
    return context.error("expects integer lengths of shape " +
                         shapeText({sequences}) + ", got " +
                         shapeText(lengths.shape()));
  Emitter &emit = context.emit;
  Operand length = emit.reshape(
      emit.cast(lengths, emit.attributes().getI64Type()), {sequences, 1});
  Operand step = emit.iota(steps, 1, 2);
  Operand turned = emit.binary<nn::SubOp>(
      emit.binary<nn::SubOp>(length, emit.integer(1)), step);
  Operand from = emit.select(emit.compare(nn::CompareKind::lt, step, length),
                             turned, step);
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  if (time == 0)
    std::swap(permutation[0], permutation[1]);
  Operand rows = emit.transpose(input, permutation); // [sequence, step, ...]
  Operand result = emit.emit<nn::GatherNdOp>(
      rows.type(), {rows, emit.reshape(from, {sequences, steps, 1})},
      {emit.named("batch_dims", int64_t(1))});
  context.set(0, emit.transpose(result, permutation));
  return success();
}

LogicalResult oneHot(NodeContext &context) {
  const Operand &values = context.input(2);
  FailureOr<double> depth = context.constantFloat(1, "its depth");
  if (failed(depth))
    return failure();
  if (!(*depth >= 1 && *depth <= double(int64_t(1) << 31)) ||
      values.shape() != ArrayRef<int64_t>{2})
    return context.error("expects a positive depth and two values");
  int64_t rank = context.input(0).rank() + 1;
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -1), rank);
  if (failed(axis))
    return failure();
  Emitter &emit = context.emit;
  Operand indices = emit.cast(context.input(0), emit.attributes().getI64Type());
  Operand negative =
      emit.compare(nn::CompareKind::lt, indices, emit.integer(0));
  indices = emit.select(
      negative, emit.binary<nn::AddOp>(indices, emit.integer(int64_t(*depth))),
      indices);
  Shape shape(indices.shape());
  shape.insert(shape.begin() + *axis, int64_t(*depth));
  if (failed(context.checkShape(shape)))
    return failure();
  shape[*axis] = 1;
  Operand hot = emit.compare(nn::CompareKind::eq, emit.reshape(indices, shape),
                             emit.iota(int64_t(*depth), *axis, rank));
  Operand off = emit.reshape(emit.sliceDim(values, 0, 0, 1), {}),
          on = emit.reshape(emit.sliceDim(values, 0, 1, 1), {});
  context.set(0, emit.select(hot, on, off));
  return success();
}

/// `sorted` = 0 leaves the order open, so that it is met by sorting.
LogicalResult topK(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> counts = context.constantInts(1, "the number of elements");
  if (failed(counts))
    return failure();
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -1), input.rank());
  if (failed(axis))
    return failure();
  const int64_t size = input.shape()[*axis];
  if (counts->size() != 1 || counts->front() < 0 || counts->front() > size)
    return context.error("expects one number of elements from 0 to dim " +
                         Twine(*axis) + "'s " + Twine(size) + ", got " +
                         shapeText(*counts));
  auto [values, places] =
      topElements(context.emit, input, *axis, counts->front(),
                  /*smallest=*/context.intAttribute("largest", 1) == 0);
  context.set(0, values);
  if (context.wants(1))
    context.set(1, places);
  return success();
}

/// The place of the largest element, or, with `smallest`, of the smallest; the
/// first one, unless select_last_index is given. What is no number counts as
/// both, as in numpy and torch.
template <bool smallest> LogicalResult argMax(NodeContext &context) {
  Operand input = context.input(0);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), input.rank());
  if (failed(axis))
    return failure();
  const int64_t size = input.shape()[*axis];
  if (size == 0)
    return context.error("expects dim " + Twine(*axis) +
                         " to have elements, got none");
  Emitter &emit = context.emit;
  bool takesLast = context.intAttribute("select_last_index", 0);
  if (takesLast) {
    Shape starts(input.rank(), 0), steps(input.rank(), 1);
    starts[*axis] = size - 1;
    steps[*axis] = -1;
    input = emit.slice(input, starts, Shape(input.shape()), steps);
  }
  bool isNegated = smallest && input.isFloat();
  if (isNegated)
    input = emit.unary<nn::NegOp>(input);
  Operand place =
      topElements(emit, input, *axis, 1, smallest && !isNegated).second;
  if (takesLast)
    place = emit.binary<nn::SubOp>(emit.integer(size - 1), place);
  if (!context.intAttribute("keepdims", 1)) {
    Shape shape(place.shape());
    shape.erase(shape.begin() + *axis);
    place = emit.reshape(place, shape);
  }
  context.set(0, place);
  return success();
}

/// 1 for the first of the largest elements along an axis, and 0 for the others.
LogicalResult hardmax(NodeContext &context) {
  const Operand &input = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -1), input.rank());
  if (failed(axis))
    return failure();
  Emitter &emit = context.emit;
  Operand place = topElements(emit, input, *axis, 1, /*smallest=*/false).second;
  Operand isPlace =
      emit.compare(nn::CompareKind::eq,
                   emit.iota(input.shape()[*axis], *axis, input.rank()), place);
  context.set(0, emit.cast(isPlace, input.elementType()));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::indexingDecoders() {
  static constexpr Decoder decoders[] = {
      {"ArgMax", 1, 1, 1, argMax<false>},
      {"ArgMin", 1, 1, 1, argMax<true>},
      {"Gather", 1, 2, 2, gather},
      {"GatherElements", 11, 2, 2, gatherElements},
      {"GatherND", 11, 2, 2, gatherND},
      {"Hardmax", 13, 1, 1, hardmax},
      {"OneHot", 11, 3, 3, oneHot},
      {"ReverseSequence", 10, 2, 2, reverseSequence},
      {"TopK", 11, 2, 2, topK},
  };
  return decoders;
}
