// The flat layout's promises, checked by counting: nothing overlaps, no
// boundary cuts a row, real models waste little.
#include "passes/units/FlatLayout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace shardc;

namespace {

using Shape = std::vector<int64_t>;

std::vector<FlatItem> itemsOf(const std::vector<Shape> &shapes) {
  std::vector<FlatItem> items;
  for (const Shape &shape : shapes)
    items.push_back(FlatItem::of(shape));
  return items;
}

/// Checks every element of the buffer against the promises.
void expectSound(const std::vector<FlatItem> &items, int64_t slices,
                 int64_t required = 1) {
  FlatLayout layout = layOutFlat(items, slices, required);
  std::string what = "slices " + std::to_string(slices) + ", items";
  int64_t total = 0;
  for (FlatItem item : items) {
    what +=
        " " + std::to_string(item.elements) + "/" + std::to_string(item.row);
    total += item.elements;
  }
  SCOPED_TRACE(what);
  ASSERT_EQ(layout.slices, slices);
  ASSERT_EQ(layout.order.size(), items.size());
  ASSERT_EQ(layout.offsets.size(), items.size());
  ASSERT_EQ(layout.elements(), layout.slice * slices);
  ASSERT_EQ(layout.slice % required, 0);
  ASSERT_EQ(layout.padding, layout.elements() - total);
  std::vector<bool> seen(items.size());
  int64_t end = 0;
  for (size_t position = 0; position < items.size(); ++position) {
    ASSERT_FALSE(seen[layout.order[position]]);
    seen[layout.order[position]] = true;
    FlatItem item = items[layout.order[position]];
    int64_t offset = layout.offsets[position];
    ASSERT_EQ(offset % required, 0);
    ASSERT_GE(offset, end);
    end = offset + item.elements;
    ASSERT_LE(end, layout.elements());
    bool cut = false;
    for (int64_t element = 1; element < item.elements; ++element)
      cut |= (offset + element) % layout.slice == 0 && element % item.row != 0;
    ASSERT_FALSE(cut) << "offset " << offset << ", slice " << layout.slice;
    ASSERT_EQ(cutsRow(offset, item, layout.slice), cut);
  }
}

TEST(FlatLayout, isSoundForEveryMatrixOnEveryMesh) {
  for (int64_t rows = 1; rows <= 17; ++rows)
    for (int64_t columns = 1; columns <= 17; ++columns)
      for (int64_t slices = 1; slices <= 8; ++slices)
        expectSound(itemsOf({{rows, columns}, {columns}, {}}), slices);
}

TEST(FlatLayout, isSoundForEveryPairOfRows) {
  for (int64_t first = 1; first <= 17; ++first)
    for (int64_t second = 1; second <= 17; ++second)
      for (int64_t slices = 1; slices <= 8; ++slices)
        expectSound(
            itemsOf({{7, first}, {first}, {11, second}, {3, second}, {second}}),
            slices);
}

TEST(FlatLayout, keepsTheAlignmentThatATargetRequires) {
  for (int64_t required : {4, 8})
    for (int64_t first = 1; first <= 17; ++first)
      for (int64_t second = 1; second <= 17; ++second)
        for (int64_t slices = 1; slices <= 8; ++slices)
          expectSound(itemsOf({{7, first}, {first}, {11, second}, {second}}),
                      slices, required);
  for (int64_t slices : {1, 3, 64})
    expectSound(itemsOf({{}, {1}, {0, 4}, {2, 3, 5, 7}, {4, 1000}}), slices, 8);
}

TEST(FlatLayout, takesScalarsNothingAndFewRowsOnManyRanks) {
  for (int64_t slices : {1, 2, 3, 7, 64, 1000}) {
    expectSound({}, slices);
    expectSound(itemsOf({{}}), slices);
    expectSound(itemsOf({{}, {1}, {1, 1}}), slices);
    expectSound(itemsOf({{0, 4}, {3}}), slices);
    expectSound(itemsOf({{2, 3, 5, 7}, {4, 1000}, {1, 999}}), slices);
  }
}

TEST(FlatLayout, knowsAllBoundariesFromTwo) {
  for (int64_t offset = 0; offset <= 12; ++offset)
    for (int64_t row = 1; row <= 6; ++row)
      for (int64_t rows = 0; rows <= 6; ++rows)
        for (int64_t slice = 1; slice <= 13; ++slice) {
          bool cut = false;
          for (int64_t element = 1; element < rows * row; ++element)
            cut |= (offset + element) % slice == 0 && element % row != 0;
          ASSERT_EQ(cutsRow(offset, {rows * row, row}, slice), cut)
              << offset << " " << row << " " << rows << " " << slice;
        }
}

void expectSmallPadding(const std::vector<Shape> &shapes,
                        std::vector<int64_t> meshes) {
  for (int64_t slices : meshes) {
    FlatLayout layout = layOutFlat(itemsOf(shapes), slices);
    EXPECT_LT(layout.padding * 200, layout.elements())
        << slices << " slices, padding " << layout.padding;
    EXPECT_EQ(layout.slice % 16, 0);
    for (int64_t offset : layout.offsets)
      EXPECT_EQ(offset % 16, 0);
  }
}

TEST(FlatLayout, padsBlocksOfRealModelsByLessThanHalfAPercent) {
  expectSmallPadding({{768},
                      {768, 768},
                      {192, 768},
                      {192, 768},
                      {768, 768},
                      {768},
                      {3072, 768},
                      {3072, 768},
                      {768, 3072}},
                     {1, 2, 3, 4, 5, 6, 7, 8});
  expectSmallPadding({{768},
                      {768},
                      {768, 2304},
                      {2304},
                      {768, 768},
                      {768},
                      {768},
                      {768},
                      {768, 3072},
                      {3072},
                      {3072, 768},
                      {768}},
                     {1, 2, 3, 4, 5, 6, 7, 8});
  expectSmallPadding({{4096},
                      {4096, 4096},
                      {1024, 4096},
                      {1024, 4096},
                      {4096, 4096},
                      {4096},
                      {14336, 4096},
                      {14336, 4096},
                      {4096, 14336}},
                     {2, 3, 5, 7, 8, 16, 32, 64});
  expectSmallPadding({{50257, 768}, {1024, 768}, {768}, {768}},
                     {2, 3, 4, 7, 8, 16, 64});
}

TEST(FlatLayout, isFastForThousandsOfTensorsAndAMillionRanks) {
  std::vector<FlatItem> items;
  for (int64_t index = 0; index < 3000; ++index)
    items.push_back(FlatItem::of({100 + index % 37, 50 + index % 91}));
  int64_t longestRow = 140;
  for (int64_t slices : {2, 8, 1000, 1 << 20})
    EXPECT_GE(layOutFlat(items, slices).slice, longestRow);
}

// The padding that alignment takes is known before the first slice is tried:
// slice by slice this would take minutes.
TEST(FlatLayout, isFastForManySmallTensorsOnOneRank) {
  std::vector<FlatItem> items;
  int64_t total = 0;
  for (int64_t index = 0; index < 100'000; ++index) {
    items.push_back(FlatItem::of({1 + index % 5}));
    total += items.back().elements;
  }
  EXPECT_EQ(layOutFlat(items, 1).slice, total);
}

} // namespace
