// Batches that are read before they are needed: the same samples in the same
// order, errors where the batch is taken, and nobody who waits for a rank that
// is gone.
#include "runtime/train/ReadAhead.h"

#include "test/runtime/train/TrainingTest.h"

#include <filesystem>
#include <optional>

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int64_t steps = 11;

class ReadAheadTest : public TrainingTest {
protected:
  ReadAheadTest() {
    options.steps = steps;
    options.microBatches = 2;
    options.order.shuffle = true;
    options.order.seed = 5;
    dataset.emplace(plan, options.data, "--data");
    settings = RunSettings::resolve(options, plan, traitsOf(plan),
                                    dataset->samples(), ThreadWorld(2));
    ahead.emplace(plan, *dataset, settings, options.order, RankRange{0, 2});
  }

  /// What a rank gets in a micro-batch.
  std::vector<int64_t> take(ReadAhead::Reader &reader, int64_t microBatch) {
    const Batch &batch = reader.next(microBatch);
    std::vector<int64_t> samples = batch.samples;
    int64_t valid = 0;
    for (int64_t sample : samples)
      valid += data.labels[sample] != -100;
    EXPECT_EQ(reader.labelWeight(microBatch), valid);
    Batch read;
    read.samples = samples;
    readBatch(plan, *dataset, read);
    EXPECT_EQ(batch.values, read.values);
    reader.done(microBatch);
    return samples;
  }

  plan::Plan plan = LinearPlan(2, 2).plan;
  std::optional<Dataset> dataset;
  RunSettings settings;
  std::optional<ReadAhead> ahead;
};

} // namespace

TEST_F(ReadAheadTest, HasTheSamplesOfEveryStep) {
  SampleOrder order(LinearSamples::samples, 8, options.order);
  ReadAhead::Reader first(*ahead, 0), second(*ahead, 1);
  Cursor cursor;
  for (int64_t step = 0; step < steps; ++step) {
    cursor = order.begin(cursor);
    int64_t position = 0;
    for (int64_t microBatch : {0, 1})
      for (ReadAhead::Reader *reader : {&first, &second})
        for (int64_t sample : take(*reader, microBatch))
          EXPECT_EQ(sample, order.sampleAt(cursor, position++)) << step;
    cursor = order.end(cursor);
  }
}

TEST_F(ReadAheadTest, GoesOnWithoutARankThatIsGone) {
  ReadAhead::Reader first(*ahead, 0);
  {
    ReadAhead::Reader second(*ahead, 1);
    take(second, 0);
  }
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t microBatch : {0, 1})
      take(first, microBatch);
}

TEST_F(ReadAheadTest, ABatchThatCannotBeReadIsAnErrorWhereItIsTaken) {
  ahead.reset();
  options.order.shuffle = false;
  // The last labels of sample 20: those of step 2.
  for (const NamedFile &file : dataset->files())
    if (file.name == "labels")
      std::filesystem::resize_file(
          file.path, std::filesystem::file_size(file.path) - 9 * 8 - 1);
  ahead.emplace(plan, *dataset, settings, options.order, RankRange{0, 2});
  ReadAhead::Reader first(*ahead, 0), second(*ahead, 1);
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t microBatch : {0, 1}) {
      take(first, microBatch);
      take(second, microBatch);
    }
  take(first, 0);
  take(second, 0);
  EXPECT_EQ(first.labelWeight(1), 0);
  try {
    first.next(1);
    ADD_FAILURE() << "sample 20 is not there";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("labels.npy was truncated"),
              std::string::npos)
        << error.what();
  }
}
