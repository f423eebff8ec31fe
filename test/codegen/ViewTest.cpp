// Views are arithmetic: every element of a view of a view is the element of the
// buffer that the plain definition of reshape, transpose, slice and broadcast
// names.
#include "codegen/step/View.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace shardc::step {
namespace {

using Shape = llvm::SmallVector<int64_t>;

int64_t product(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies<>());
}

/// Byte addresses of the elements in row-major order.
std::vector<int64_t> addresses(const View &view) {
  std::vector<int64_t> result;
  int64_t bytes = nn::elementBytes(view.elementType);
  for (int64_t linear = 0; linear < view.elements(); ++linear) {
    int64_t address = view.offset, rest = linear;
    for (int64_t dim = view.rank() - 1; dim >= 0; --dim) {
      address += rest % view.shape[dim] * view.strides[dim] * bytes;
      rest /= view.shape[dim];
    }
    result.push_back(address);
  }
  return result;
}

class Views : public testing::Test {
protected:
  View contiguous(const Shape &shape) {
    return View::contiguous(
        {}, 0, mlir::RankedTensorType::get(shape, builder.getF32Type()));
  }
  mlir::MLIRContext context;
  mlir::Builder builder{&context};
};

TEST_F(Views, ReshapeKeepsTheOrderOrSaysNo) {
  std::mt19937_64 random(3);
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Shape shape;
    for (int64_t dim = 0, rank = 1 + below(4); dim < rank; ++dim)
      shape.push_back(1 + below(4));
    View view = contiguous(shape);
    // A slice, a permutation, and a broadcast of a dim of size 1.
    Shape starts, limits, steps, permutation(shape.size());
    for (int64_t size : shape) {
      starts.push_back(below(size));
      limits.push_back(starts.back() + 1 + below(size - starts.back()));
      steps.push_back(1 + below(2));
    }
    if (below(2))
      view = view.slice(starts, limits, steps);
    std::iota(permutation.begin(), permutation.end(), 0);
    if (below(2))
      std::shuffle(permutation.begin(), permutation.end(), random);
    view = view.transpose(permutation);
    Shape wide = view.shape;
    for (int64_t &size : wide)
      if (size == 1 && below(3) == 0)
        size = 3;
    view = view.broadcast(wide);

    // Random factors of the number of elements as the new shape.
    Shape target;
    int64_t rest = view.elements();
    while (rest > 1) {
      int64_t factor = 1 + below(rest);
      while (rest % factor)
        factor = 1 + below(rest);
      target.push_back(factor);
      rest /= factor;
    }
    std::vector<int64_t> expected = addresses(view);
    if (std::optional<View> reshaped = view.reshape(target)) {
      EXPECT_EQ(addresses(*reshaped), expected);
      EXPECT_EQ(product(reshaped->shape), view.elements());
      ++accepted;
    } else {
      EXPECT_FALSE(view.isContiguous());
      ++refused;
    }
    EXPECT_EQ(view.isContiguous(), expected == addresses([&] {
                                     View dense = contiguous(view.shape);
                                     dense.offset = view.offset;
                                     return dense;
                                   }()));
    EXPECT_EQ(view.offset + view.spanBytes(),
              *std::max_element(expected.begin(), expected.end()) + 4);
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 100);
}

TEST_F(Views, HeadsOfAFusedProjectionAreStrided) {
  // [B, S, 3 H D] as [B, S, 3, H, D], second third, as [B, S, H, D].
  View fused = contiguous({2, 4, 24});
  View key = fused.reshape({2, 4, 3, 2, 4})
                 ->slice({0, 0, 1, 0, 0}, {2, 4, 2, 2, 4}, {1, 1, 1, 1, 1})
                 .reshape({2, 4, 2, 4})
                 .value();
  EXPECT_EQ(key.offset, 8 * 4);
  EXPECT_EQ(key.strides, Shape({96, 24, 4, 1}));
  // Its rows are those of a matrix for gemm.
  EXPECT_EQ(key.reshape({8, 8})->strides, Shape({24, 1}));
}

TEST_F(Views, BooleansTakeAByte) {
  EXPECT_EQ(nn::elementBytes(builder.getI1Type()), 1);
  EXPECT_EQ(nn::elementBytes(builder.getF64Type()), 8);
}

TEST_F(Views, ContiguousViewsPrintWithoutLayout) {
  View row = contiguous({4, 6}).slice({2, 0}, {3, 6}, {1, 1});
  EXPECT_TRUE(row.memrefType().getLayout().isIdentity());
  View column = contiguous({4, 6}).slice({0, 2}, {4, 3}, {1, 1});
  EXPECT_FALSE(column.memrefType().getLayout().isIdentity());
  EXPECT_TRUE(contiguous({}).isContiguous());
}

} // namespace
} // namespace shardc::step
