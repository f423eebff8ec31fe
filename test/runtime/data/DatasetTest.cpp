// Samples from .npy files: what is bound, what is refused, what a batch holds,
// and what the loss is divided by.
#include "runtime/data/Dataset.h"

#include "runtime/base/Error.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/SampleOrder.h"
#include "test/runtime/TemporaryFolder.h"

#include <algorithm>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <set>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class DatasetTest : public testing::Test {
protected:
  DatasetTest() {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(mesh { ranks: 2 }
           inputs { name: "ids" bounded: true max_value: 9 tensor { dtype: INT64 shape: 2 shape: 3 } }
           inputs { name: "x" tensor { dtype: FLOAT32 shape: 2 } }
           inputs { name: "labels" bounded: true max_value: 4 role: "labels" tensor { dtype: INT64 shape: 2 shape: 3 } }
           inputs { name: "unused" }
           loss { kind: "cross_entropy" labels: "labels" ignore_index: -100 shift: 1 })",
        &plan));
    writeNpy<int32_t>("ids.npy", "<i4", {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 9});
    writeNpy<double>("x.npy", "<f8", {3}, {0.5, 1.5, 2.5});
    writeNpy<int64_t>("labels.npy", "<i8", {3, 3},
                      {-100, 1, 2, 3, -100, 4, 0, -100, -100});
  }

  template <typename T>
  void writeNpy(const std::string &name, const std::string &descr,
                std::vector<int64_t> shape, std::vector<T> values) {
    std::string dims;
    for (int64_t dim : shape)
      dims += std::to_string(dim) + ",";
    std::string header = "{'descr': '" + descr +
                         "', 'fortran_order': False, 'shape': (" + dims +
                         ")}\n";
    std::string file("\x93NUMPY\x01\x00", 8);
    file += {static_cast<char>(header.size()), 0};
    folder.write(name, file + header +
                           std::string(reinterpret_cast<char *>(values.data()),
                                       values.size() * sizeof(T)));
  }

  std::vector<NamedFile> files() {
    return {{"ids", folder / "ids.npy"},
            {"x", folder / "x.npy"},
            {"labels", folder / "labels.npy"}};
  }
  std::string errorOf(const std::vector<NamedFile> &given) {
    try {
      Dataset(plan, given, "--data");
    } catch (const Error &error) {
      std::string text = error.what();
      size_t at = text.find(folder.path());
      return at == std::string::npos ? text
                                     : text.erase(at, folder.path().size() + 1);
    }
    return "";
  }

  plan::Plan plan;
  TemporaryFolder folder;
};

} // namespace

TEST_F(DatasetTest, CountsLabelsAndLooksAtAllValues) {
  Dataset data(plan, files(), "--data");
  data.checkValues();
  // Without the first of each row, with which nothing is compared.
  EXPECT_EQ(data.countLabels().all, 6);
  EXPECT_EQ(data.countLabels().valid, 3);
  Dataset less(plan, files(), "--data", 2);
  EXPECT_EQ(less.countLabels().all, 4);
  EXPECT_EQ(less.countLabels().valid, 3);
}

