// What the kernels of attention take: one struct by value. Host and device read
// this header. Addresses are the device's; sizes and strides are in elements.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONPARAMETERS_H

#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

/// A tensor [batch, positions, heads, dim], whose last dim is contiguous.
struct HeadsView {
  Address data;
  Count batch, position, head; // strides
};

/// softmax(capped(scale * query key^T) + bias, masked) value;
/// frontend/nn/ops/Attention.td says what it means. Query head h reads head h /
/// headsPerGroup of keys and values.
struct AttentionParameters {
  HeadsView query, key, value;
  HeadsView output;  // written forward, read backward
  Address logSumExp; // [batch, heads, queries], contiguous: float32, or float64
                     // of float64; 0: not wanted
  Address bias;      // [batch, heads, queries, keys]; 0: there is none
  Count biasStrides[4]; // 0 in a dim that is broadcast
  Count biasIsFloat32;  // else it has query's type
  Address keyMask;      // bytes [batch, keys], not 0: seen; 0: there is none
  Count keyMaskStrides[2];
  Address sinks;         // [heads], contiguous; 0: there are none
  Count sinksAreFloat32; // else they have query's type
  Address words; // int32 [8]: what drops probabilities; 0: they are all kept
  /// Row i of the scores [batch, heads, queries] belongs to sample
  /// i / rowStride % samples; samples = 0: all samples are dropped alike.
  Count samples, rowStride;
  Count headStride; // rowStride / queries, for the kernels with matrix units
  Count batch, queries, keys, heads, headsPerGroup;
  Count headDim;         // of queries and keys
  Count valueDim;        // of values and outputs
  Count before, span;    // query i sees `span` keys from i + before on
  double scale, softcap; // of 0: there is none
  // A softcap c, 1 / c, and 2 log2(e) scale / c, for the kernels with matrix
  // units, which have no registers to find them in.
  float narrowCap, capInverse, capExponent;
};

/// The gradients of query, key and value. What follows from a row of scores alone
/// is found by the kernel `rows`, which the two others read.
struct AttentionGradParameters {
  AttentionParameters forward;
  HeadsView gradient; // of the output
  HeadsView queryGradient, keyGradient, valueGradient;
  /// [batch, heads, queries] each, contiguous, of log_sum_exp's type. A row's
  /// probabilities are exp(score - shift) * factor; shift is inf where nothing is
  /// seen. delta is the sum of gradient * output.
  Address shifts, factors, deltas;
};

// The kernels of Attention.cu and AttentionGrad.cu: any strides, dims and types.
// Blocks of attentionThreads in a grid of one dimension, no shared memory but
// their own. TYPE is f64, f32, bf16 or f16.

inline constexpr int attentionThreads = 256;
/// Rows of a block: of queries, or of keys where their gradients are computed.
inline constexpr int attentionRows = 32;
/// A block writes that many columns of the result, or of results: of wider ones
/// each part has a block, which computes the scores again.
inline constexpr int attentionColumns = 128;

// attention_TYPE (AttentionParameters):
//   batch * heads * ceil(queries / attentionRows) * ceil(valueDim /
//   attentionColumns) blocks.
// attention_rows_TYPE (AttentionGradParameters):
//   batch * heads * ceil(queries / attentionRows) blocks.
// attention_query_gradient_TYPE:
//   batch * heads * ceil(queries / attentionRows) * ceil(headDim /
//   attentionColumns) blocks.
// attention_key_gradient_TYPE, which writes the gradients of keys and values:
//   batch * heads / headsPerGroup * ceil(keys / attentionRows) *
//   ceil(max(headDim, valueDim) / attentionColumns) blocks.

// The kernels of AttentionMatrix<DIMS>.cu, with matrix units, and those of
// AttentionDropped<DIMS>.cu for attention that drops probabilities:
// TYPE is bf16 or f16, dims are multiples of 8 up to DIMS, one of matrixDims. Rows
// of query, key, value and gradient begin at multiples of 16 bytes, those of
// results at multiples of 4; samples have whole heads. Grids of one dimension, with blocks and dynamic
// shared memory as MatrixBlock says.

inline constexpr int matrixDims[] = {64, 96, 128, 192, 256};

/// How a block of threads is cut. A warp computes rowTiles * 16 rows of one side
/// (queries, or keys where their gradients are computed); `step` rows of the
/// other side are in shared memory at a time.
struct MatrixBlock {
  int warps;    // of 32 threads
  int rowTiles; // of a warp
  int parts;    // of a result's columns: as many warps have the same rows
  int step;     // a multiple of 16

  constexpr int threads() const { return 32 * warps; }
  constexpr int rows() const { return warps / parts * rowTiles * 16; }
};

/// Bytes of a row of 16-bit numbers in shared memory: 16 more than it needs, so
/// that rows begin in different banks.
constexpr int matrixRowBytes(int dims) { return 2 * dims + 16; }

// attention_matrix_DIMS_TYPE, attention_dropped_DIMS_TYPE (AttentionParameters):
//   batch * heads * ceil(queries / rows) blocks.
constexpr MatrixBlock matrixForward(int dims) {
  return dims <= 64    ? MatrixBlock{4, 2, 1, 64}
         : dims <= 128 ? MatrixBlock{4, 2, 1, 32}
                       : MatrixBlock{8, 1, 1, 32};
}
/// Rows of queries, and a step of keys and of values.
constexpr int matrixForwardBytes(int dims) {
  MatrixBlock block = matrixForward(dims);
  return (block.rows() + 2 * block.step) * matrixRowBytes(dims);
}

// attention_matrix_query_gradient_DIMS_TYPE, attention_dropped_...
// (AttentionGradParameters):
//   batch * heads * ceil(queries / rows) blocks.
constexpr MatrixBlock matrixQueryGradient(int dims) {
  return dims <= 64    ? MatrixBlock{4, 2, 1, 32}
         : dims <= 128 ? MatrixBlock{8, 1, 1, 64}
                       : MatrixBlock{4, 1, 1, 32};
}
/// Rows of queries and of the output's gradient, and two steps of keys and of
/// values.
constexpr int matrixQueryGradientBytes(int dims) {
  MatrixBlock block = matrixQueryGradient(dims);
  return (2 * block.rows() + 4 * block.step) * matrixRowBytes(dims);
}

// attention_matrix_key_gradient_DIMS_TYPE, attention_dropped_...
// (AttentionGradParameters):
//   batch * heads / headsPerGroup * ceil(keys / rows) blocks.
constexpr MatrixBlock matrixKeyGradient(int dims, bool drops) {
  if (drops && dims <= 128) // which takes registers
    return dims <= 64 ? MatrixBlock{8, 1, 1, 32} : MatrixBlock{4, 1, 1, 32};
  return dims <= 64    ? MatrixBlock{4, 2, 1, 32}
         : dims <= 128 ? MatrixBlock{8, 1, 1, 64}
                       : MatrixBlock{8, 1, 2, 32};
}
/// Rows of keys and values, and two steps of queries, of the output's gradient,
/// and of three numbers of each row of scores.
constexpr int matrixKeyGradientBytes(int dims, bool drops) {
  MatrixBlock block = matrixKeyGradient(dims, drops);
  return (2 * block.rows() + 4 * block.step) * matrixRowBytes(dims) +
         2 * 3 * 4 * block.step;
}

} // namespace shardc::runtime::cuda

#endif
