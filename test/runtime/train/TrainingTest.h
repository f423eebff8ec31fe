// Whole runs of LinearPlan in one process, and the same training written out
// plainly: one sample after the other, in one go.
#ifndef SHARDC_TEST_RUNTIME_TRAIN_TRAININGTEST_H
#define SHARDC_TEST_RUNTIME_TRAIN_TRAININGTEST_H

#include "runtime/base/Error.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/launch/ThreadWorld.h"
#include "runtime/train/OpenSinks.h"
#include "runtime/weights/RandomParameters.h"
#include "runtime/weights/StoredParameters.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/device/TraitsOf.h"
#include "test/runtime/engine/LinearPlan.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

/// Every fifth sample has no valid label.
struct LinearSamples {
  static constexpr int64_t samples = 30, inputs = LinearPlan::inputs,
                           classes = LinearPlan::classes;

  LinearSamples() {
    shardc::runtime::RandomStream random(9, "samples");
    std::vector<float> drawn(samples * inputs);
    random.normal(0, 1, 0, drawn);
    x.assign(drawn.begin(), drawn.end());
    for (int64_t i = 0; i < samples; ++i)
      labels.push_back(i % 5 == 3
                           ? -100
                           : static_cast<int64_t>(random.below(classes, i, 7)));
  }
  std::vector<double> x;
  std::vector<int64_t> labels;
};

/// Softmax regression with AdamW. 12 weights, then 4 biases.
struct LinearReference {
  static constexpr int64_t inputs = LinearPlan::inputs,
                           classes = LinearPlan::classes;

  std::vector<double> parameters, gradient = std::vector<double>(16),
                                  first = gradient, second = gradient;
  /// By parameter.
  std::vector<double> rateScale = std::vector<double>(16, 1),
                      weightDecay = std::vector<double>(16, 0.01);
  int64_t updates = 0;

  /// The mean over parts of the means over each part's valid labels; a part
  /// without any counts as 0.
  double lossAndGradient(const LinearSamples &data,
                         const std::vector<std::vector<int64_t>> &parts) {
    gradient.assign(16, 0);
    double loss = 0;
    for (const std::vector<int64_t> &part : parts) {
      int64_t valid = 0;
      for (int64_t sample : part)
        valid += data.labels[sample] != -100;
      for (int64_t sample : part)
        if (data.labels[sample] != -100)
          loss += addSample(data, sample,
                            1.0 / static_cast<double>(valid * parts.size()));
    }
    return loss;
  }

  /// Of p = 1, 2 or infinity.
  double norm(double p = 2) const {
    double sum = 0;
    for (double value : gradient)
      sum = std::isinf(p) ? std::max(sum, std::abs(value))
                          : sum + std::pow(std::abs(value), p);
    return std::isinf(p) ? sum : std::pow(sum, 1 / p);
  }

  /// clip_grad_norm_(clip, p), then torch.optim.AdamW.
  void update(double rate, double clip = INFINITY, double p = 2) {
    double factor = std::min(1.0, clip / (norm(p) + 1e-6));
    auto step = static_cast<double>(++updates);
    for (size_t i = 0; i < 16; ++i) {
      double g = gradient[i] * factor, own = rate * rateScale[i];
      parameters[i] *= 1 - own * weightDecay[i];
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      parameters[i] -=
          own * first[i] / (1 - std::pow(0.9, step)) /
          (std::sqrt(second[i] / (1 - std::pow(0.999, step))) + 1e-8);
    }
  }

private:
  double addSample(const LinearSamples &data, int64_t sample, double factor) {
    double logits[classes], largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      logits[c] = parameters[12 + c];
      for (int64_t i = 0; i < inputs; ++i)
        logits[c] += data.x[sample * inputs + i] * parameters[c * inputs + i];
      largest = std::max(largest, logits[c]);
    }
    for (double logit : logits)
      sum += std::exp(logit - largest);
    for (int64_t c = 0; c < classes; ++c) {
      double slope = factor * (std::exp(logits[c] - largest) / sum -
                               (c == data.labels[sample]));
      gradient[12 + c] += slope;
      for (int64_t i = 0; i < inputs; ++i)
        gradient[c * inputs + i] += slope * data.x[sample * inputs + i];
    }
    return factor * (std::log(sum) + largest - logits[data.labels[sample]]);
  }
};

template <typename T>
std::string npyOf(const std::string &descr, const std::string &shape,
                  const std::vector<T> &values) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': False, 'shape': (" + shape + ")}\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(header.size()), 0};
  return file + header +
         std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// `options` say what a run does; it writes m.jsonl, g.safetensors and
