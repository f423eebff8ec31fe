// Where things lie in the processor's scratch memory, and how much of it there
// is: the plan's workspaces and the device agree by this.
#ifndef SHARDC_RUNTIME_CPU_WORKSPACESIZES_H
#define SHARDC_RUNTIME_CPU_WORKSPACESIZES_H

#include <algorithm>
#include <cstdint>

namespace shardc::runtime::cpu {

/// Parts of a workspace begin at multiples of 64 bytes.
constexpr int64_t workspacePart(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Elements of 16 bits are computed with as float32.
constexpr bool isConverted(int64_t elementBytes) { return elementBytes < 4; }
/// The bytes of one number that is computed with.
constexpr int64_t numberBytes(int64_t elementBytes) {
  return std::max<int64_t>(elementBytes, 4);
}

/// The number of queries and of keys in a block of attention.
constexpr int64_t queryBlock = 64;
constexpr int64_t keyBlock = 128;

/// Bytes of a thread. `dims`: of a query and a value together.
constexpr int64_t attentionSlice(int64_t dims, int64_t elementBytes) {
  int64_t elements = queryBlock * keyBlock + 2 * queryBlock;
  if (isConverted(elementBytes))
    elements += (queryBlock + keyBlock) * dims;
  return workspacePart(elements * numberBytes(elementBytes));
}
/// `keys`: of a sequence.
constexpr int64_t attentionGradSlice(int64_t keys, int64_t dims,
                                     int64_t elementBytes) {
  int64_t elements = 2 * queryBlock * keyBlock + queryBlock;
  if (isConverted(elementBytes))
    elements += (2 * queryBlock + keyBlock + keys) * dims;
  return workspacePart(elements * numberBytes(elementBytes));
}

/// What a thread holds of a product of converted operands: a block of a, of b,
/// of c and of the bias, at these offsets (a's is 0), in float32 elements.
struct ConvertedPanels {
  // An element is converted once for each tile that reads it: wide tiles convert
  // little, and tiles that stay in a core's cache convert fast.
  static constexpr int64_t mostSide = 384, mostDepth = 512;
  static constexpr int64_t rowGroup = 24, group = 64; // see Gemm.cpp
  // Cuts round their parts up to these groups, and no part gets longer than a
  // side.
  static_assert(mostSide % rowGroup == 0 && mostSide % group == 0 &&
                mostDepth % group == 0);

  constexpr ConvertedPanels(int64_t m, int64_t n, int64_t k) {
    auto longest = [](int64_t size, int64_t most, int64_t multiple) {
      return std::min(most, (size + multiple - 1) / multiple * multiple);
    };
    int64_t rows = longest(m, mostSide, rowGroup);
    int64_t columns = longest(n, mostSide, group);
    int64_t depth = longest(k, mostDepth, group);
    b = rows * depth;
    c = b + depth * columns;
    bias = c + rows * columns;
    end = bias + columns;
  }
  constexpr int64_t bytes() const { return workspacePart(end * 4); }

  int64_t b = 0, c = 0, bias = 0, end = 0;
};

/// The places of what linear_cross_entropy holds, in bytes: a chunk of logits
/// (at 0), a float64 per row, slices of products, and sums of gradients.
struct LinearCrossEntropyPlaces {
  struct Sizes {
    int64_t rows = 0, chunk = 0, features = 0, classes = 0;
    int64_t elementBytes = 0; // of the input
    /// Gradients of 16 bits are summed in float32, to be rounded once.
    bool sumsWeights = false, sumsBias = false;
  };

  constexpr LinearCrossEntropyPlaces(const Sizes &of, int64_t workers)
      : of(of) {
    int64_t number = numberBytes(of.elementBytes);
    losses = workspacePart(of.chunk * of.classes * number);
    products = losses + of.rows * 8;
    if (!isConverted(of.elementBytes)) { // nothing follows
      weightSums = biasSums = end = products;
      return;
    }
    products = workspacePart(products);
    productSlice =
        std::max({ConvertedPanels(of.chunk, of.classes, of.features).bytes(),
                  ConvertedPanels(of.chunk, of.features, of.classes).bytes(),
                  ConvertedPanels(of.classes, of.features, of.chunk).bytes(),
                  ConvertedPanels(of.features, of.classes, of.chunk).bytes()});
    weightSums = products + workers * productSlice;
    biasSums =
        weightSums +
        (of.sumsWeights ? workspacePart(of.features * of.classes * number) : 0);
    end = biasSums + (of.sumsBias ? workspacePart(of.classes * number) : 0);
  }

  Sizes of;
  int64_t losses = 0, products = 0, productSlice = 0;
  int64_t weightSums = 0, biasSums = 0, end = 0;
};

} // namespace shardc::runtime::cpu

#endif
