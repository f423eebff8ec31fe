// A whole small plan, written by hand: a linear layer with cross entropy,
// trained by AdamW on meshes of 1, 2 and 3 ranks.
#include "runtime/engine/Executor.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/launch/RankThreads.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/WholeUnit.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;

namespace {

constexpr int64_t features = 3, classes = 4, globalBatch = 6;
constexpr int64_t weights = classes * features;
constexpr int64_t flatElements = 24; // 16 and padding, divisible by 1, 2 and 3
constexpr int64_t steps = 4;

/// sums[j] = sum of column j: a stand-in for a generated kernel whose pieces
/// are columns.
template <typename T>
void columnSums(void *const *arguments, int64_t begin, int64_t end) {
  const T *rows = static_cast<const T *>(arguments[0]);
  T *sums = static_cast<T *>(arguments[1]);
  int64_t count = *static_cast<const int64_t *>(arguments[2]);
  for (int64_t j = begin; j < end; ++j) {
    sums[j] = 0;
    for (int64_t i = 0; i < count; ++i)
      sums[j] += rows[i * classes + j];
  }
}

/// Builds the plan for `ranks` ranks, sharded or not.
template <typename T> class PlanBuilder {
public:
  PlanBuilder(int64_t ranks, bool sharded)
      : batch(globalBatch / ranks), sharded(sharded) {
    shards = sharded ? ranks : 1;
    plan::Mesh *mesh = plan.mutable_mesh();
    mesh->set_ranks(ranks);
    mesh->add_dims(ranks);
    mesh->set_shards(shards);
    mesh->set_optimizer_shards(shards);
    if (sharded) {
      mesh->add_shard_dims(0);
      mesh->add_optimizer_dims(0);
    }
    plan::Group *world = plan.add_groups();
    world->set_stride(1);
    world->set_size(ranks);
    for (const char *name :
         {"persistent", "activation", "gather", "gradient", "workspace"})
      plan.add_pools()->set_name(name);
    plan.mutable_optimizer()->set_kind("adamw");
    int64_t slice = flatElements / shards * sizeof(T);
    parameters = buffer("parameters", 0, slice);
    uint32_t average = buffer("exp_avg", 0, slice);
    uint32_t squares = buffer("exp_avg_sq", 0, slice);
    input = buffer("x", 0, batch * features * sizeof(T));
    labels = buffer("labels", 0, batch * 8);
    scale = buffer("scale", 0, sizeof(T));
    rowCount = buffer("row_count", 0, 8);
    gathered =
        sharded ? buffer("gathered", 2, flatElements * sizeof(T)) : parameters;
    logits = buffer("logits", 1, batch * classes * sizeof(T));
    loss = buffer("loss", 1, sizeof(T));
    norm = buffer("norm", 1, 8);
    flat = buffer("flat", 3, flatElements * sizeof(T));
    gradient = sharded ? buffer("gradient", 3, slice) : flat;
    workspace = buffer("workspace", 4, batch * 8);

    plan::Unit *unit = plan.add_units();
    unit->set_name("layer");
    unit->set_elements(flatElements);
    unit->set_padding(flatElements - weights - classes);
    unit->set_shards(shards);
    unit->set_parameter_buffer(parameters);
    unit->add_state_buffers(average);
    unit->add_state_buffers(squares);
    unit->set_dtype(dtype);
    unit->set_optimizer_shards(shards);
    unit->set_master_dtype(dtype);
    unit->set_gradient_dtype(dtype);
    addParameter("weight", {classes, features}, 0);
    addParameter("bias", {classes}, weights);

    plan::Constant *constant = plan.add_constants();
    constant->set_buffer(rowCount);
    constant->set_data(std::string(reinterpret_cast<char *>(&batch), 8));
    plan::Kernel *kernel = plan.add_kernels();
    kernel->set_symbol("column_sums");
    kernel->set_extent(classes);

    gatherAndPredict(plan.mutable_train(), "forward");
    train();
    gatherAndPredict(plan.mutable_eval(), "forward");
    lossAndReport(plan.mutable_eval(), false);
  }

  plan::Plan plan;
  int64_t batch, shards;
  bool sharded;
  uint32_t parameters, input, labels, scale, rowCount, gathered, logits, loss,
      norm, flat, gradient, workspace;

  plan::Tensor tensor(uint32_t id, std::vector<int64_t> shape,
                      plan::DType type = dtype, int64_t offset = 0) {
    plan::Tensor tensor;
    tensor.set_buffer(id);
    tensor.set_offset(offset);
    tensor.set_dtype(type);
    for (int64_t size : shape)
      tensor.add_shape(size);
    return tensor;
  }

private:
  static constexpr plan::DType dtype =
      sizeof(T) == 4 ? plan::FLOAT32 : plan::FLOAT64;

  uint32_t buffer(const char *name, uint32_t pool, int64_t bytes) {
    plan::Buffer *buffer = plan.add_buffers();
    buffer->set_name(name);
    buffer->set_pool(pool);
    buffer->set_offset(plan.pools(pool).bytes());
    buffer->set_bytes(bytes);
    plan.mutable_pools(pool)->set_bytes((buffer->offset() + bytes + 63) / 64 *
                                        64);
    return plan.buffers_size() - 1;
  }
  void addParameter(const char *name, std::vector<int64_t> shape,
                    int64_t offset) {
    plan.mutable_units(0)->add_parameters(plan.parameters_size());
    plan::Parameter *parameter = plan.add_parameters();
    parameter->set_name(name);
    for (int64_t size : shape)
      parameter->add_shape(size);
    parameter->set_flat_offset(offset);
    parameter->set_dtype(dtype);
    parameter->set_trainable(true);
  }
  plan::Entry *entry(plan::Program *program, const char *name,
                     const char *phase) {
    plan::Entry *entry = program->add_entries();
    entry->set_name(name);
    entry->set_phase(phase);
    return entry;
  }

  void gatherAndPredict(plan::Program *program, const char *phase) {
    if (sharded) {
      auto *start = entry(program, "gather", phase)->mutable_all_gather_start();
      start->set_id(0);
      start->set_gathered(gathered);
      entry(program, "gather", phase)->mutable_wait()->set_id(0);
    }
    auto *gemm = entry(program, "linear", phase)->mutable_gemm();
    *gemm->mutable_a() = tensor(input, {batch, features});
    *gemm->mutable_b() = tensor(gathered, {classes, features});
    gemm->set_transpose_b(true);
    *gemm->mutable_bias() =
        tensor(gathered, {classes}, dtype, weights * sizeof(T));
    *gemm->mutable_c() = tensor(logits, {batch, classes});
  }
  void lossAndReport(plan::Program *program, bool withGradient) {
    auto *ce = entry(program, "loss", "forward")->mutable_cross_entropy();
    *ce->mutable_logits() = tensor(logits, {batch, classes});
    *ce->mutable_labels() = tensor(labels, {batch}, plan::INT64);
    *ce->mutable_scale() = tensor(scale, {});
    *ce->mutable_loss() = tensor(loss, {});
    *ce->mutable_workspace() = tensor(workspace, {batch * 8}, plan::UINT8);
    ce->set_ignore_index(-100);
    if (withGradient) {
      *ce->mutable_logits_gradient() = tensor(logits, {batch, classes});
      backward(program);
    }
    auto *start =
        entry(program, "sums", "backward")->mutable_all_reduce_start();
    start->set_id(2);
    *start->add_values() = tensor(loss, {});
    // Without shards every rank holds all slices, and so the whole norm.
    start->add_norms(false);
    if (withGradient && sharded) {
      *start->add_values() = tensor(norm, {}, plan::FLOAT64);
      start->add_norms(true);
    }
    entry(program, "sums", "backward")->mutable_wait()->set_id(2);
    auto *report = entry(program, "report", "backward")->mutable_report();
    report->set_name("loss");
    *report->mutable_value() = tensor(loss, {});
  }
  void backward(plan::Program *program) {
    auto *fill = entry(program, "padding", "backward")->mutable_fill();
    *fill->mutable_destination() = tensor(flat, {flatElements});
    auto *gemm = entry(program, "weight_grad", "backward")->mutable_gemm();
    *gemm->mutable_a() = tensor(logits, {batch, classes});
    gemm->set_transpose_a(true);
    *gemm->mutable_b() = tensor(input, {batch, features});
    *gemm->mutable_c() = tensor(flat, {classes, features});
    auto *launch = entry(program, "bias_grad", "backward")->mutable_launch();
    *launch->add_arguments() = tensor(logits, {batch, classes});
    *launch->add_arguments() =
        tensor(flat, {classes}, dtype, weights * sizeof(T));
    *launch->add_arguments() = tensor(rowCount, {}, plan::INT64);
    if (sharded) {
      auto *start = entry(program, "reduce_scatter", "backward")
                        ->mutable_reduce_scatter_start();
      start->set_id(1);
      *start->mutable_flat() = tensor(flat, {flatElements});
      *start->mutable_shard() = tensor(gradient, {flatElements / shards});
    } else {
      auto *start =
          entry(program, "all_reduce", "backward")->mutable_all_reduce_start();
      start->set_id(1);
      start->set_gradients(true);
      *start->add_values() = tensor(flat, {flatElements});
    }
    entry(program, "reduce", "backward")->mutable_wait()->set_id(1);
    auto *powers = entry(program, "norm", "backward")->mutable_gradient_norm();
    *powers->add_gradients() = tensor(gradient, {flatElements / shards});
    powers->add_slices(sharded ? 1 : plan.mesh().ranks());
    *powers->mutable_result() = tensor(norm, {}, plan::FLOAT64);
  }
  void train() {
    plan::Program *program = plan.mutable_train();
    lossAndReport(program, true);
    auto *report = entry(program, "report", "backward")->mutable_report();
    report->set_name("gradient_norm");
    *report->mutable_value() = tensor(norm, {}, plan::FLOAT64);
    auto *step = entry(program, "step", "optimizer")->mutable_optimizer_step();
    *step->mutable_gradient() = tensor(gradient, {flatElements / shards});
    *step->mutable_norm() = tensor(norm, {}, plan::FLOAT64);
  }
};

double inputValue(int64_t step, int64_t sample, int64_t i) {
  return std::sin(1.0 + step * 7 + sample * 3 + i);
}
int64_t labelOf(int64_t step, int64_t sample) {
  return (step + sample) % 5 == 0 ? -100 : (step + sample) % classes;
}
double initialValue(int64_t i) {
  return i < weights + classes ? std::cos(double(i)) / 2 : 0;
}
int64_t validLabels(int64_t step) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < globalBatch; ++sample)
    count += labelOf(step, sample) >= 0;
  return count;
}
StepNumbers numbersOf(int64_t step) {
  StepNumbers numbers;
  numbers.step = step + 1;
  numbers.learningRate = 0.05;
  numbers.clip = 0.3;
  return numbers;
}
constexpr double weightDecay = 0.1;
RankOptions optionsOf(bool profile) {
  RankOptions options;
  options.profile = profile;
  options.parameterNumbers.assign(2, {1, weightDecay});
  return options;
}

