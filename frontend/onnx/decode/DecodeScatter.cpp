// Ops that write at positions.
#include "frontend/onnx/decode/ScatterUpdates.h"
#include "frontend/onnx/decode/Windows.h"
#include "frontend/onnx/graph/FxCall.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

LogicalResult write(NodeContext &context, const Scatter &of) {
  FailureOr<Operand> result =
      updated(context, of, context.stringAttribute("reduction", "none"));
  if (failed(result))
    return failure();
  context.set(0, context.emit.reshape(*result, context.input(0).shape()));
  return success();
}

/// Indices in [-size, size) counted from the front; constant ones are checked.
FailureOr<Operand> fromFront(NodeContext &context, const Operand &indices,
                             int64_t size) {
  Emitter &emit = context.emit;
  if (indices.isConstant())
    for (int64_t index : indices.host().toInts())
      if (index < -size || index >= size)
        return context.error("index " + Twine(index) +
                             " is out of range for a dim of size " +
                             Twine(size));
  Operand wide = emit.cast(indices, emit.attributes().getI64Type());
  Operand isNegative = emit.compare(nn::CompareKind::lt, wide, emit.integer(0));
  return emit.select(isNegative,
                     emit.binary<nn::AddOp>(wide, emit.integer(size)), wide);
}

/// A value as `count` rows of shape `rest`.
Operand rowsOf(Emitter &emit, const Operand &value, int64_t count,
               ArrayRef<int64_t> rest) {
  Shape shape = {count};
  llvm::append_range(shape, rest);
  return emit.reshape(value, shape);
}

/// data[indices[..., 0], indices[..., 1], ...] = updates.
LogicalResult scatterND(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1),
                &updates = context.input(2);
  if (indices.isFloat() || indices.rank() == 0)
    return context.error(
        "expects its indices to be integers of rank 1 or more");
  int64_t tuple = indices.shape().back();
  if (tuple < 1 || tuple > data.rank())
    return context.error("its index tuples have " + Twine(tuple) +
                         " elements, data has rank " + Twine(data.rank()));
  ArrayRef<int64_t> indexed = data.shape().take_front(tuple),
                    rest = data.shape().drop_front(tuple),
                    tuples = indices.shape().drop_back();
  Shape expected(tuples);
  llvm::append_range(expected, rest);
  if (updates.shape() != ArrayRef<int64_t>(expected) ||
      updates.elementType() != data.elementType())
    return context.error("expects updates of data's type and of shape " +
                         shapeText(expected) + ", got " +
                         shapeText(updates.shape()));
  Emitter &emit = context.emit;
  Operand position;
  for (int64_t i = 0; i < tuple; ++i) {
    Operand index =
        emit.reshape(emit.sliceDim(indices, indices.rank() - 1, i, 1), tuples);
    FailureOr<Operand> place = fromFront(context, index, indexed[i]);
    if (failed(place))
      return failure();
    position =
        position
            ? emit.binary<nn::AddOp>(
                  emit.binary<nn::MulOp>(position, emit.integer(indexed[i])),
                  *place)
            : *place;
  }
  int64_t count = llvm::product_of(tuples);
  return write(context, {rowsOf(emit, data, llvm::product_of(indexed), rest),
                         rowsOf(emit, updates, count, rest),
                         emit.reshape(position, {count})});
}

/// Whether they are places of the largest elements along the last dim, no two of
/// which are equal in a row.
bool areOfTopK(const Operand &indices) {
  Value value = indices.value();
  while (value) {
    if (auto topK = value.getDefiningOp<nn::TopKOp>())
      return value == topK.getIndices();
    auto cast = value.getDefiningOp<nn::CastOp>();
    value = cast ? cast.getInput() : Value();
  }
  return false;
}

/// Indices without the dims behind `axis`, along all of which they are repeated,
/// as index.view(-1, 1).expand_as(x) is; null where they are not.
Operand beforeRepetition(Emitter &emit, const Operand &indices, int64_t axis) {
  Value value = indices.value();
  if (auto cast = value ? value.getDefiningOp<nn::CastOp>() : nullptr)
    value = cast.getInput();
  auto repeated = value ? value.getDefiningOp<nn::BroadcastOp>() : nullptr;
  if (!repeated)
    return {};
  Operand source = repeated.getInput();
  if (llvm::any_of(source.shape().drop_front(axis + 1),
                   [](int64_t size) { return size != 1; }))
    return {};
  return emit.broadcast(
      emit.reshape(source, source.shape().take_front(axis + 1)),
      indices.shape().take_front(axis + 1));
}

