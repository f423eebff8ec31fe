// What the kernels of CrossEntropy.cu take. L is the type of logits, f64, f32,
// bf16 or f16; what is computed is float64 for f64, else float32.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_CROSSENTROPYPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_CROSSENTROPYPARAMETERS_H

#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

/// The most threads of a block of cross_entropy_L.
inline constexpr int mostRowThreads = 256;
/// Of all blocks of loss_sum_*, column_sums_L and round_rows_*.
inline constexpr int sumThreads = 256;

/// Elements from one row of a chunk of logits to the next one: rows begin at
/// multiples of 128 bytes. Matrix units read no rows at odd addresses, as 50257
/// classes would have them.
constexpr Count logitsStride(Count classes, Count elementBytes) {
  return (classes * elementBytes + 127) / 128 * 128 / elementBytes;
}

/// Labels [..., length] with any strides. Row i of the logits is compared with
/// the label `shift` positions further on in the same row of labels; rows
/// without one, and rows whose label is ignoreIndex, do not count.
struct LabelsParameters {
  Address labels;
  Count isWide; // int64; else int32
  Count rank;   // neighbours are merged
  Count sizes[mostDims], strides[mostDims];
  Count length, ignoreIndex, shift, classes;
  double smoothing; // how much of a label is of all classes alike
  Address weights;  // of the classes, of the computed type; 0: 1 each
  /// Of a word that becomes the least faultOf(position, label) of the labels
  /// that are neither ignoreIndex nor in [0, classes).
  Address fault;
};

/// cross_entropy_L: rows of logits, one block each in turns, of 32 to
/// mostRowThreads threads, a multiple of 32. What is not asked for has the
/// address 0.
struct CrossEntropyParameters {
  Address logits;
  Count rows, stride, firstRow; // row i has the label of row firstRow + i
  LabelsParameters labels;
  /// Float64 by row: log(sum(exp(logits))) - (1 - smoothing) * logits[label] -
  /// smoothing * mean(logits), 0 where there is no label. With weights:
  /// frontend/nn/ops/Loss.td.
  Address losses;
  /// Int64: is increased by the number of rows whose largest logit, of equal
  /// ones the first, is the label's.
  Address correct;
  /// Type L: becomes factor * (softmax - (1 - smoothing) * one_hot(label) -
  /// smoothing / classes), 0 where there is no label; factor = scale * outer,
  /// each of the computed type, outer 1 where it is not there. It may be the
  /// logits.
  Address gradient;
  Count gradientStride;
  Address scale, outer;
  double softcap; // 0: none; else a logit x is softcap * tanh(x / softcap)
};

/// loss_sum_f64 and loss_sum_f32, by the type of scale and loss: loss = scale *
/// sum of the rows' losses, in float64, in one order. `correct` is converted
/// from int64 to float64 in its place, where it is there. One block.
struct LossSumParameters {
  Address losses;
  Count rows;
  Address scale, loss, correct;
};

/// column_sums_L: of each column of a matrix the sum of its rows in their order;
/// sums have the computed type. A thread has a column: grids of one dimension of
/// any size.
struct ColumnSumsParameters {
  Address matrix;
  Count rows, columns, stride;
  Address sums;
  Count adds; // not 0: to what the sums are before, else to 0
};

/// round_rows_bf16 and round_rows_f16: contiguous float32 to rows of that type
/// with a stride. Grids of one dimension of any size.
struct RoundRowsParameters {
  Address source, destination;
  Count rows, columns, stride;
};

} // namespace shardc::runtime::cuda

#endif