template <typename T> struct Run {
  std::vector<double> losses, norms, evalLosses;
  std::vector<T> parameters;

  bool operator==(const Run &) const = default;
};

template <typename T>
Run<T> train(int ranks, bool sharded, int workers, bool profile = false) {
  PlanBuilder<T> builder(ranks, sharded);
  KernelLibrary library = KernelLibrary::of({columnSums<T>});
  Run<T> result;
  result.parameters.resize(flatElements);
  runRanksAsThreads(ranks, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator,
                             optionsOf(profile), {workers, false, profile});
    const plan::Unit &unit = builder.plan.units(0);
    auto *parameters =
        reinterpret_cast<T *>(hostBytes(rank->parameterSlice(unit)).data());
    for (int64_t i = 0; i < rank->parameterSlice(unit).elements; ++i)
      parameters[i] = T(initialValue(rank->parameterSlice(unit).begin + i));
    communicator.barrier();
    for (int64_t step = 0; step < steps; ++step) {
      int64_t first = communicator.rank() * builder.batch;
      auto x = hostElements<T>(rank->tensor(
          builder.tensor(builder.input, {builder.batch, features})));
      auto labels = hostElements<int64_t>(rank->tensor(
          builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
      for (int64_t sample = 0; sample < builder.batch; ++sample) {
        for (int64_t i = 0; i < features; ++i)
          x[sample * features + i] = T(inputValue(step, first + sample, i));
        labels[sample] = labelOf(step, first + sample);
      }
      *reinterpret_cast<T *>(hostBytes(rank->buffer(builder.scale)).data()) =
          T(1.0 / validLabels(step));
      rank->runTrain(numbersOf(step));
      double loss = rank->reported("loss").value();
      double norm = rank->reported("gradient_norm").value();
      rank->runEval();
      if (communicator.rank() == 0) {
        result.losses.push_back(loss);
        result.norms.push_back(norm);
        result.evalLosses.push_back(rank->reported("loss").value());
        EXPECT_FALSE(rank->reported("gradient_norm"));
      }
    }
    std::vector<T> whole = wholeUnit<T>(*rank, unit, rank->masterSlice(unit));
    // The state stands beside the master weights, and has moved.
    for (int i = 0; i < unit.state_buffers_size(); ++i) {
      Slice slice = rank->stateSlice(unit, i);
      EXPECT_EQ(slice.begin, rank->masterSlice(unit).begin);
      ASSERT_EQ(slice.elements, rank->masterSlice(unit).elements);
      std::vector<T> values = wholeUnit<T>(*rank, unit, slice);
      EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                              [](T value) { return value != 0; }));
    }
    if (communicator.rank() == 0)
      result.parameters = whole;
    std::vector<int64_t> bytes = rank->allocatedBytes();
    for (int i = 0; i < builder.plan.pools_size(); ++i)
      EXPECT_EQ(bytes[i], i == 2 && sharded && ranks > 1
                              ? 0 // nothing is gathered
                              : builder.plan.pools(i).bytes());
    if (profile) {
      EXPECT_EQ(rank->trainProfile().runs, steps);
      EXPECT_EQ(rank->trainProfile().entrySeconds.size(),
                size_t(builder.plan.train().entries_size()));
      for (int64_t runs : rank->trainProfile().entryRuns)
        EXPECT_EQ(runs, steps);
      EXPECT_GT(rank->trainProfile().gemmSeconds, 0);
      EXPECT_GE(rank->trainProfile().seconds, rank->trainProfile().gemmSeconds);
    }
  });
  return result;
}

