// Arrow files that datasets and pyarrow wrote (arrow/record.py), and damaged
// ones.
#include "runtime/base/Random.h"
#include "test/runtime/data/SourceTest.h"

#include <numeric>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class ArrowTest : public SourceTest {
protected:
  ArrowTest() {
    setInput(plan::INT64, 16);
    plan.mutable_inputs(0)->set_name("input_ids");
  }
  void setInput(plan::DType dtype, int64_t length) {
    plan::Input &input = *plan.mutable_inputs(0);
    input.set_bounded(false);
    input.mutable_tensor()->set_dtype(dtype);
    input.mutable_tensor()->clear_shape();
    input.mutable_tensor()->add_shape(2);
    if (length)
      input.mutable_tensor()->add_shape(length);
  }
  static std::string recorded(const std::string &path) {
    return std::filesystem::path(__FILE__).parent_path() / "arrow" / path;
  }
  static NamedFile given(const std::string &path, SourceKeys keys = {}) {
    return {"input_ids", path, std::move(keys)};
  }
  static SourceKeys column(const std::string &name) {
    SourceKeys keys;
    keys.column = name;
    return keys;
  }
  template <typename T = int64_t>
  std::vector<T> read(const std::string &path, SourceKeys keys = {}) {
    return valuesOf<T>(
        Dataset(plan, {given(recorded(path), std::move(keys))}, "--data"),
        plan);
  }
  /// What record.py wrote.
  static Ids ids(int64_t count) {
    Ids all(count);
    for (int64_t i = 0; i < count; ++i)
      all[i] = i * 37 % 500 + 1;
    return all;
  }
  std::string errorOf(const std::string &path, SourceKeys keys = {}) {
    std::string text =
        SourceTest::errorOf(plan, {given(path, std::move(keys))});
    std::string beside = recorded("");
    size_t at = text.find(beside);
    return at == std::string::npos ? text : text.erase(at, beside.size());
  }
};

} // namespace

TEST_F(ArrowTest, ReadsRowsAsSamples) {
  Ids all = ids(12 * 16);
  EXPECT_EQ(read("samples"), all);
  EXPECT_EQ(read("samples", column("labels")), all);
  EXPECT_EQ(read("large.arrow"), all);
  setInput(plan::INT32, 16);
  EXPECT_EQ(read<int32_t>("samples"),
            std::vector<int32_t>(all.begin(), all.end()));
  setInput(plan::FLOAT64, 16);
  std::vector<double> floats = read<double>("samples", column("row"));
  for (size_t i = 0; i < floats.size(); ++i)
    EXPECT_EQ(floats[i], double(all[i]) / 8);
  setInput(plan::INT64, 0);
  Ids numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(read("samples", column("number")), numbers);
}

TEST_F(ArrowTest, CutsWindowsFromRows) {
  SourceKeys keys;
  keys.window = 16;
  int64_t tokens = 9 * 11 + 7 * 36;
  EXPECT_EQ(read("rows", keys), ids(tokens / 16 * 16));
  keys.storedDocuments = true;
  keys.pad = 0;
  Ids all = ids(tokens), expected;
  for (int64_t row = 0, begin = 0; row < 9; begin += 11 + 7 * row++) {
    int64_t length = 11 + 7 * row;
    for (int64_t i = 0; i < (length + 15) / 16 * 16; ++i)
      expected.push_back(i < length ? all[begin + i] : 0);
  }
  EXPECT_EQ(read("rows", keys), expected);
}

