// Whole runs of a plan made by hand, against the same training written out
// plainly.
#include "runtime/Trainer.h"

#include "runtime/Error.h"
#include "runtime/checkpoint/RandomParameters.h"
#include "runtime/checkpoint/StoredParameters.h"
#include "test/runtime/LinearPlan.h"
#include "test/runtime/TemporaryFolder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int64_t samples = 30, inputs = LinearPlan::inputs,
                  classes = LinearPlan::classes;

struct Samples {
  Samples() {
    RandomStream random(9, "samples");
    for (int64_t i = 0; i < samples * inputs; ++i)
      x.push_back(random.normal(i));
    for (int64_t i = 0; i < samples; ++i)
      labels.push_back(i % 5 == 3
                           ? -100
                           : static_cast<int64_t>(random.below(classes, i, 7)));
  }
  std::vector<double> x;
  std::vector<int64_t> labels;
};

template <typename T>
std::string npy(const std::string &descr, const std::string &shape,
                const std::vector<T> &values) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': False, 'shape': (" + shape + ")}\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(header.size()), 0};
  return file + header +
         std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// Softmax regression with AdamW, one sample after the other.
struct Reference {
  std::vector<double> parameters, gradient = std::vector<double>(16),
                                  first = gradient, second = gradient;

  double lossAndGradient(const Samples &data,
                         const std::vector<int64_t> &batch) {
    gradient.assign(16, 0);
    double loss = 0;
    int64_t valid = 0;
    for (int64_t sample : batch)
      valid += data.labels[sample] != -100;
    for (int64_t sample : batch) {
      if (data.labels[sample] == -100)
        continue;
      double logits[classes], sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        logits[c] = parameters[12 + c];
        for (int64_t i = 0; i < inputs; ++i)
          logits[c] += data.x[sample * inputs + i] * parameters[c * inputs + i];
        sum += std::exp(logits[c]);
      }
      loss += (std::log(sum) - logits[data.labels[sample]]) / valid;
      for (int64_t c = 0; c < classes; ++c) {
        double slope =
            (std::exp(logits[c]) / sum - (c == data.labels[sample])) / valid;
        gradient[12 + c] += slope;
        for (int64_t i = 0; i < inputs; ++i)
          gradient[c * inputs + i] += slope * data.x[sample * inputs + i];
      }
    }
    return loss;
  }

  double norm() const {
    double sum = 0;
    for (double value : gradient)
      sum += value * value;
    return std::sqrt(sum);
  }

  void update(int64_t step, double rate, double clip) {
    double factor = std::min(1.0, clip / (norm() + 1e-6));
    for (size_t i = 0; i < 16; ++i) {
      double g = gradient[i] * factor;
      parameters[i] *= 1 - rate * 0.01;
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      parameters[i] -=
          rate * first[i] / (1 - std::pow(0.9, step)) /
          (std::sqrt(second[i] / (1 - std::pow(0.999, step))) + 1e-8);
    }
  }
};

class Training : public testing::Test {
protected:
  Training() {
    folder.write("x.npy", npy("<f8", "30, 3", data.x));
    folder.write("labels.npy", npy("<i8", "30,", data.labels));
    for (bool held : {false, true}) {
      std::vector<NamedFile> &files = held ? options.evalData : options.data;
      files = {{"x", folder / "x.npy"}, {"labels", folder / "labels.npy"}};
    }
    options.learningRate = 0.05;
    options.clip = 0.2;
    options.metrics = folder / "m.jsonl";
    options.exportGradients = folder / "g.safetensors";
    options.exportSafetensors = folder / "p.safetensors";
    options.steps = 12;
    options.evalEvery = 5;
  }

