// Token files: what each format holds, how windows are cut from it, and what is
// said of damaged files.
#include "runtime/base/Random.h"
#include "test/runtime/data/SourceTest.h"

using namespace shardc;
using namespace shardc::runtime;

namespace {

class TokensTest : public SourceTest {
protected:
  static std::string llmc(int32_t magic, int32_t version, int32_t tokens) {
    return bytes(magic, version, tokens) + std::string(1024 - 12, '\0');
  }
  /// FILE.idx for sequences of these sizes; each document of these numbers of
  /// sequences.
  static std::string megatron(uint8_t code, int64_t width,
                              std::vector<int32_t> sizes,
                              std::vector<int64_t> documents) {
    std::vector<int64_t> pointers;
    int64_t begin = 0;
    for (int32_t size : sizes) {
      pointers.push_back(begin);
      begin += size * width;
    }
    return std::string("MMIDIDX\0\0", 9) + bytes(uint64_t{1}, code) +
           bytes(uint64_t{sizes.size()}, uint64_t{documents.size()}) +
           array(sizes) + array(pointers) + array(documents);
  }

  std::vector<std::string> leftOut(const std::string &path, SourceKeys keys) {
    Dataset data(plan, {file(path, std::move(keys))}, "--data");
    std::vector<std::string> texts = data.leftOutTexts();
    for (std::string &text : texts)
      text = shortened(text);
    return texts;
  }
};

} // namespace

TEST_F(TokensTest, ReadsRawOnesByTheirDtype) {
  folder.write("a.bin", counted(9));
  EXPECT_EQ(idsOf("a.bin", raw()), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
  folder.write("b.bin", array(std::vector<uint32_t>{5, 6, 7, 99}));
  SourceKeys keys;
  keys.dtype = TokenType::UInt32;
  EXPECT_EQ(idsOf("b.bin", keys), (Ids{5, 6, 7, 99}));
  EXPECT_EQ(
      errorOf("a.bin"),
      "a.bin: is not a .npy, safetensors or Arrow file, and no token file of "
      "llm.c or Megatron; give dtype=uint16 or dtype=uint32 for raw token ids");
  EXPECT_EQ(errorOf("a.bin", keys),
            "a.bin: has 18 bytes, no multiple of the 4 of a token; is it "
            "truncated, or of another dtype?");
}

TEST_F(TokensTest, CutsWindows) {
  folder.write("a.bin", counted(10));
  SourceKeys keys = raw();
  keys.stride = 3;
  EXPECT_EQ(idsOf("a.bin", keys), (Ids{0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9}));
  keys.stride = 4;
  keys.pad = 50;
  EXPECT_EQ(idsOf("a.bin", keys), (Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 50}));
  // Nothing is left behind the last window, so nothing is padded.
  keys.stride = 2;
  EXPECT_EQ(idsOf("a.bin", keys),
            (Ids{0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9}));
  keys.stride = {};
  keys.window = 3;
  EXPECT_EQ(idsOf("a.bin", keys),
            (Ids{0, 1, 2, 50, 3, 4, 5, 50, 6, 7, 8, 50, 9, 50, 50, 50}));
  keys.pad = {};
  EXPECT_EQ(errorOf("a.bin", keys),
            "a.bin: window=3 is less than the 4 tokens that input ids takes; "
            "give pad=ID for those behind it");
  keys.window = 5;
  EXPECT_EQ(errorOf("a.bin", keys), "a.bin: window=5 is more than the 4 tokens "
                                    "that input ids takes");
}

TEST_F(TokensTest, WindowsLieInsideDocuments) {
  folder.write("a.bin", array(std::vector<uint16_t>{1, 2, 3, 4, 9, 5, 9, 6, 7,
                                                    8, 9, 1}));
  SourceKeys keys = raw();
  keys.documents = 9;
  EXPECT_EQ(idsOf("a.bin", keys), (Ids{1, 2, 3, 4, 6, 7, 8, 9}));
  keys.pad = 0;
  EXPECT_EQ(idsOf("a.bin", keys),
            (Ids{1, 2, 3, 4, 9, 0, 0, 0, 5, 9, 0, 0, 6, 7, 8, 9, 1, 0, 0, 0}));
  EXPECT_EQ(leftOut("a.bin", keys), std::vector<std::string>());
  keys.pad = {};
  EXPECT_EQ(
      leftOut("a.bin", keys),
      std::vector<std::string>{
          "ids: a.bin: 4 of 12 tokens are in no sample of 4; what is left at "
          "the end of a document is dropped without pad=ID"});
  keys.stride = 3;
  EXPECT_EQ(leftOut("a.bin", keys).size(), 1u);
  keys.stride = {};
  keys.documents = 77;
  EXPECT_EQ(errorOf("a.bin", keys), "a.bin: documents=77 is to end documents, "
                                    "and no token is 77");
  keys.documents = {};
  keys.storedDocuments = true;
  EXPECT_EQ(errorOf("a.bin", keys),
            "a.bin: stores no documents; give the id that ends one, as in "
            "documents=50256");
}

