// The same samples, the same parameters: the same numbers, looked at one entry
// after the other.
#include "runtime/train/StepAgain.h"

#include "runtime/base/EntryText.h"
#include "runtime/base/Text.h"
#include "runtime/train/Draws.h"
#include "runtime/train/RunningWeights.h"

#include <cmath>

namespace shardc::runtime {

/// A run whose loss scale cannot become smaller ends after so many skipped
/// steps in a row.
static constexpr int64_t mostSkippedSteps = 20;

static std::vector<int64_t> samplesOf(const Run &run, SampleOrder &order,
                                      const Cursor &begin, int64_t microBatch,
                                      int rank) {
  int64_t first =
      (microBatch * run.plan.mesh().ranks() + rank) * run.settings.batch;
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < run.settings.batch; ++i)
    samples.push_back(order.sampleAt(begin, first + i));
  return samples;
}

static std::string listText(const std::vector<int64_t> &numbers) {
  constexpr size_t most = 16;
  std::string text;
  for (size_t i = 0; i < std::min(most, numbers.size()); ++i)
    text += concat(i ? ", " : "", numbers[i]);
  return numbers.size() > most ? concat(text, ", ... (", numbers.size(), ")")
                               : text;
}

void requireFinite(Run &run, Rank &rank, BatchLoader &loader,
                   const LossScaler &scaler, const StepOutcome &outcome,
                   const PastStep &step) {
  if (scaler.skippedAtMinimum() >= mostSkippedSteps)
    fail("the loss or the gradients of ", mostSkippedSteps,
         " steps up to step ", step.number,
         " (counting from 0) were not finite at the loss scale ",
         numberText(outcome.lossScale), ", the smallest allowed; ",
         exportedText(run));
  if (outcome.skipped && scaler.skips())
    return;
  auto is = [&](const char *what, double number) {
    return concat("the ", what, " of step ", step.number,
                  " (counting from 0) is ", numberText(number));
  };
  if (!std::isfinite(outcome.loss))
    failInStep(run, rank, loader, step, is("loss", outcome.loss));
  if (!rank.gradientNorm() || std::isfinite(outcome.gradientNorm))
    return;
  std::string what = is("gradient norm", outcome.gradientNorm) +
                     " at a loss of " + numberText(outcome.loss);
  // A step that has changed parameters would not be the same again.
  if (!outcome.skipped)
    fail(what,
         ", which backward had updated units by (--update backward); a trainer "
         "that shardc compiles with --update step leaves them as they are, and "
         "says where it is from; ",
         exportedText(run));
  failInStep(run, rank, loader, step, what);
}

void failInStep(Run &run, Rank &rank, BatchLoader &loader, PastStep step,
                const std::string &what) {
  SampleOrder order(run.settings.samples, run.settings.globalBatch,
                    run.options.order, run.settings.batch,
                    run.plan.mesh().ranks());
  auto samplesIn = [&](int64_t microBatch) {
    return samplesOf(run, order, step.begin, microBatch, rank.rank());
  };
  for (int64_t i = 0; i < step.numbers.microBatches; ++i)
    if (std::string wrong = run.data.notFiniteText(samplesIn(i));
        !wrong.empty())
      fail(what, ": ", wrong, "; ", exportedText(run));
  if (!run.checksEntries)
    fail(what, "; ", exportedText(run));
  Communicator &communicator = rank.communicator();
  // Nobody is in the step as it was any more.
  communicator.barrier();
  *run.checksEntries = true;
  for (int64_t i = 0; i < step.numbers.microBatches; ++i) {
    std::vector<int64_t> samples = samplesIn(i);
    loader.load(run.data, samples, step.lossScale(i));
    loadDraws(run.plan, run.settings, rank.rank(), step.number, i, loader);
    loadRunningWeights(run.plan, step.numbers.microBatches, i, loader);
    step.numbers.microBatch = i;
    try {
      rank.runTrain(step.numbers);
    } catch (const Aborted &) {
      throw;
    } catch (const Error &error) {
      // What ran last is what was looked at.
      int entry = communicator.note().value().entry();
      std::string nodes =
          entry < 0 ? "" : nodesText(run.plan.train().entries(entry));
      fail(what, ": run again, ", error.what(), "; ", nodes,
           nodes.empty() ? "" : ", ", "rank ", rank.rank(), ", samples ",
           listText(samples), "; ", exportedText(run));
    }
  }
  fail(what,
       "; run again with what each entry makes looked at, none made a number "
       "that is not finite; ",
       exportedText(run));
}

} // namespace shardc::runtime