/// The same training in plain double loops, without ranks.
Run<double> reference() {
  Run<double> run;
  std::vector<double> p(flatElements), m(flatElements), v(flatElements);
  for (int64_t i = 0; i < flatElements; ++i)
    p[i] = initialValue(i);
  auto lossAndGradient = [&](int64_t step, std::vector<double> &g) {
    double loss = 0;
    g.assign(flatElements, 0);
    for (int64_t sample = 0; sample < globalBatch; ++sample) {
      int64_t label = labelOf(step, sample);
      if (label < 0)
        continue;
      double logits[classes], sum = 0;
      for (int64_t j = 0; j < classes; ++j) {
        logits[j] = p[weights + j];
        for (int64_t i = 0; i < features; ++i)
          logits[j] += p[j * features + i] * inputValue(step, sample, i);
        sum += std::exp(logits[j]);
      }
      loss += (std::log(sum) - logits[label]) / validLabels(step);
      for (int64_t j = 0; j < classes; ++j) {
        double d =
            (std::exp(logits[j]) / sum - (j == label)) / validLabels(step);
        g[weights + j] += d;
        for (int64_t i = 0; i < features; ++i)
          g[j * features + i] += d * inputValue(step, sample, i);
      }
    }
    return loss;
  };
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> g;
    run.losses.push_back(lossAndGradient(step, g));
    StepNumbers n = numbersOf(step);
    double norm = 0;
    for (double value : g)
      norm += value * value;
    run.norms.push_back(norm);
    double factor = std::min(1.0, n.clip / (std::sqrt(norm) + 1e-6));
    for (int64_t i = 0; i < weights + classes; ++i) {
      double gi = g[i] * factor;
      p[i] *= 1 - n.learningRate * weightDecay;
      m[i] += (1 - n.beta1) * (gi - m[i]);
      v[i] = n.beta2 * v[i] + (1 - n.beta2) * gi * gi;
      p[i] -= n.learningRate / (1 - std::pow(n.beta1, n.step)) * m[i] /
              (std::sqrt(v[i]) / std::sqrt(1 - std::pow(n.beta2, n.step)) +
               n.epsilon);
    }
    run.evalLosses.push_back(lossAndGradient(step, g));
  }
  run.parameters = p;
  return run;
}