/// p.safetensors.
class TrainingTest : public testing::Test {
protected:
  TrainingTest() {
    writeData();
    for (bool held : {false, true})
      (held ? options.evalData : options.data) = {
          {"x", folder / "x.npy"}, {"labels", folder / "labels.npy"}};
    options.learningRate = 0.05;
    options.metrics = folder / "m.jsonl";
    options.exportGradients = folder / "g.safetensors";
    options.exportSafetensors = folder / "p.safetensors";
  }

  void writeData() {
    folder.write("x.npy", npyOf("<f8", "30, 3", data.x));
    folder.write("labels.npy", npyOf("<i8", "30,", data.labels));
  }

  /// As one world of threads, or as those of `worlds`, each of which has some
  /// of the plan's ranks, at the same time. Returns what trainings return.
  int train(const shardc::plan::Plan &plan) {
    shardc::runtime::ThreadWorld world(static_cast<int>(plan.mesh().ranks()));
    return train(plan, {&world}).at(0);
  }
  std::vector<int> train(const shardc::plan::Plan &plan,
                         std::vector<shardc::runtime::World *> worlds) {
    checkOptions(options, plan, shardc::runtime::traitsOf(plan));
    std::vector<int> signals(worlds.size());
    std::vector<std::exception_ptr> errors(worlds.size());
    std::vector<std::thread> threads;
    testing::internal::CaptureStdout();
    for (size_t i = 0; i < worlds.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          signals[i] = trainIn(*worlds[i], plan);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    printed = testing::internal::GetCapturedStdout();
    for (std::exception_ptr &error : errors)
      if (error)
        std::rethrow_exception(error);
    return signals;
  }
  /// The error that the run ends with.
  std::string errorOf(const shardc::plan::Plan &plan) {
    try {
      train(plan);
    } catch (const shardc::runtime::Error &error) {
      return error.what();
    }
    return "";
  }

  /// The lines of --metrics, with or without evaluations; the last is the
  /// summary.
  std::vector<nlohmann::json> metrics(bool evaluations = false) {
    std::istringstream text(folder.read("m.jsonl"));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);)
      if (auto json = nlohmann::json::parse(line);
          evaluations || json.value("event", "") != "eval")
        lines.push_back(json);
    return lines;
  }

  /// Weight and bias of an exported file.
  std::vector<double> values(const shardc::plan::Plan &plan,
                             const std::string &file) {
    return valuesOf(
        *shardc::runtime::StoredParameters::fromPath(plan, folder / file, {}));
  }
  std::vector<double> initialValues(const shardc::plan::Plan &plan) {
    return valuesOf(shardc::runtime::RandomParameters(plan, 3));
  }

  /// The samples of a step, part by part as ranks and micro-batches have them.
  static std::vector<std::vector<int64_t>> partsOf(int64_t step, int64_t parts,
                                                   int64_t batch) {
    std::vector<std::vector<int64_t>> result(parts);
    for (int64_t i = 0; i < parts * batch; ++i)
      result[i / batch].push_back((step * parts * batch + i) %
                                  LinearSamples::samples);
    return result;
  }

  static void expectNear(const std::vector<double> &got,
                         const std::vector<double> &want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], tolerance) << i;
  }

  LinearSamples data;
  shardc::runtime::Options options;
  TemporaryFolder folder;
  std::string printed; // by the last run

private:
  int trainIn(shardc::runtime::World &world, const shardc::plan::Plan &plan) {
    using namespace shardc::runtime;
    Dataset training(plan, options.data, "--data"),
        held(plan, options.evalData, "--eval-data");
    RandomParameters initial(plan, 3);
    KernelLibrary kernels = KernelLibrary::of({});
    shardc::runtime::Run run{world,
                             plan,
                             options,
                             RunSettings::resolve(options, plan, traitsOf(plan),
                                                  training.samples(), world),
                             training,
                             &held,
                             initial,
                             cpu::cpuDevices(plan, kernels, {}),
                             nullptr,
                             {},
                             {},
                             {},
                             {},
                             {},
                             {}};
    if (options.checkpointDir) {
      run.checkpoints.emplace(*options.checkpointDir);
      run.checkpoints->make();
    }
    if (world.leads()) {
      run.gradients = std::make_unique<SafetensorsExport>(
          plan, *options.exportGradients, SafetensorsExport::Values::Gradients);
      run.parameters =
          std::make_unique<SafetensorsExport>(plan, *options.exportSafetensors);
      shardc::runtime::openSinks(run);
      if (options.trace)
        run.trace = std::make_unique<Trace>(*options.trace);
    }
    return shardc::runtime::train(run).signal;
  }
  static std::vector<double>
  valuesOf(const shardc::runtime::ParameterSource &source) {
    std::vector<double> result(16);
    auto *bytes = reinterpret_cast<std::byte *>(result.data());
    source.read(0, 0, 12, shardc::plan::FLOAT64, bytes);
    source.read(1, 0, 4, shardc::plan::FLOAT64, bytes + 12 * 8);
    return result;
  }
};

#endif
