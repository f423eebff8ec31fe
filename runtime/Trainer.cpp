// The training loop, as every rank runs it on its own thread.
#include "runtime/Trainer.h"

#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Evaluation.h"
#include "runtime/Summary.h"
#include "runtime/checkpoint/RankValues.h"
#include "runtime/data/LossScale.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/launch/Signals.h"
#include "runtime/metrics/Process.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

namespace {

/// What the ranks of this process share.
struct Team {
  std::vector<Rank *> ranks;
  bool interrupted = false; // written by the leader
};

class RankLoop {
public:
  RankLoop(Run &run, Team &team, Communicator &communicator);
  void operator()();

private:
  bool leads() const { return rank->rank() == 0; }
  void loadParameters();
  void exportGradients();
  /// False when the run was told to stop.
  bool loadBatch(int64_t step);
  /// `begin`: when the step did, its batch included.
  void step(int64_t step, double begin);
  void report(int64_t step, double loss, double squaredNorm, double seconds);
  void evaluate(int64_t stepsDone);
  void exportAll();
  void finish(int64_t steps, bool interrupted);

  Run &run;
  Team &team;
  Communicator &communicator;
  const plan::Plan &plan;
  std::unique_ptr<Rank> rank;
  SampleOrder order;
  std::optional<Evaluation> evaluation;
  std::optional<Console> console; // of the leader
  Summary summary;
};

RankLoop::RankLoop(Run &run, Team &team, Communicator &communicator)
    : run(run), team(team), communicator(communicator), plan(run.plan),
      order(run.data.samples(), run.settings.globalBatch, run.options.shuffle,
            run.options.seed) {
  RankOptions options;
  options.workers = run.settings.workers;
  options.spin = haveCoresFor(communicator.size(), options.workers);
  options.profile = run.metrics != nullptr;
  rank = Rank::create(plan, run.kernels, communicator, options);
  team.ranks[rank->rank()] = rank.get();
}

void RankLoop::operator()() {
  loadParameters();
  if (run.evalData)
    evaluation.emplace(plan, *run.evalData, *rank);
  if (leads())
    console.emplace(run.settings.steps, run.settings.unit);
  communicator.barrier();

  int64_t every = run.options.evalEvery, steps = run.settings.steps;
  int64_t done = 0;
  for (; done < steps; ++done) {
    if (every && done % every == 0)
      evaluate(done);
    double begin = monotonicSeconds();
    if (!loadBatch(done))
      break;
    step(done, begin);
  }
  bool interrupted = done < steps;
  if (!interrupted) {
    if (run.evalData)
      evaluate(done);
    exportAll();
  }
  if (leads()) {
    team.interrupted = interrupted;
    finish(done, interrupted);
  }
  communicator.barrier(); // the leader has read what the ranks hold
}

void RankLoop::finish(int64_t steps, bool interrupted) {
  console->finish();
  if (run.metrics)
    run.metrics->write(summary.json(plan, team.ranks, steps, interrupted));
  if (!interrupted)
    console->line(summary.text(run.settings.unit));
}

void RankLoop::loadParameters() {
  readInitialValues(plan, *rank, run.initialValues);
}

bool RankLoop::loadBatch(int64_t step) {
  const RunSettings &settings = run.settings;
  std::vector<int64_t> samples(settings.batch);
  for (int64_t i = 0; i < settings.batch; ++i)
    samples[i] = order.sampleAt(step, rank->rank() * settings.batch + i);
  int64_t valid = 0;
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const plan::Input &input = plan.inputs(i);
    if (!isGiven(input))
      continue;
    auto *destination = static_cast<std::byte *>(rank->data(input.tensor()));
    run.data.load(i, samples, destination);
    if (plan.loss().kind() == "cross_entropy" && &input == labelsOf(plan))
      valid = countValidLabels(plan.loss(), input.tensor(), destination);
  }
  // All ranks agree on the count and on whether to go on.
  int64_t agreed[2] = {valid, stopSignal() != 0};
  Segment segment{agreed, 2, plan::INT64};
  communicator.allReduce({&segment, 1}, rank->pool());
  if (agreed[1])
    return false;
  writeScale(lossScale(plan, agreed[0]), plan.loss().scale_dtype(),
             rank->buffer(plan.loss().scale_buffer()).data());
  return true;
}

