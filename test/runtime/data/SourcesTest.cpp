// Samples in tensors of safetensors files, samples that are drawn, runs with
// fewer of them, and masks that are made from ids.
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

class MaskTest : public SourceTest {
protected:
  MaskTest() {
    folder.write("a.bin", array(std::vector<uint16_t>{1, 9, 2, 0}));
    plan = withMask("FLOAT32", "shape: 1 shape: 4 shape: 4");
  }
  static plan::Plan withMask(const std::string &dtype,
                             const std::string &shape) {
    return planWith("inputs { name: \"mask\" tensor { dtype: " + dtype +
                    " shape: 2 " + shape + "} }");
  }
  std::vector<NamedFile> given(SourceKeys keys) {
    return {file("a.bin", raw()), {"mask", "@ids", std::move(keys)}};
  }
  /// Whether the query attends to the key, as text by row.
  std::string attended(SourceKeys keys) {
    Dataset data(plan, given(std::move(keys)), "--data");
    std::string text;
    for (float value : valuesOf<float>(data, plan, 1)) {
      EXPECT_TRUE(value == 0 || value == std::numeric_limits<float>::lowest());
      text += (text.size() % 5 == 4 ? " " : "");
      text += value == 0 ? "1" : ".";
    }
    return text;
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

TEST_F(MaskTest, SaysWhichKeysAreAttended) {
  SourceKeys keys;
  keys.causal = true;
  EXPECT_EQ(attended(keys), "1... 11.. 111. 1111");
  keys.padding = 0;
  EXPECT_EQ(attended(keys), "1... 11.. 111. 111.");
  keys.documents = 9;
  EXPECT_EQ(attended(keys), "1... 11.. ..1. ..1.");
  keys.causal = false;
  EXPECT_EQ(attended(keys), "11.. 11.. ..1. ..1.");
  plan = withMask("FLOAT32", "shape: 2 shape: 4 shape: 4");
  EXPECT_EQ(attended(keys), "11.. 11.. ..1. ..1. 11.. 11.. ..1. ..1.");
}

TEST_F(MaskTest, HasTheTypeOfTheInput) {
  SourceKeys keys;
  keys.padding = 0;
  plan = withMask("INT64", "shape: 4");
  Dataset integers(plan, given(keys), "--data");
  EXPECT_EQ(valuesOf(integers, plan, 1), (Ids{1, 1, 1, 0}));
  plan = withMask("BOOL", "shape: 1 shape: 1 shape: 4");
  Dataset flags(plan, given(keys), "--data");
  EXPECT_EQ(valuesOf<uint8_t>(flags, plan, 1),
            (std::vector<uint8_t>{1, 1, 1, 0}));
  plan = withMask("BFLOAT16", "shape: 4");
  Dataset halves(plan, given(keys), "--data");
  EXPECT_EQ(valuesOf<uint16_t>(halves, plan, 1),
            (std::vector<uint16_t>{0, 0, 0, 0xff7f}));
  plan = withMask("FLOAT16", "shape: 4");
  Dataset others(plan, given(keys), "--data");
  EXPECT_EQ(valuesOf<uint16_t>(others, plan, 1),
            (std::vector<uint16_t>{0, 0, 0, 0xfbff}));
}

TEST_F(MaskTest, RefusesOtherShapes) {
  SourceKeys keys;
  keys.padding = 0;
  plan = withMask("INT64", "shape: 5");
  EXPECT_EQ(errorOf(plan, given(keys)),
            "input mask takes [5] of a sample; a mask from the 4 ids of input "
            "ids ends in [4]");
  keys.causal = true;
  plan = withMask("INT64", "shape: 4");
  EXPECT_EQ(errorOf(plan, given(keys)),
            "input mask takes [4] of a sample; a mask from the 4 ids of input "
            "ids, which is causal, ends in [4, 4]");
  keys.given = {"causal", "ignore"};
  EXPECT_EQ(errorOf(plan, given(keys)),
            "ignore has no effect: mask=@ids is a mask that is made from ids, "
            "which has the keys causal, padding, documents");
}