/// A file that is too large to be looked at before every run.
TEST_F(DatasetTest, ChecksLargeFilesWhenItIsAskedTo) {
  int64_t samples = Dataset::checkedBytes / 24 + 1;
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                       std::to_string(samples) + ",3,)}\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(header.size()), 0};
  file += header;
  plan.mutable_inputs()->RemoveLast();
  plan.mutable_inputs()->DeleteSubrange(1, 1);
  for (const char *name : {"ids.npy", "labels.npy"}) {
    folder.write(name, file);
    std::filesystem::resize_file(folder / name, file.size() + samples * 24);
  }
  std::vector<NamedFile> given = {{"ids", folder / "ids.npy"},
                                  {"labels", folder / "labels.npy"}};
  {
    std::fstream wrong(folder / "labels.npy",
                       std::ios::in | std::ios::out | std::ios::binary);
    wrong.seekp(int64_t(file.size()) + (samples - 1) * 24 + 8);
    int64_t value = 5;
    wrong.write(reinterpret_cast<char *>(&value), sizeof(value));
  }
  Dataset data(plan, given, "--data");
  try {
    data.checkValues();
    ADD_FAILURE() << "5 is no class";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("5 is not one of the values 0 to 4 or -100 of input "
                        "labels"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(DatasetTest, CopiesAndConvertsABatch) {
  Dataset dataset(plan, files(), "--data");
  EXPECT_EQ(dataset.samples(), 3);
  EXPECT_EQ(batchPerRank(plan), 2);
  int64_t ids[6], labels[6];
  float x[2];
  std::vector<int64_t> chosen{2, Dataset::padding};
  dataset.load(0, chosen, reinterpret_cast<std::byte *>(ids));
  dataset.load(1, chosen, reinterpret_cast<std::byte *>(x));
  dataset.load(2, chosen, reinterpret_cast<std::byte *>(labels));
  EXPECT_EQ(std::vector<int64_t>(ids, ids + 6),
            (std::vector<int64_t>{6, 7, 9, 0, 1, 2}));
  EXPECT_EQ(x[0], 2.5f);
  EXPECT_EQ(x[1], 0.5f);
  EXPECT_EQ(std::vector<int64_t>(labels, labels + 6),
            (std::vector<int64_t>{0, -100, -100, -100, -100, -100}));
  chosen = {0, 1};
  dataset.load(2, chosen, reinterpret_cast<std::byte *>(labels));
  // The first label of each sample is compared with nothing.
  const auto *values = reinterpret_cast<std::byte *>(labels);
  CountedLabels counted =
      countLabels(plan.loss(), plan.inputs(2).tensor(), values);
  EXPECT_EQ(counted.count, 3);
  EXPECT_EQ(counted.weight, 3);
}

TEST_F(DatasetTest, LabelsWeighWhatTheirClassesDo) {
  plan::Tensor labels = plan.inputs(2).tensor();
  const std::vector<int64_t> values{9, 0, 2, 9, -100, 1};
  ASSERT_EQ(labels.shape(1), 3);
  for (double weight : {0.25, 2.0, 8.0})
    plan.mutable_loss()->add_class_weights(weight);
  // The first of each sample is compared with nothing.
  CountedLabels counted = countLabels(
      plan.loss(), labels, reinterpret_cast<const std::byte *>(values.data()));
  EXPECT_EQ(counted.count, 3);
  EXPECT_EQ(counted.weight, 0.25 + 8 + 2);
}

TEST_F(DatasetTest, BooleansAreIntegersAndNoFloats) {
  writeNpy<uint8_t>("ids.npy", "|b1", {3, 3}, {0, 1, 1, 1, 0, 0, 1, 1, 0});
  Dataset dataset(plan, files(), "--data");
  int64_t ids[9];
  std::vector<int64_t> all{0, 1, 2};
  dataset.load(0, all, reinterpret_cast<std::byte *>(ids));
  EXPECT_EQ(std::vector<int64_t>(ids, ids + 9),
            (std::vector<int64_t>{0, 1, 1, 1, 0, 0, 1, 1, 0}));
  writeNpy<uint8_t>("x.npy", "|b1", {3}, {0, 1, 1});
  EXPECT_EQ(errorOf(files()), "x.npy: expects float32 for input x, got bool");
}

TEST_F(DatasetTest, NamesWhatIsNotFinite) {
  writeNpy<float>("x.npy", "<f4", {3}, {0, 1, -INFINITY});
  Dataset dataset(plan, files(), "--data");
  std::vector<int64_t> first{0, 1}, last{1, 2};
  EXPECT_EQ(dataset.notFiniteText(first), "");
  EXPECT_EQ(dataset.notFiniteText(last),
            folder.path() +
                "/x.npy: sample 2: -inf is no float32 to train on, of input x");
}

TEST_F(DatasetTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(
      errorOf({}),
      "input ids has no values; give --data ids=FILE.npy, int64 [samples, 3]");
  std::vector<NamedFile> given = files();
  given[0].name = "idz";
  EXPECT_EQ(errorOf(given),
            "--data idz: the model has no such input, did you mean 'ids'?; its "
            "inputs are ids, x, labels, unused");
  given = files();
  given.push_back(given[0]);
  EXPECT_EQ(errorOf(given).substr(0, 27), "--data ids is given twice: ");
  given = files();
  std::swap(given[0].path, given[1].path);
  EXPECT_EQ(errorOf(given),
            "x.npy: expects shape [3, 3] for input ids, got [3]");
  writeNpy<float>("ids.npy", "<f4", {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(errorOf(files()),
            "ids.npy: expects int64 for input ids, got float32");
  writeNpy<int64_t>("ids.npy", "<i8", {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(errorOf(files()).substr(0, 33),
            "x.npy: has 3 samples, and " + folder.path().substr(0, 7));
}

TEST_F(DatasetTest, NamesAValueOutOfRange) {
  writeNpy<int64_t>("labels.npy", "<i8", {3, 3},
                    {-100, 1, 2, 3, -100, 5, 0, -100, -100});
  EXPECT_EQ(errorOf(files()), "labels.npy: sample 1 at [2]: 5 is not one of "
                              "the values 0 to 4 or -100 of input labels");
  writeNpy<int64_t>("labels.npy", "<i8", {3, 3},
                    {-100, 1, 2, 3, -100, 4, 0, -100, -100});
  writeNpy<int64_t>("ids.npy", "<i8", {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, -100});
  EXPECT_EQ(errorOf(files()), "ids.npy: sample 2 at [2]: -100 is not one of "
                              "the values 0 to 9 of input ids");
}

TEST_F(DatasetTest, SaysWhatTheLossIs) {
  auto text = [](const char *kind, const char *reduction, LossNorm norm) {
    plan::Loss loss;
    loss.set_kind(kind);
    loss.set_reduction(reduction);
    return lossText(loss, norm);
  };
  EXPECT_EQ(text("cross_entropy", "mean", LossNorm::Global),
            "cross entropy, the mean over all valid labels of a step");
  EXPECT_EQ(text("cross_entropy", "sum", LossNorm::Global),
            "cross entropy, the sum over all valid labels of a step");
  EXPECT_EQ(text("cross_entropy", "sum", LossNorm::Rank),
            "cross entropy, the mean over ranks and micro-batches of each "
            "one's sum over its valid labels");
  EXPECT_EQ(text("output", "sum", LossNorm::Global),
            "the graph's own, the sum over ranks and micro-batches");
  EXPECT_EQ(text("output", "sum", LossNorm::Rank),
            "the graph's own, the mean over ranks and micro-batches");
  EXPECT_EQ(text("mse", "mean", LossNorm::Rank),
            "mean squared error, the mean over all elements of a step");
}

TEST_F(DatasetTest, FilesMayChangeWhileTheyAreRead) {
  Dataset data(plan, files(), "--data");
  std::vector<int64_t> batch(6), samples = {0, 1};
  auto errorOfLoad = [&](int input) -> std::string {
    try {
      data.load(input, samples, reinterpret_cast<std::byte *>(batch.data()));
    } catch (const Error &error) {
      return std::string(error.what()).substr(folder.path().size() + 1);
    }
    return "";
  };
  EXPECT_EQ(errorOfLoad(2), "");
  // Written over: what is used is what was checked.
  int64_t wrong = 77;
  std::fstream file(folder / "labels.npy",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-9 * int64_t(sizeof(wrong)), std::ios::end);
  file.write(reinterpret_cast<char *>(&wrong), sizeof(wrong));
  file.close();
  EXPECT_EQ(errorOfLoad(2), "labels.npy: sample 0 at [0]: 77 is not one of the "
                            "values 0 to 4 or -100 of input labels");
  // Truncated: an error, not a signal.
  size_t whole = folder.read("labels.npy").size();
  std::filesystem::resize_file(folder / "labels.npy", whole - 60);
  EXPECT_EQ(errorOfLoad(2), "labels.npy was truncated while it was in use: it "
                            "ends 36 bytes before byte " +
                                std::to_string(whole - 24));
  std::filesystem::resize_file(folder / "ids.npy", 0);
  EXPECT_NE(errorOfLoad(0), "");
}

TEST_F(DatasetTest, ScalesTheLoss) {
  EXPECT_EQ(lossNormalization(plan, 8), 0.125);
  EXPECT_EQ(lossNormalization(plan, 0), 0);
  plan.mutable_loss()->set_kind("output");
  EXPECT_EQ(lossNormalization(plan, 0), 0.5);
  plan.mutable_loss()->set_kind("mse");
  plan.mutable_loss()->set_elements(16);
  EXPECT_EQ(lossNormalization(plan, 0), 1.0 / 32);
  EXPECT_EQ(lossNormalization(plan, 0, 4), 1.0 / 128);
  EXPECT_EQ(lossNormalizationOfRank(plan, 0, 4), 1.0 / 128);
  plan.mutable_loss()->set_kind("output");
  EXPECT_EQ(lossNormalization(plan, 0, 4), 1.0 / 8);
  plan.mutable_loss()->set_kind("cross_entropy");
  // All valid labels are counted already; a rank's own are a mean among 2 x 4.
  EXPECT_EQ(lossNormalization(plan, 8, 4), 1.0 / 8);
  EXPECT_EQ(lossNormalizationOfRank(plan, 4, 4), 1.0 / 32);
  EXPECT_EQ(lossNormalizationOfRank(plan, 0, 4), 0);
  EXPECT_TRUE(countsLabels(plan.loss()));
  // A sum is one, whatever there is; the mean of 2 x 4 parts' with Rank.
  for (const char *kind : {"cross_entropy", "output"}) {
    plan.mutable_loss()->set_kind(kind);
    plan.mutable_loss()->set_reduction("sum");
    EXPECT_FALSE(countsLabels(plan.loss()));
    EXPECT_EQ(lossNormalization(plan, 0, 4), 1);
    EXPECT_EQ(lossNormalizationOfRank(plan, 0, 4), 1.0 / 8);
  }
  float scale;
  writeScale(0.5, plan::FLOAT32, reinterpret_cast<std::byte *>(&scale));
  EXPECT_EQ(scale, 0.5f);
}

/// The samples of the next step; the cursor moves behind it.
std::vector<int64_t> next(SampleOrder &order, Cursor &cursor, int64_t batch) {
  std::vector<int64_t> samples;
  cursor = order.begin(cursor);
  for (int64_t position = 0; position < batch; ++position)
    samples.push_back(order.sampleAt(cursor, position));
  cursor = order.end(cursor);
  return samples;
}

TEST(SampleOrder, GoesOnFromTheBeginning) {
  SampleOrder order(5, 2, {false, 0});
  std::vector<int64_t> seen;
  Cursor cursor;
  for (int64_t step = 0; step < 5; ++step)
    for (int64_t sample : next(order, cursor, 2))
      seen.push_back(sample);
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_EQ(cursor, (Cursor{2, 0}));
}

TEST(SampleOrder, CountsWhatWasTaken) {
  SampleOrder inOrder(5, 2, {}), shuffled(5, 2, {true, 0});
  Cursor cursor, cursorOfShuffled;
  for (int64_t step = 1; step <= 5; ++step) {
    next(inOrder, cursor, 2);
    next(shuffled, cursorOfShuffled, 2);
    EXPECT_EQ(inOrder.taken(cursor), 2 * step);
    EXPECT_DOUBLE_EQ(inOrder.epochs(cursor), 0.4 * double(step));
    // An epoch leaves out one sample.
    EXPECT_EQ(shuffled.taken(cursorOfShuffled), 2 * step);
    EXPECT_DOUBLE_EQ(shuffled.epochs(cursorOfShuffled), 0.5 * double(step));
  }
  // Where smaller batches left it.
  EXPECT_EQ(shuffled.epochs({2, 5}), 3);
}

TEST(SampleOrder, ShufflesEveryEpochAnew) {
  SampleOrder order(7, 3, {true, 11}), same(7, 3, {true, 11}),
      other(7, 3, {true, 12});
  Cursor cursor, cursorOfSame, cursorOfOther;
  std::vector<int64_t> epochs[3];
  bool differs = false;
  for (int64_t step = 0; step < 6; ++step) {
    std::vector<int64_t> samples = next(order, cursor, 3);
    EXPECT_EQ(samples, next(same, cursorOfSame, 3));
    differs |= samples != next(other, cursorOfOther, 3);
    epochs[step / 2].insert(epochs[step / 2].end(), samples.begin(),
                            samples.end());
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(order.begin(cursor), (Cursor{3, 0}));
  for (std::vector<int64_t> &epoch : epochs)
    EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 6u);
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(SampleOrder, GoesOnWithBatchesOfAnotherSize) {
  for (bool shuffle : {false, true}) {
    SampleOrder small(12, 2, {shuffle, 3}), large(12, 4, {shuffle, 3});
    Cursor cursor;
    std::set<int64_t> seen;
    for (int64_t step = 0; step < 2; ++step)
      for (int64_t sample : next(small, cursor, 2))
        EXPECT_TRUE(seen.insert(sample).second);
    EXPECT_EQ(large.stepsUntil(1, cursor), 2);
    EXPECT_EQ(large.stepsUntil(3, cursor), 8);
    for (int64_t step = 0; step < 2; ++step)
      for (int64_t sample : next(large, cursor, 4))
        EXPECT_TRUE(seen.insert(sample).second);
    EXPECT_EQ(seen.size(), 12u);
    EXPECT_EQ(large.begin(cursor), (Cursor{1, 0}));
    EXPECT_EQ(large.stepsUntil(1, cursor), 0);
    EXPECT_EQ(large.stepsUntil(int64_t(1) << 62, cursor),
              std::numeric_limits<int64_t>::max());
  }
}

TEST(SampleOrder, EpochsThatAreNotShuffledFollowEachOther) {
  SampleOrder order(10, 4, {});
  Cursor cursor;
  for (int64_t step = 1; step <= 8; ++step) {
    cursor = order.end(order.begin(cursor));
    // 3, 5 and 8 steps have 12, 20 and 32 samples.
    EXPECT_EQ(cursor.epoch, step < 3 ? 0 : step < 5 ? 1 : step < 8 ? 2 : 3);
    EXPECT_EQ(order.stepsUntil(3, cursor), 8 - step);
    EXPECT_EQ(order.after(step), cursor);
  }
  EXPECT_EQ(order.stepsUntil(1, {}), 3);
  EXPECT_EQ(order.stepsUntil(2, {}), 5);
}

TEST(SampleOrder, PadsTheLastStep) {
  OrderSettings settings{true, 5};
  settings.padsLast = true;
  SampleOrder order(7, 3, settings);
  EXPECT_EQ(order.stepsUntil(2, {}), 6);
  Cursor cursor;
  std::vector<int64_t> epoch;
  for (int64_t step = 0; step < 3; ++step)
    for (int64_t sample : next(order, cursor, 3))
      epoch.push_back(sample);
  EXPECT_EQ(order.begin(cursor), (Cursor{1, 0}));
  EXPECT_EQ(epoch[7], epoch[0]);
  EXPECT_EQ(epoch[8], epoch[1]);
  EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.begin() + 7).size(), 7u);
  EXPECT_EQ(order.stepsUntil(1, {0, 6}), 1);
}

/// A rank's samples of an epoch, in micro-batches of `batch`.
std::vector<int64_t> samplesOfRank(int64_t samples, int64_t ranks,
                                   int64_t batch, int64_t microBatches,
                                   int64_t rank, int64_t epoch,
                                   const OrderSettings &settings) {
  SampleOrder order(samples, batch * ranks * microBatches, settings, batch,
                    ranks);
  std::vector<int64_t> all;
  for (Cursor cursor = order.begin({epoch, 0}); cursor.epoch == epoch;
       cursor = order.begin(order.end(cursor)))
    for (int64_t m = 0; m < microBatches; ++m)
      for (int64_t i = 0; i < batch; ++i)
        all.push_back(order.sampleAt(cursor, (m * ranks + rank) * batch + i));
  return all;
}

TEST(SampleOrder, IsThatOfDistributedSampler) {
  // What samplers/record.py wrote.
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() /
                     "samplers/orders.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    OrderSettings settings{true, 0, Sampler::Torch};
    int64_t samples, ranks, epoch, drops, rank;
    words >> samples >> ranks >> settings.seed >> epoch >> drops >> rank;
    settings.padsLast = !drops;
    std::vector<int64_t> expected;
    for (int64_t sample; words >> sample;)
      expected.push_back(sample);
    EXPECT_EQ(samplesOfRank(samples, ranks, 1, 1, rank, epoch, settings),
              expected)
        << line;
    // Batches and micro-batches take as many of them as they fill.
    std::vector<int64_t> cut =
        samplesOfRank(samples, ranks, 2, 2, rank, epoch, settings);
    size_t common = std::min(cut.size(), expected.size());
    EXPECT_EQ(cut.size(), (expected.size() + (drops ? 0 : 3)) / 4 * 4) << line;
    cut.resize(common);
    expected.resize(common);
    EXPECT_EQ(cut, expected) << line;
  }
  EXPECT_EQ(lines, 44);
}

TEST(SampleOrder, IsThatOfDistributedSamplerForAllSizes) {
  // Also of samplers/record.py, which says what is hashed.
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() /
                     "samplers/hashes.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    OrderSettings settings{true, 0, Sampler::Torch};
    int64_t samples, ranks, epoch, drops;
    uint64_t expected, hash = 0xcbf29ce484222325;
    words >> samples >> ranks >> settings.seed >> epoch >> drops >> expected;
    settings.padsLast = !drops;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t sample :
           samplesOfRank(samples, ranks, 1, 1, rank, epoch, settings))
        hash = (hash ^ uint64_t(sample)) * 0x100000001b3;
    EXPECT_EQ(hash, expected) << line;
  }
  EXPECT_EQ(lines, 12 * 8 * 3 * 2);
}