TEST_F(TokensTest, FilesAreOneAfterTheOther) {
  folder.write("b.bin", counted(6));
  folder.write("a.bin", counted(9));
  folder.write(".hidden", "x");
  Ids expected{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3};
  EXPECT_EQ(idsOf("", raw()), expected);
  EXPECT_EQ(idsOf("?.bin", raw()), expected);
  EXPECT_EQ(errorOf("c*.bin", raw()), "c*.bin: there is no file that matches");
  folder.write("c.bin", llmc(20240520, 1, 3) + counted(3));
  EXPECT_EQ(idsOf("c.bin").size(), 0u);
  EXPECT_EQ(errorOf("", {}).substr(0, 20), "a.bin: is not a .npy");
}

TEST_F(TokensTest, ReadsThoseOfLlmc) {
  folder.write("a.bin", llmc(20240520, 1, 5) + counted(5));
  EXPECT_EQ(idsOf("a.bin"), (Ids{0, 1, 2, 3}));
  folder.write("b.bin",
               llmc(20240801, 7, 4) + array(std::vector<uint32_t>{4, 3, 2, 1}));
  EXPECT_EQ(idsOf("b.bin"), (Ids{4, 3, 2, 1}));
  folder.write("a.bin", llmc(20240520, 1, 6) + counted(5));
  EXPECT_EQ(errorOf("a.bin"), "a.bin: its header says 6 tokens of 2 bytes, and "
                              "10 bytes follow it");
  folder.write("a.bin", llmc(20240520, 1, -1) + counted(5));
  EXPECT_EQ(errorOf("a.bin"), "a.bin: its header says -1 tokens of 2 bytes, "
                              "and 10 bytes follow it");
  folder.write("a.bin", llmc(20240520, 2, 5) + counted(5));
  EXPECT_EQ(errorOf("a.bin"), "a.bin: has version 2 of llm.c's format "
                              "20240520; version 1 is supported");
  folder.write("a.bin", bytes(int32_t{20240520}));
  EXPECT_EQ(errorOf("a.bin"),
            "a.bin: is truncated: 4 bytes hold no llm.c header of 1024");
}

TEST_F(TokensTest, ReadsThoseOfMegatron) {
  std::string index = megatron(8, 2, {3, 2, 4, 1}, {0, 2, 3, 4});
  folder.write("a.idx", index);
  folder.write("a.bin", counted(10));
  for (const char *path : {"a.idx", "a.bin", "a", ""})
    EXPECT_EQ(idsOf(path), (Ids{0, 1, 2, 3, 4, 5, 6, 7})) << path;
  SourceKeys keys;
  keys.storedDocuments = true;
  keys.pad = 50;
  EXPECT_EQ(idsOf("a", keys), (Ids{0, 1, 2, 3, 4, 50, 50, 50, //
                                   5, 6, 7, 8,                //
                                   9, 50, 50, 50}));
  folder.write("b.idx", megatron(5, 8, {4}, {0, 1}));
  folder.write("b.bin", array(std::vector<int64_t>{9, 8, 7, 6}));
  EXPECT_EQ(idsOf("b.idx"), (Ids{9, 8, 7, 6}));

  folder.write("a.bin", counted(9));
  EXPECT_EQ(errorOf("a.idx"),
            "a.bin: has 18 bytes, and a.idx counts 10 tokens of 2 bytes");
  folder.write("b.idx", megatron(6, 4, {4}, {0, 1}));
  EXPECT_EQ(errorOf("b.idx").substr(0, 47),
            "b.idx: has the dtype code 6, which is no intege");
  folder.write("b.idx", megatron(5, 8, {4}, {0, 2}));
  EXPECT_EQ(errorOf("b.idx", keys),
            "b.idx: document index 1 is 2, expects 0 to 1");
  folder.write("b.idx", megatron(5, 8, {2, -2}, {0, 2}));
  EXPECT_EQ(errorOf("b.idx"), "b.idx: sequence 1 has -2 tokens");
  folder.write("b.idx", megatron(5, 4, {2, 2}, {0, 2}));
  EXPECT_EQ(errorOf("b.idx"),
            "b.idx: sequence 1 begins at byte 8, and those before it end at "
            "16; expects sequences one after the other");
}

TEST_F(TokensTest, SurvivesTruncationAndDamage) {
  folder.write("a.bin", counted(10));
  std::string index = megatron(8, 2, {3, 2, 4, 1}, {0, 2, 3, 4});
  for (size_t length = 0; length < index.size(); ++length) {
    folder.write("a.idx", index.substr(0, length));
    EXPECT_NE(errorOf("a.idx"), "") << length;
  }
  RandomStream random(1, "tokens");
  SourceKeys keys;
  keys.storedDocuments = true;
  keys.pad = 0;
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    std::string damaged = index;
    for (uint64_t change = 0; change < 1 + trial % 3; ++change)
      damaged[random.below(index.size(), trial, 2 * change)] =
          static_cast<char>(random.below(256, trial, 2 * change + 1));
    folder.write("a.idx", damaged);
    errorOf("a.idx", keys);
  }
}

