#include "frontend/onnx/decode/Convolution.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

Shape shardc::onnx::with(ArrayRef<int64_t> shape, ArrayRef<int64_t> more) {
  Shape all(shape);
  all.append(more.begin(), more.end());
  return all;
}

/// Windows that touch and do not overlap, as those of a vision transformer: the
/// input read in another order, [N, output..., taps, C].
Operand Convolution::patches(const Windows &windows, const Operand &x) {
  Shape starts(x.rank(), 0), sizes(x.shape()), steps(x.rank(), 1);
  Shape split = {x.shape()[0]}, permutation = {0}, shape = {x.shape()[0]};
  for (size_t dim = 0; dim < windows.dims(); ++dim) {
    sizes[dim + 1] = windows.output[dim] * windows.kernel[dim];
    split.append({windows.output[dim], windows.kernel[dim]});
    permutation.push_back(int64_t(1 + 2 * dim));
    shape.push_back(windows.output[dim]);
  }
  for (size_t dim = 0; dim < windows.dims(); ++dim)
    permutation.push_back(int64_t(2 + 2 * dim));
  permutation.push_back(int64_t(1 + 2 * windows.dims()));
  split.push_back(x.shape().back());
  shape.append({windows.taps(), x.shape().back()});
  Operand whole = emit.slice(x, starts, sizes, steps);
  return emit.reshape(emit.transpose(emit.reshape(whole, split), permutation),
                      shape);
}

/// What each window has, tap by tap: [N, output..., taps, C].
Operand Convolution::columns(const Windows &windows, const Operand &x) {
  bool isPadded = llvm::any_of(windows.low, [](int64_t n) { return n > 0; }) ||
                  llvm::any_of(windows.high, [](int64_t n) { return n > 0; });
  bool isDense =
      llvm::all_of(windows.dilations, [](int64_t n) { return n == 1; });
  if (!isPadded && isDense && windows.strides == windows.kernel)
    return patches(windows, x);
  Taps taps(context, windows, x, emit.scalar(x.elementType(), 0));
  SmallVector<Operand> all;
  for (int64_t i = 0; i < windows.taps(); ++i) {
    Operand tap = taps[i];
    Shape shape(tap.shape());
    shape.insert(shape.end() - 1, 1);
    all.push_back(emit.reshape(tap, shape));
  }
  return emit.concat(all, x.rank() - 1);
}

/// Where each channel has kernels of its own: a sum over taps, each of which is
/// multiplied by numbers that vary over channels alone.
Operand Convolution::perChannel(const Windows &windows, const Operand &x,
                                const Operand &w) {
  int64_t channels = x.shape().back(), multiplier = w.shape()[0] / channels;
  Taps taps(context, windows, x, emit.scalar(x.elementType(), 0));
  // [C m, 1, K...] as [taps, C] or [taps, C, m].
  Shape each = {channels};
  if (multiplier > 1)
    each.push_back(multiplier);
  Operand kernels = emit.reshape(
      emit.transpose(emit.reshape(w, {channels, multiplier, windows.taps()}),
                     {2, 0, 1}),
      with({windows.taps()}, each));
  Operand sum;
  for (int64_t i = 0; i < windows.taps(); ++i) {
    Operand tap = taps[i];
    if (multiplier > 1)
      tap = emit.reshape(tap, with(tap.shape(), {1}));
    Operand kernel = emit.reshape(emit.sliceDim(kernels, 0, i, 1), each);
    Operand term = emit.binary<nn::MulOp>(tap, kernel);
    sum = sum ? add(sum, term) : term;
  }
  return emit.reshape(sum, with(Shape(x.shape().take_front(1)),
                                with(windows.output, {channels * multiplier})));
}

Operand Convolution::convolve(const Windows &windows, const Operand &x,
                              const Operand &w) {
  if (groups > 1 && groups == x.shape().back())
    return perChannel(windows, x, w);
  return multiply(columns(windows, x), w);
}

Operand Convolution::multiply(const Operand &columns, const Operand &w) {
  Operand rows = columns;
  int64_t taps = rows.shape()[rows.rank() - 2], channels = rows.shape().back(),
          out = w.shape()[0];
  Shape outer(rows.shape().drop_back(2));
  if (groups == 1) {
    Operand matrix = emit.reshape(
        emit.transpose(emit.reshape(w, {out, channels, taps}), {0, 2, 1}),
        {out, taps * channels});
    return emit.linear(emit.reshape(rows, with(outer, {taps * channels})),
                       matrix, true);
  }
  // A product for each group: [g, rows, taps C/g] by [g, O/g, taps C/g].
  int64_t count = llvm::product_of(outer), part = channels / groups,
          outPart = out / groups;
  rows = emit.transpose(emit.reshape(rows, {count, taps, groups, part}),
                        {2, 0, 1, 3});
  rows = emit.reshape(rows, {groups, count, taps * part});
  Operand matrices = emit.transpose(
      emit.reshape(w, {groups, outPart, part, taps}), {0, 1, 3, 2});
  matrices = emit.reshape(matrices, {groups, outPart, taps * part});
  Operand result = emit.emit<nn::MatMulOp>(
      emit.typeOf({groups, count, outPart}, rows.elementType()),
      {rows, matrices}, {emit.flag("transpose_rhs")});
  return emit.reshape(emit.transpose(result, {1, 0, 2}), with(outer, {out}));
}