template <typename T> class ExecutorOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ExecutorOf, Types);

TYPED_TEST(ExecutorOf, TrainsAsOneProcessWould) {
  using T = TypeParam;
  Run<double> expected = reference();
  double bound = sizeof(T) == 4 ? 2e-6 : 1e-13;
  for (int ranks : {1, 2, 3})
    for (bool sharded : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << ranks << " ranks, " << (sharded ? "full" : "none"));
      Run<T> run = train<T>(ranks, sharded, 1);
      for (int64_t step = 0; step < steps; ++step) {
        EXPECT_NEAR(run.losses[step], expected.losses[step], bound);
        EXPECT_NEAR(run.norms[step], expected.norms[step], bound);
        EXPECT_NEAR(run.evalLosses[step], expected.evalLosses[step], bound);
      }
      for (int64_t i = 0; i < flatElements; ++i)
        EXPECT_NEAR(run.parameters[i], expected.parameters[i], bound) << i;
    }
}

TYPED_TEST(ExecutorOf, ShardedOrNotHasTheSameBits) {
  using T = TypeParam;
  for (int ranks : {2, 3})
    EXPECT_EQ(train<T>(ranks, true, 1), train<T>(ranks, false, 1));
}

TYPED_TEST(ExecutorOf, ThreadsAndTimingDoNotChangeBits) {
  using T = TypeParam;
  Run<T> run = train<T>(2, true, 1);
  EXPECT_EQ(train<T>(2, true, 3), run);
  EXPECT_EQ(train<T>(2, true, 2, true), run);
}