  int train(const plan::Plan &plan) {
    Dataset training(plan, options.data, "--data"),
        held(plan, options.evalData, "--eval-data");
    RandomParameters initial(plan, 3);
    KernelLibrary kernels = KernelLibrary::of({});
    runtime::Run run{
        plan,
        options,
        RunSettings::resolve(options, plan, training.samples()),
        training,
        &held,
        initial,
        kernels,
        std::make_unique<SafetensorsExport>(plan, *options.exportGradients),
        std::make_unique<SafetensorsExport>(plan, *options.exportSafetensors),
        nullptr,
        std::make_unique<MetricsFile>(*options.metrics)};
    testing::internal::CaptureStdout();
    try {
      int signal = runtime::train(run);
      testing::internal::GetCapturedStdout();
      return signal;
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
  }

  std::vector<nlohmann::json> metrics() {
    std::istringstream text(folder.read("m.jsonl"));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::vector<double> values(const plan::Plan &plan, const std::string &file) {
    auto stored = StoredParameters::fromPath(plan, folder / file, {});
    std::vector<double> result(16);
    auto *bytes = reinterpret_cast<std::byte *>(result.data());
    stored->read(0, 0, 12, plan::FLOAT64, bytes);
    stored->read(1, 0, 4, plan::FLOAT64, bytes + 12 * 8);
    return result;
  }

  std::vector<double> initialValues(const plan::Plan &plan) {
    RandomParameters initial(plan, 3);
    std::vector<double> result(16);
    auto *bytes = reinterpret_cast<std::byte *>(result.data());
    initial.read(0, 0, 12, plan::FLOAT64, bytes);
    initial.read(1, 0, 4, plan::FLOAT64, bytes + 12 * 8);
    return result;
  }

  Samples data;
  Options options;
  TemporaryFolder folder;
};

void expectNear(const std::vector<double> &got, const std::vector<double> &want,
                double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

} // namespace

TEST_F(Training, IsTheSameOnEveryMesh) {
  for (int64_t ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    plan::Plan plan = LinearPlan(ranks, 8 / ranks).plan;
    EXPECT_EQ(train(plan), 0);

    Reference reference;
    reference.parameters = initialValues(plan);
    std::vector<int64_t> all(samples);
    std::vector<double> evaluations;
    for (int64_t i = 0; i < samples; ++i)
      all[i] = i;
    std::vector<nlohmann::json> lines = metrics();
    size_t line = 0;
    for (int64_t step = 0; step <= 12; ++step) {
      if (step % 5 == 0 || step == 12) {
        // The last batch of the evaluation is not full.
        EXPECT_EQ(lines[line]["event"], "eval");
        EXPECT_EQ(lines[line]["step"], step);
        EXPECT_NEAR(lines[line++]["loss"].get<double>(),
                    reference.lossAndGradient(data, all), 1e-12);
      }
      if (step == 12)
        break;
      std::vector<int64_t> batch;
      for (int64_t i = 0; i < 8; ++i)
        batch.push_back((step * 8 + i) % samples);
      double loss = reference.lossAndGradient(data, batch);
      EXPECT_EQ(lines[line]["step"], step);
      EXPECT_NEAR(lines[line]["loss"].get<double>(), loss, 1e-12);
      EXPECT_NEAR(lines[line]["grad_norm"].get<double>(), reference.norm(),
                  1e-12);
      EXPECT_EQ(lines[line]["learning_rate"], 0.05);
      EXPECT_GT(lines[line]["samples_per_second"].get<double>(), 0);
      EXPECT_GT(lines[line++]["step_seconds"].get<double>(), 0);
      if (step == 0)
        expectNear(values(plan, "g.safetensors"), reference.gradient, 1e-12);
      reference.update(step + 1, 0.05, 0.2);
    }
    expectNear(values(plan, "p.safetensors"), reference.parameters, 1e-11);

    const nlohmann::json &summary = lines[line];
    EXPECT_EQ(line + 1, lines.size());
    EXPECT_EQ(summary["event"], "summary");
    EXPECT_EQ(summary["steps"], 12);
    EXPECT_EQ(summary["memory"].size(), static_cast<size_t>(ranks));
    for (const nlohmann::json &rank : summary["memory"])
      for (const auto &[name, pool] : rank["pools"].items())
        EXPECT_EQ(pool["planned_bytes"], pool["allocated_bytes"]) << name;
    EXPECT_GT(summary["peak_rss_bytes"].get<int64_t>(), 0);
    EXPECT_GT(summary["seconds_to_first_step"].get<double>(), 0);
  }
}

TEST_F(Training, StopsAtALossThatIsNotFinite) {
  data.x[17 * inputs] = NAN; // in step 2
  folder.write("x.npy", npy("<f8", "30, 3", data.x));
  options.evalEvery = 0;
  folder.write("p.safetensors", "old");
  plan::Plan plan = LinearPlan(2, 4).plan;
  try {
    train(plan);
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what())
                  .find("the loss of step 2 (counting from 0) is"),
              0u)
        << error.what();
  }
  EXPECT_EQ(metrics().size(), 2u);
  EXPECT_EQ(folder.read("p.safetensors"), "old");
}

TEST_F(Training, NeedsAWholeBatch) {
  plan::Plan plan = LinearPlan(4, 8).plan;
  try {
    train(plan);
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "--data has 30 samples, too few for one global "
                               "batch of 32 (8 on each of 4 ranks)");
  }
}