/// PyTorch's exporter writes scatter_reduce(self, dim, index, src, reduce, *,
/// include_self) with the reduction none where it is a mean, which ONNX lacks.
/// The node's metadata has it; the zeros that are written before it where self is
/// not included have the same.
std::optional<bool> meanIncludesSelf(NodeContext &context) {
  FxCall call = fxCall(*context.node.proto);
  if (call.target != "torch.ops.aten.scatter_reduce.two" ||
      call.argument(4, "reduce") != "mean" ||
      context.stringAttribute("reduction", "none") != "none" ||
      context.input(2).isConstant())
    return std::nullopt;
  return call.argument(5, "include_self") != "False";
}

/// data[i, indices[i, j, k], k] = updates[i, j, k] for axis 1.
LogicalResult scatterElements(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1),
                &updates = context.input(2);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), data.rank());
  if (failed(axis))
    return failure();
  if (indices.isFloat() || indices.rank() != data.rank())
    return context.error("expects integer indices of rank " +
                         Twine(data.rank()));
  if (updates.shape() != indices.shape() ||
      updates.elementType() != data.elementType())
    return context.error("expects updates of data's type and of shape " +
                         shapeText(indices.shape()) + ", got " +
                         shapeText(updates.shape()));
  for (int64_t dim = data.rank(); dim-- > 0;)
    if (dim != *axis && indices.shape()[dim] > data.shape()[dim])
      return context.error(
          "expects dim " + Twine(dim) + " of its indices to be at most " +
          Twine(data.shape()[dim]) + ", got " + Twine(indices.shape()[dim]));
  Emitter &emit = context.emit;
  // Where whole rows have one place, rows are written.
  Operand used = indices;
  if (indices.shape().drop_front(*axis + 1) ==
      data.shape().drop_front(*axis + 1))
    if (Operand perRow = beforeRepetition(emit, indices, *axis))
      used = perRow;
  ArrayRef<int64_t> rest = data.shape().drop_front(used.rank());
  Operand position;
  int64_t step = 1;
  for (int64_t dim = used.rank(); dim-- > 0; step *= data.shape()[dim]) {
    Operand place = emit.iota(used.shape()[dim], dim, used.rank());
    if (dim == *axis) {
      FailureOr<Operand> given = fromFront(context, used, data.shape()[dim]);
      if (failed(given))
        return failure();
      place = *given;
    }
    Operand term = emit.binary<nn::MulOp>(place, emit.integer(step));
    position = position ? emit.binary<nn::AddOp>(position, term) : term;
  }
  int64_t count = llvm::product_of(used.shape());
  position = emit.broadcast(position, used.shape());
  Scatter of = {rowsOf(emit, data, step, rest),
                rowsOf(emit, updates, count, rest),
                emit.reshape(position, {count}),
                *axis == data.rank() - 1 && areOfTopK(indices)};
  std::optional<bool> meanWithSelf = meanIncludesSelf(context);
  if (!meanWithSelf)
    return write(context, of);
  if (!data.isFloat())
    return context.error("is a mean of integers (scatter_reduce); supported "
                         "are means of floats");
  context.set(0, emit.reshape(averaged(emit, of, *meanWithSelf), data.shape()));
  return success();
}

/// A cache [B, ..., L, ...] whose elements from write_indices[b] on, along L,
/// are the update's. https://onnx.ai/onnx/operators/onnx__TensorScatter.html
LogicalResult tensorScatter(NodeContext &context) {
  const Operand &cache = context.input(0), &update = context.input(1);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -2), cache.rank());
  if (failed(axis) || failed(context.sameElementType(0, 1)))
    return failure();
  StringRef mode = context.stringAttribute("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return context.error("has the mode '" + mode +
                         "'; supported are linear and circular");
  if (*axis == 0 || update.rank() != cache.rank())
    return context.error("expects an update of the cache's rank, and an axis "
                         "behind the batch");
  int64_t batch = cache.shape()[0], length = cache.shape()[*axis],
          steps = update.shape()[*axis];
  for (int64_t dim = 0; dim < cache.rank(); ++dim)
    if (dim == *axis ? steps > length
                     : update.shape()[dim] != cache.shape()[dim])
      return context.error("cannot write an update of shape " +
                           shapeText(update.shape()) + " into a cache of " +
                           shapeText(cache.shape()));
  Emitter &emit = context.emit;
  Type wide = emit.attributes().getI64Type();
  Operand first = emit.splat({batch}, wide, 0);
  if (context.has(2)) {
    if (context.input(2).isFloat() ||
        context.input(2).shape() != ArrayRef<int64_t>(batch))
      return context.error("expects integer write_indices of shape " +
                           shapeText({batch}) + ", got " +
                           shapeText(context.input(2).shape()));
    first = emit.cast(context.input(2), wide);
  }
  Operand place = emit.binary<nn::AddOp>(emit.reshape(first, {batch, 1}),
                                         emit.iota(steps, 1, 2));
  if (mode == "circular")
    place = emit.emit<nn::ModOp>(
        emit.typeOf({batch, steps}, wide),
        {place, emit.broadcast(emit.integer(length), {batch, steps})});
  Operand sample =
      emit.binary<nn::MulOp>(emit.iota(batch, 0, 2), emit.integer(length));
  Operand position =
      emit.reshape(emit.binary<nn::AddOp>(sample, place), {batch * steps});
  // The axis next to the batch, and the rest behind it.
  Shape permutation = {0, *axis};
  for (int64_t dim = 1; dim < cache.rank(); ++dim)
    if (dim != *axis)
      permutation.push_back(dim);
  auto rows = [&](const Operand &value) {
    Operand moved = emit.transpose(value, permutation);
    Shape shape = {moved.shape()[0] * moved.shape()[1]};
    llvm::append_range(shape, moved.shape().drop_front(2));
    return emit.reshape(moved, shape);
  };
  Operand result =
      overwritten(context, {rows(cache), rows(update), position, true});
  Shape moved, back(cache.rank());
  for (auto [position, dim] : llvm::enumerate(permutation)) {
    moved.push_back(cache.shape()[dim]);
    back[dim] = position;
  }
  context.set(0, emit.transpose(emit.reshape(result, moved), back));
  return success();
}