TEST(Executor, GradientsAreSeenBeforeTheOptimizer) {
  PlanBuilder<double> builder(2, true);
  KernelLibrary library = KernelLibrary::of({columnSums<double>});
  std::vector<double> gradients(flatElements);
  runRanksAsThreads(2, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator, {});
    const plan::Unit &unit = builder.plan.units(0);
    int calls = 0;
    rank->setBeforeOptimizer([&] {
      ++calls;
      std::vector<double> whole =
          wholeUnit<double>(*rank, unit, rank->gradientSlice(0));
      if (communicator.rank() == 0)
        gradients = whole;
    });
    // All parameters are 0: the gradient of the bias is 1 / classes for each
    // class.
    *reinterpret_cast<double *>(hostBytes(rank->buffer(builder.scale)).data()) =
        1;
    auto labels = hostElements<int64_t>(rank->tensor(
        builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
    for (int64_t i = 0; i < builder.batch; ++i)
      labels[i] = i == 0 ? 2 : -100;
    rank->runTrain(numbersOf(0));
    rank->runEval();
    EXPECT_EQ(calls, 1);
  });
  for (int64_t j = 0; j < classes; ++j)
    EXPECT_NEAR(gradients[weights + j], 2 * (0.25 - (j == 2)), 1e-15);
}

TEST(Executor, ParametersThatAreNotTrainableStay) {
  PlanBuilder<float> builder(1, true);
  builder.plan.mutable_parameters(0)->set_trainable(false);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  runRanksAsThreads(1, [&](Communicator &communicator) {
    auto rank = makeHostRank(builder.plan, library, communicator, {});
    auto parameters = hostElements<float>(
        rank->tensor(builder.tensor(builder.parameters, {flatElements})));
    std::fill(parameters.begin(), parameters.end(), 1.f);
    *reinterpret_cast<float *>(hostBytes(rank->buffer(builder.scale)).data()) =
        1;
    rank->runTrain(numbersOf(0));
    for (int64_t i = 0; i < flatElements; ++i)
      EXPECT_EQ(parameters[i] == 1, i < weights || i >= weights + classes);
  });
}

