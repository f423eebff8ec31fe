// The same samples, the same parameters: the same numbers, looked at one entry
// after the other.
#include "runtime/train/StepAgain.h"

#include "runtime/base/EntryText.h"
#include "runtime/train/Draws.h"
#include "runtime/train/RunningWeights.h"

namespace shardc::runtime {

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

void failInStep(Run &run, Rank &rank, BatchLoader &loader, PastStep step,
                const std::string &what) {
  if (!run.checksEntries)
    fail(what, "; ", exportedText(run));
  Communicator &communicator = rank.communicator();
  // Nobody is in the step as it was any more.
  communicator.barrier();
  *run.checksEntries = true;
  SampleOrder order(run.settings.samples, run.settings.globalBatch,
                    run.options.order, run.settings.batch,
                    run.plan.mesh().ranks());
  for (int64_t i = 0; i < step.numbers.microBatches; ++i) {
    std::vector<int64_t> samples =
        samplesOf(run, order, step.begin, i, rank.rank());
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