/// The elements of a pooled input back where MaxPool took them from, between
/// zeros: positions count through the whole of what was pooled.
LogicalResult maxUnpool(NodeContext &context) {
  const Operand &pooled = context.input(0), &indices = context.input(1);
  std::optional<Shape> kernel = context.intsAttribute("kernel_shape");
  if (failed(expectSpatial(context)) || failed(context.expectFloat(0)))
    return failure();
  int64_t dims = pooled.rank() - 2;
  if (!kernel || int64_t(kernel->size()) != dims ||
      indices.shape() != pooled.shape() || indices.isFloat())
    return context.error("expects a kernel_shape of " + Twine(dims) +
                         " numbers, and integers of its input's shape as "
                         "positions");
  FailureOr<Windows> windows =
      windowsOfGrowth(context, pooled.shape().drop_front(2), *kernel);
  if (failed(windows))
    return failure();
  Emitter &emit = context.emit;
  Shape shape(pooled.shape().take_front(2));
  for (int64_t dim = 0; dim < dims; ++dim)
    shape.push_back((windows->input[dim] - 1) * windows->strides[dim] +
                    (*kernel)[dim] - windows->low[dim] - windows->high[dim]);
  if (failed(context.checkShape(shape)))
    return failure();
  int64_t count = pooled.type().getNumElements(),
          places = llvm::product_of(shape);
  FailureOr<Operand> position =
      fromFront(context, emit.reshape(indices, {count}), places);
  if (failed(position))
    return failure();
  // Windows that overlap may have taken one element twice: it stays what it is.
  auto at = [&](const Operand &values) {
    return sumAt(emit, emit.reshape(values, {count}), *position, {places});
  };
  Operand one = emit.scalar(pooled.elementType(), 1);
  Operand times = at(emit.splat({count}, pooled.elementType(), 1));
  Operand result = emit.reshape(
      emit.binary<nn::DivOp>(
          at(pooled), emit.select(emit.compare(nn::CompareKind::gt, times, one),
                                  times, one)),
      shape);
  if (context.has(2)) {
    FailureOr<Shape> wanted = context.constantInts(2, "its output shape");
    if (failed(wanted))
      return failure();
    Shape high, none(shape.size(), 0);
    for (auto [dim, size] : llvm::enumerate(*wanted))
      if (dim < shape.size())
        high.push_back(size - shape[dim]);
    if (wanted->size() != shape.size() ||
        llvm::any_of(high, [](int64_t more) { return more < 0; }) ||
        failed(context.checkShape(*wanted)))
      return context.error("expects an output shape of at least " +
                           shapeText(shape) + ", got " + shapeText(*wanted));
    result = emit.pad(result, none, high, none);
  }
  context.set(0, result);
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::scatterDecoders() {
  static constexpr Decoder decoders[] = {
      {"MaxUnpool", 9, 2, 3, maxUnpool},
      {"Scatter", 9, 3, 3, scatterElements},
      {"ScatterElements", 11, 3, 3, scatterElements},
      {"ScatterND", 11, 3, 3, scatterND},
      {"TensorScatter", 24, 2, 3, tensorScatter},
  };
  return decoders;
}