/// What creating ranks of a broken plan says, and running them.
std::string failureOf(const std::function<void(PlanBuilder<float> &)> &breakIt,
                      int ranks = 2) {
  PlanBuilder<float> builder(ranks, true);
  breakIt(builder);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  try {
    runRanksAsThreads(ranks, [&](Communicator &communicator) {
      auto rank = makeHostRank(builder.plan, library, communicator, {});
      rank->runTrain({});
    });
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Executor, APlanThatDoesNotHoldTogetherIsRefusedByName) {
  EXPECT_EQ(failureOf([](auto &) {}), "");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_buffers(b.logits)->set_offset(640);
            }),
            "buffer logits at 640 of 48 bytes does not lie in its pool of 192 "
            "bytes at a multiple of 64");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_train()
                  ->mutable_entries(2)
                  ->mutable_gemm()
                  ->mutable_a()
                  ->set_shape(1, 2);
            }),
            "plan entry linear (train, forward): expects a product of float32 "
            "[3, 2] and float32 [4, 3] (transposed: 0, 1), got float32 [3, 4]");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_train()
                  ->mutable_entries(2)
                  ->mutable_gemm()
                  ->mutable_a()
                  ->set_shape(0, 300);
            }),
            "plan entry linear (train, forward): a float32 [300, 3] at byte 0 "
            "does not lie in buffer x of 36 bytes");
  EXPECT_EQ(
      failureOf([](auto &b) {
        b.plan.mutable_train()->mutable_entries(1)->mutable_wait()->set_id(9);
      }),
      "plan entry gather (train, forward): nothing starts collective 9");
  EXPECT_EQ(failureOf([](auto &b) {
              b.plan.mutable_buffers(b.workspace)->set_bytes(8);
              b.plan.mutable_train()
                  ->mutable_entries(3)
                  ->mutable_cross_entropy()
                  ->mutable_workspace()
                  ->set_shape(0, 8);
            }),
            "plan entry loss (train, forward): expects workspace of at least "
            "24 contiguous bytes, got 8");
  // Products of 16 bits: types that go together, and memory to convert in.
  auto half = [](auto &b, bool all) {
    plan::Gemm *gemm =
        b.plan.mutable_train()->mutable_entries(2)->mutable_gemm();
    gemm->mutable_a()->set_dtype(plan::BFLOAT16);
    if (!all)
      return;
    gemm->mutable_b()->set_dtype(plan::BFLOAT16);
    gemm->mutable_c()->set_dtype(plan::BFLOAT16);
    gemm->clear_bias();
  };
  EXPECT_EQ(failureOf([&](auto &b) { half(b, false); }),
            "plan entry linear (train, forward): expects b to be bfloat16, got "
            "float32 [4, 3]");
  EXPECT_EQ(failureOf([&](auto &b) { half(b, true); }),
            "plan entry linear (train, forward): expects workspace of at least "
            "28928 contiguous bytes, got 0");
  EXPECT_EQ(failureOf([](auto &b) { b.plan.mutable_mesh()->set_ranks(4); }),
            "the plan is for 4 ranks, the run has 2");
  EXPECT_EQ(failureOf([](auto &b) { b.plan.add_kernels(); }),
            "the plan has 2 kernels, the kernel library 1");
}

TEST(Executor, AFailureOfOneRankEndsAllAndNamesTheEntry) {
  PlanBuilder<float> builder(3, true);
  KernelLibrary library = KernelLibrary::of({columnSums<float>});
  try {
    runRanksAsThreads(3, [&](Communicator &communicator) {
      auto rank = makeHostRank(builder.plan, library, communicator, {});
      auto labels = hostElements<int64_t>(rank->tensor(
          builder.tensor(builder.labels, {builder.batch}, plan::INT64)));
      labels[1] = communicator.rank() == 1 ? 99 : 0;
      for (int step = 0; step < 100; ++step)
        rank->runTrain({});
    });
    FAIL() << "expects an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "plan entry loss (train, forward): label 99 in row 1 of the "
                 "labels is outside [0, 4) and is not the ignored -100");
  }
}

} // namespace