void RankLoop::step(int64_t step, double begin) {
  StepNumbers numbers = run.settings.numbers;
  numbers.step = step + 1;
  numbers.learningRate = run.settings.schedule.learningRate(step);
  if (step == 0 && run.gradients)
    rank->setBeforeOptimizer([&] { exportGradients(); });
  rank->runTrain(numbers);
  if (step == 0 && run.gradients)
    rank->setBeforeOptimizer({});

  double loss = rank->reported("loss").value_or(NAN);
  std::optional<double> squaredNorm = rank->reported("squared_norm");
  if (!std::isfinite(loss))
    fail("the loss of step ", step, " (counting from 0) is ", loss,
         "; nothing was exported");
  if (squaredNorm && !std::isfinite(*squaredNorm))
    fail("the gradient norm of step ", step, " (counting from 0) is ",
         std::sqrt(*squaredNorm), " at a loss of ", loss,
         "; nothing was exported");
  if (leads())
    report(step, loss, squaredNorm.value_or(NAN), monotonicSeconds() - begin);
}

void RankLoop::report(int64_t step, double loss, double squaredNorm,
                      double seconds) {
  if (step == 0)
    summary.secondsToFirstStep = secondsSinceProcessStart();
  summary.loss = loss;
  double units = static_cast<double>(run.settings.globalBatch *
                                     run.settings.unitsPerSample);
  StepFigures figures;
  figures.step = step;
  figures.loss = loss;
  figures.gradientNorm = std::sqrt(squaredNorm);
  figures.learningRate = run.settings.schedule.learningRate(step);
  figures.seconds = seconds;
  figures.perSecond = units / seconds;
  summary.trainSeconds += seconds;
  summary.trainUnits += units;
  console->step(figures);
  if (!run.metrics)
    return;
  run.metrics->write({{"step", step},
                      {"loss", loss},
                      {"grad_norm", figures.gradientNorm},
                      {"learning_rate", figures.learningRate},
                      {run.settings.unit + "_per_second", figures.perSecond},
                      {"step_seconds", seconds}});
}

void RankLoop::evaluate(int64_t stepsDone) {
  double begin = monotonicSeconds();
  double loss = evaluation->loss();
  if (!std::isfinite(loss))
    fail("the loss of the evaluation after step ", stepsDone, " is ", loss,
         "; nothing was exported");
  if (!leads())
    return;
  summary.evalLoss = loss;
  console->line(concat("eval after step ", stepsDone, ": loss ", loss));
  if (run.metrics)
    run.metrics->write({{"event", "eval"},
                        {"step", stepsDone},
                        {"loss", loss},
                        {"samples", run.evalData->samples()},
                        {"seconds", monotonicSeconds() - begin}});
}

/// Between two barriers: all ranks have come here, and none goes on before the
/// leader has read their slices.
void RankLoop::exportGradients() {
  communicator.barrier();
  if (leads()) {
    ShardedParameters gradients = summedGradients(plan, team.ranks);
    run.gradients->write(gradients);
  }
  communicator.barrier();
}

void RankLoop::exportAll() {
  communicator.barrier();
  if (leads()) {
    ShardedParameters trained =
        trainedParameters(plan, team.ranks, run.initialValues);
    if (run.parameters)
      run.parameters->write(trained);
    if (run.onnx)
      run.onnx->write(trained);
  }
  communicator.barrier();
}

} // namespace

int train(Run &run) {
  int ranks = static_cast<int>(run.plan.mesh().ranks());
  Team team{std::vector<Rank *>(ranks)};
  runRanksAsThreads(ranks, [&](Communicator &communicator) {
    RankLoop(run, team, communicator)();
  });
  return team.interrupted ? stopSignal() : 0;
}

} // namespace shardc::runtime
