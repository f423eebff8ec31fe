// Samples in tensors of safetensors files, samples that are drawn, and runs
// with fewer of them.
#include "test/runtime/data/SourceTest.h"

#include "runtime/files/Safetensors.h"

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class SafetensorsSourceTest : public SourceTest {
protected:
  /// A file of one tensor.
  void write(const std::string &path, const std::string &tensor,
             plan::DType dtype, std::vector<int64_t> shape,
             const std::string &data) {
    SafetensorsEntry entry;
    entry.name = tensor;
    entry.dtype = dtype;
    entry.shape = std::move(shape);
    folder.write(path, safetensorsHeader({entry}) + data);
  }
};

class SyntheticTest : public SourceTest {
protected:
  static NamedFile drawn(uint64_t seed) {
    NamedFile file{"", concat("synthetic:", seed)};
    file.syntheticSeed = seed;
    return file;
  }
};

} // namespace

TEST_F(SafetensorsSourceTest, TakesTheTensorOfTheInputsName) {
  std::string ids = array(std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  write("a.safetensors", "ids", plan::INT32, {2, 4}, ids);
  EXPECT_EQ(idsOf("a.safetensors"), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  write("b.safetensors", "tokens", plan::INT32, {2, 4}, ids);
  SourceKeys keys;
  keys.column = "tokens";
  EXPECT_EQ(idsOf("b.safetensors", keys), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(errorOf("b.safetensors"),
            "b.safetensors: has no tensor ids; it has 1 tensor, tokens; give "
            "column=NAME");
  write("b.safetensors", "ids", plan::INT32, {4, 2}, ids);
  EXPECT_EQ(errorOf("b.safetensors"),
            "b.safetensors: expects shape [4, 4] for input ids, got [4, 2]");
  write("b.safetensors", "ids", plan::FLOAT32, {2, 4}, ids);
  EXPECT_EQ(errorOf("b.safetensors"),
            "b.safetensors: expects int64 for input ids, got float32");
  write("b.safetensors", "ids", plan::INT32, {}, ids.substr(0, 4));
  EXPECT_EQ(errorOf("b.safetensors"),
            "b.safetensors: tensor ids is a single number; expects a first "
            "axis of samples");
  write("b.safetensors", "ids", plan::INT32, {1, 4},
        array(std::vector<int32_t>{1, 2, 100, 4}));
  EXPECT_EQ(errorOf("b.safetensors"),
            "b.safetensors: sample 0 at [2]: 100 is not one of the values 0 to "
            "99 of input ids");
  std::string whole = folder.read("a.safetensors");
  for (size_t length = 0; length < whole.size(); ++length) {
    folder.write("b.safetensors", whole.substr(0, length));
    EXPECT_NE(errorOf("b.safetensors"), "") << length;
  }
}

TEST_F(SyntheticTest, DrawsWithinBounds) {
  plan = planWith(
      R"(inputs { name: "x" tensor { dtype: FLOAT64 shape: 2 shape: 8 } }
         inputs { name: "flag" tensor { dtype: BOOL shape: 2 } })");
  plan.mutable_inputs(0)->set_min_value(90);
  Dataset data(plan, {drawn(3)}, "--data", 2000);
  EXPECT_EQ(data.samples(), 2000);
  EXPECT_EQ(data.files().size(), 0u);
  Ids ids = valuesOf(data, plan);
  std::vector<int64_t> seen(10);
  for (int64_t id : ids) {
    ASSERT_TRUE(id >= 90 && id <= 99);
    ++seen[id - 90];
  }
  for (int64_t count : seen)
    EXPECT_NEAR(static_cast<double>(count), 800, 150);
  std::vector<double> x = valuesOf<double>(data, plan, 1);
  double sum = 0, squares = 0;
  for (double value : x) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / double(x.size()), 0, 0.05);
  EXPECT_NEAR(squares / double(x.size()), 1, 0.05);
  // A sample is the same in whatever batch it is.
  std::vector<int64_t> one{7}, batch(4);
  data.load(0, one, reinterpret_cast<std::byte *>(batch.data()));
  EXPECT_EQ(batch, Ids(ids.begin() + 28, ids.begin() + 32));
  Dataset same(plan, {drawn(3)}, "--data"), other(plan, {drawn(4)}, "--data");
  EXPECT_EQ(same.samples(), Dataset::syntheticSamples);
  same.load(0, one, reinterpret_cast<std::byte *>(batch.data()));
  EXPECT_EQ(batch, Ids(ids.begin() + 28, ids.begin() + 32));
  other.load(0, one, reinterpret_cast<std::byte *>(batch.data()));
  EXPECT_NE(batch, Ids(ids.begin() + 28, ids.begin() + 32));
}

TEST_F(SyntheticTest, FillsWhatIsNotGiven) {
  plan = planWith(R"(inputs { name: "x" tensor { dtype: FLOAT32 shape: 2 } })");
  folder.write("a.bin", counted(12));
  Dataset data(plan, {drawn(1), file("a.bin", raw())}, "--data");
  EXPECT_EQ(data.samples(), 3);
  EXPECT_EQ(valuesOf(data, plan)[5], 5);
  EXPECT_EQ(
      Dataset(plan, {drawn(1), file("a.bin", raw())}, "--data", 2).samples(),
      2);
  EXPECT_EQ(
      Dataset(plan, {drawn(1), file("a.bin", raw())}, "--data", 9).samples(),
      3);
  EXPECT_EQ(errorOf(plan, {drawn(1), drawn(2)}),
            "--data is given twice: synthetic:1 and synthetic:2");
}