/// Where no windows overlap, each element becomes one: the result of a product
/// in another order.
Operand Convolution::growApart(const Windows &windows, const Operand &x,
                               const Operand &w) {
  int64_t part = x.shape().back() / groups, outPart = w.shape()[1],
          taps = windows.taps();
  // [C, O / groups, K...] as that of a convolution, a kernel for each tap.
  Operand kernels = emit.transpose(
      emit.reshape(w, {groups, part, outPart, taps}), {0, 3, 2, 1});
  Shape shape(x.rank(), 1);
  shape[0] = groups * taps * outPart, shape[1] = part;
  Windows ones = windows;
  ones.kernel = ones.strides = ones.dilations = Shape(windows.dims(), 1);
  ones.low = ones.high = Shape(windows.dims(), 0);
  ones.output = windows.input;
  Operand spread = convolve(ones, x, emit.reshape(kernels, shape));
  // [N, S..., g, K..., o] to [N, S, K, ..., g, o].
  auto dims = int64_t(windows.dims());
  Shape split(x.shape().drop_back()), permutation = {0}, grown = {x.shape()[0]};
  split.push_back(groups);
  split = with(with(split, windows.kernel), {outPart});
  for (int64_t dim = 0; dim < dims; ++dim) {
    permutation.append({1 + dim, 2 + dims + dim});
    grown.push_back(windows.input[dim] * windows.kernel[dim]);
  }
  permutation.append({1 + dims, 2 + 2 * dims});
  grown.push_back(groups * outPart);
  return emit.reshape(emit.transpose(emit.reshape(spread, split), permutation),
                      grown);
}

/// The elements of a growth's result whose places leave one rest by the strides:
/// a convolution of stride 1, by the taps that fall on them. Place s q + r has tap
/// k of element q - (k d - r) / s.
struct Convolution::Phase {
  Windows windows;
  bool isEmpty = false; ///< no tap falls on them
  Shape starts, sizes,
      steps; ///< of their taps in the kernel, the last one first

  Phase(const Windows &growth, ArrayRef<int64_t> rests,
        ArrayRef<int64_t> output) {
    windows.input = growth.input;
    windows.output = Shape(output);
    for (size_t dim = 0; dim < growth.dims(); ++dim) {
      int64_t stride = growth.strides[dim], dilation = growth.dilations[dim],
              common = std::gcd(stride, dilation), step = stride / common,
              first = 0;
      while (first < step && first * dilation % stride != rests[dim])
        ++first;
      if (first == step || first >= growth.kernel[dim]) {
        isEmpty = true;
        return;
      }
      int64_t taps = (growth.kernel[dim] - 1 - first) / step + 1,
              last = first + (taps - 1) * step;
      windows.kernel.push_back(taps);
      windows.strides.push_back(1);
      windows.dilations.push_back(dilation / common);
      windows.low.push_back(last * dilation / stride);
      windows.high.push_back(
          std::max<int64_t>(0, output[dim] - 1 + windows.reach(dim) -
                                   windows.low[dim] - windows.input[dim]));
      starts.push_back(last), sizes.push_back(taps), steps.push_back(-step);
    }
  }
};

/// [N, Q..., O] of each phase to [N, Q s, ..., O].
Operand Convolution::interleaved(std::vector<Operand> phases,
                                 ArrayRef<int64_t> strides) {
  for (size_t dim = strides.size(); dim-- > 0;) {
    std::vector<Operand> joined;
    for (size_t i = 0; i < phases.size(); i += size_t(strides[dim])) {
      std::vector<Operand> parts;
      Shape shape(phases[i].shape());
      shape.insert(shape.begin() + dim + 2, 1);
      for (int64_t rest = 0; rest < strides[dim]; ++rest)
        parts.push_back(emit.reshape(phases[i + size_t(rest)], shape));
      shape.erase(shape.begin() + dim + 2);
      shape[dim + 1] *= strides[dim];
      joined.push_back(
          emit.reshape(emit.concat(parts, int64_t(dim) + 2), shape));
    }
    phases = std::move(joined);
  }
  return phases.front();
}

Operand Convolution::grow(const Windows &windows, const Operand &x,
                          const Operand &w) {
  if (windows.kernel == windows.strides &&
      llvm::all_of(windows.dilations, [](int64_t n) { return n == 1; }))
    return growApart(windows, x, w);
  int64_t part = x.shape().back() / groups, outPart = w.shape()[1];
  Shape permutation = {0, 2, 1}, output;
  for (size_t dim = 0; dim < windows.dims(); ++dim) {
    permutation.push_back(int64_t(dim) + 3);
    int64_t whole =
        (windows.input[dim] - 1) * windows.strides[dim] + windows.reach(dim);
    output.push_back((whole - 1) / windows.strides[dim] + 1);
  }
  // [C, O / groups, K...] as that of a convolution.
  Operand kernel =
      emit.reshape(emit.transpose(emit.reshape(w, with({groups, part, outPart},
                                                       windows.kernel)),
                                  permutation),
                   with({groups * outPart, part}, windows.kernel));
  std::vector<Operand> phases;
  Shape rests(windows.dims(), 0);
  for (int64_t left = llvm::product_of(windows.strides); left > 0; --left) {
    Phase phase(windows, rests, output);
    if (phase.isEmpty)
      phases.push_back(
          emit.splat(with(with({x.shape()[0]}, output), {groups * outPart}),
                     x.elementType(), 0));
    else
      phases.push_back(
          convolve(phase.windows, x,
                   emit.slice(kernel, with({0, 0}, phase.starts),
                              with({groups * outPart, part}, phase.sizes),
                              with({1, 1}, phase.steps))));
    for (size_t dim = rests.size(); dim-- > 0;) {
      if (++rests[dim] < windows.strides[dim])
        break;
      rests[dim] = 0;
    }
  }
  return interleaved(std::move(phases), windows.strides);
}