TEST_F(TokensTest, NamesATokenOutOfBounds) {
  std::vector<uint16_t> ids{1, 2, 3, 4, 5, 6, 100, 8};
  folder.write("a.bin", array(ids));
  EXPECT_EQ(errorOf("a.bin", raw()),
            "a.bin: token 6, sample 1 at [2]: 100 is not one of the values 0 "
            "to 99 of input ids");
  SourceKeys keys = raw();
  keys.pad = 1000;
  folder.write("a.bin", counted(3));
  EXPECT_EQ(errorOf("a.bin", keys),
            "a.bin: pad, sample 0 at [3]: 1000 is not one of the values 0 to "
            "99 of input ids");
  plan.mutable_inputs(0)->set_bounded(false);
  plan.mutable_inputs(0)->mutable_tensor()->set_dtype(plan::INT32);
  folder.write("a.bin", array(std::vector<uint32_t>{1, 2, 3, 1u << 31}));
  keys = {};
  keys.dtype = TokenType::UInt32;
  Dataset data(plan, {file("a.bin", keys)}, "--data");
  try {
    valuesOf<int32_t>(data, plan);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(shortened(error.what()),
              "a.bin: token 3, sample 0 at [3]: 2147483648 is no int32, as "
              "input ids takes");
  }
  std::filesystem::resize_file(folder / "a.bin", 7);
  EXPECT_THROW(valuesOf<int32_t>(data, plan), Error);
}

TEST_F(TokensTest, RefusesWhatDoesNotFit) {
  folder.write("a.bin", counted(8));
  folder.write("x.parquet", "PAR1 and more");
  EXPECT_EQ(errorOf("x.parquet").substr(0, 68),
            "x.parquet: is a Parquet file, which is not read; convert it with "
            "pyt");
  EXPECT_EQ(errorOf("x.parquet", raw()),
            "x.parquet: is a Parquet file; dtype= is for raw token files");
  folder.write("x.npz", "PK\x03\x04 and more");
  EXPECT_EQ(errorOf("x.npz"),
            "x.npz: is a zip archive, as numpy.savez writes it; save each of "
            "its arrays with numpy.save");
  folder.write("empty", "");
  EXPECT_EQ(errorOf("empty"), "empty: is empty");
  // Pairs of characters are ids below 32,000, which nobody meant.
  std::string text = "a corpus, \xc3\xa4 line of it\n";
  while (text.size() < 100)
    text += text;
  folder.write("x.csv", text);
  for (const SourceKeys &each : {SourceKeys(), raw()})
    EXPECT_EQ(errorOf("x.csv", each),
              "x.csv: is text; shardc-data tokenize makes token ids of it, and "
              "numpy.save an array of a table of numbers");
  SourceKeys keys = raw();
  keys.ignore = 3;
  keys.given = {"dtype", "ignore"};
  EXPECT_EQ(errorOf("a.bin", keys),
            "ignore has no effect: a.bin holds token ids, which has the keys "
            "dtype, window, stride, pad, documents");
  plan.mutable_inputs(0)->mutable_tensor()->set_dtype(plan::FLOAT32);
  EXPECT_EQ(errorOf("a.bin", raw()),
            "a.bin: holds token ids, and input ids takes float32");
  plan = planWith();
  plan.mutable_inputs(0)->mutable_tensor()->add_shape(2);
  EXPECT_EQ(errorOf("a.bin", raw()),
            "a.bin: holds token ids, for inputs of one axis behind that of "
            "samples; input ids has the shape [4, 2] behind it");
}

TEST_F(TokensTest, LabelsMayBeTheIds) {
  plan = planWith(
      R"(inputs { name: "labels" bounded: true max_value: 99 role: "labels" tensor { dtype: INT32 shape: 2 shape: 4 } }
         loss { kind: "cross_entropy" labels: "labels" ignore_index: -100 })");
  folder.write("a.bin", counted(6));
  SourceKeys keys = raw();
  keys.pad = 50;
  NamedFile labels{"labels", "@ids"};
  Dataset same(plan, {labels, file("a.bin", keys)}, "--data");
  EXPECT_EQ(valuesOf<int32_t>(same, plan, 1),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 50, 50}));
  labels.keys.ignore = 50;
  Dataset ignoring(plan, {labels, file("a.bin", keys)}, "--data");
  EXPECT_EQ(valuesOf<int32_t>(ignoring, plan, 1),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, -100, -100}));
  EXPECT_EQ(ignoring.files().size(), 1u);
  labels.path = "@id";
  EXPECT_EQ(errorOf(plan, {labels, file("a.bin", keys)}),
            "--data labels=@id: the model has no other input id, did you mean "
            "'ids'?");
  labels.path = "@ids";
  EXPECT_EQ(errorOf(plan, {labels, {"ids", "@labels"}}),
            "--data ids=@labels: input labels takes what another one has, too; "
            "name that one");
}