TEST_F(ArrowTest, RefusesWithTheReason) {
  EXPECT_EQ(errorOf(recorded("rows")),
            "rows/data-00000-of-00001.arrow: has rows of 11 to 67 numbers, and "
            "input input_ids takes 16; give window=N for windows across rows, "
            "or pad=ID and documents=stored for windows inside them");
  EXPECT_EQ(errorOf(recorded("samples"), column("label")),
            "samples/data-00000-of-00002.arrow: has no column label, did you "
            "mean 'labels'?; its columns are text, input_ids, labels, number, "
            "row; give column=NAME");
  EXPECT_EQ(
      errorOf(recorded("samples"), column("text")),
      "samples/data-00000-of-00002.arrow: column text holds text; expects "
      "integers, floats, booleans or lists of them: shardc-data tokenize "
      "makes tokens of text");
  EXPECT_EQ(errorOf(recorded("samples"), column("row")),
            "samples/data-00000-of-00002.arrow: expects int64 for input "
            "input_ids, got floats");
  EXPECT_EQ(errorOf(recorded("lz4.arrow")),
            "lz4.arrow: its batches are compressed, which is not read; write "
            "them without compression, as datasets.save_to_disk does");
  EXPECT_EQ(errorOf(recorded("dictionary.arrow")),
            "dictionary.arrow: column input_ids is encoded with a dictionary, "
            "which is not read; cast it to plain integers before save_to_disk");
  setInput(plan::INT64, 0);
  EXPECT_EQ(errorOf(recorded("nulls.arrow")),
            "nulls.arrow: column input_ids of batch 0 has 2 nulls; expects a "
            "number everywhere");
  folder.write("dataset_dict.json", "{\"splits\": [\"train\"]}");
  EXPECT_NE(errorOf(folder.path()).find("several splits"), std::string::npos);
  std::filesystem::remove(folder / "dataset_dict.json");
  folder.write("state.json", "{}");
  EXPECT_EQ(errorOf(folder.path()),
            "state.json: does not list the files of a dataset");
}

TEST_F(ArrowTest, ReadsBooleansAsMasks) {
  Ids expected;
  for (int64_t id : ids(12 * 16))
    expected.push_back(id % 3 > 0);
  EXPECT_EQ(read("masks", column("attention_mask")), expected);
  setInput(plan::BOOL, 16);
  EXPECT_EQ(read<uint8_t>("masks", column("attention_mask")),
            std::vector<uint8_t>(expected.begin(), expected.end()));
  // Integers that are neither 0 nor 1 are no booleans.
  Dataset numbers(plan, {given(recorded("masks"))}, "--data");
  EXPECT_THROW(valuesOf<uint8_t>(numbers, plan), Error);
  setInput(plan::INT32, 13);
  std::vector<int32_t> seen;
  for (int64_t row = 0; row < 12; ++row)
    for (int64_t i = 0; i < 13; ++i)
      seen.push_back(ids(12 * 16)[row * 16 + i] % 5 > 1);
  EXPECT_EQ(read<int32_t>("masks", column("seen")), seen);
  setInput(plan::INT64, 0);
  Ids isLong;
  for (int64_t row = 0; row < 12; ++row)
    isLong.push_back(ids(12 * 16)[row * 16] % 2 > 0);
  EXPECT_EQ(read("masks", column("is_long")), isLong);
  setInput(plan::FLOAT32, 16);
  EXPECT_EQ(errorOf(recorded("masks"), column("attention_mask")),
            "masks/data-00000-of-00002.arrow: expects float32 for input "
            "input_ids, got booleans");
}

TEST_F(ArrowTest, RefusesListsOfLists) {
  EXPECT_EQ(errorOf(recorded("nested.arrow")),
            "nested.arrow: column input_ids holds lists of lists; expects "
            "integers, floats, booleans or lists of them: flatten each row "
            "before save_to_disk");
}

TEST_F(ArrowTest, SurvivesTruncationAndDamage) {
  for (const char *name :
       {"samples/data-00000-of-00002.arrow", "large.arrow"}) {
    std::ostringstream text;
    text << std::ifstream(recorded(name), std::ios::binary).rdbuf();
    std::string whole = text.str();
    folder.write("a.arrow", whole);
    ASSERT_EQ(errorOf(folder / "a.arrow"), "");
    // The footer of a file is not needed.
    bool isFile = whole.starts_with("ARROW1");
    size_t needed = isFile ? whole.size() * 2 / 3 : whole.size();
    for (size_t length = 0; length < needed; length += 1 + length / 97) {
      folder.write("a.arrow", whole.substr(0, length));
      EXPECT_NE(errorOf(folder / "a.arrow"), "") << name << " " << length;
    }
    RandomStream random(1, name);
    for (uint64_t trial = 0; trial < 3000; ++trial) {
      std::string damaged = whole;
      for (uint64_t change = 0; change < 1 + trial % 4; ++change)
        damaged[random.below(whole.size(), trial, 2 * change)] =
            static_cast<char>(random.below(256, trial, 2 * change + 1));
      folder.write("a.arrow", damaged);
      SourceKeys keys;
      keys.window = 16;
      keys.storedDocuments = true;
      for (const SourceKeys &each : {SourceKeys{}, keys})
        try {
          Dataset data(plan, {given(folder / "a.arrow", each)}, "--data");
          valuesOf(data, plan);
        } catch (const Error &) {
        }
    }
  }
}
