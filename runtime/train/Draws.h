// What the ops of a plan draw from: a step's numbers, the same on every mesh.
#ifndef SHARDC_RUNTIME_TRAIN_DRAWS_H
#define SHARDC_RUNTIME_TRAIN_DRAWS_H

#include "runtime/train/BatchLoader.h"
#include "runtime/train/RunSettings.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Whether training drops anything.
bool drawsMasks(const plan::Plan &plan);
/// Whether the programs draw numbers, which evaluations need too.
bool drawsNumbers(const plan::Plan &plan);

/// By site of the plan: the rate that holds, as the plan, --dropout and
/// --dropout-rate say; 0 where numbers are drawn. Throws an Error for a regex
/// that is found in no name of a dropout.
std::vector<double> resolveDropoutRates(const Options &options,
                                        const plan::Plan &plan);

/// "dropout: 0.1 at 25 sites; numbers at 2 sites", of any rates; empty where
/// there are no sites.
std::string drawsText(const plan::Plan &plan, const std::vector<double> &rates);

/// The words of a rank in a micro-batch, for the buffer of plan.draws:
/// `firstSample` is the number of its first sample in the step's batch. `step`
/// counts from 0, with those that were skipped. A site's key is a draw of
/// (seed, step, site); an element is kept where a signed word of 32 random bits
/// is at least the threshold (docs/randomness.md).
std::vector<int32_t> drawWords(const std::vector<double> &rates, uint64_t seed,
                               int64_t step, int64_t firstSample);

/// The same, given to a rank before the micro-batch; nothing where the plan
/// draws nothing.
void loadDraws(const plan::Plan &plan, const RunSettings &settings, int rank,
               int64_t step, int64_t microBatch, BatchLoader &loader);

/// The same before a batch of an evaluation that begins with sample
/// `firstSample` of it. Every evaluation draws the same numbers, which no step
/// draws.
void loadDrawsOfEvaluation(const plan::Plan &plan, const RunSettings &settings,
                           int64_t firstSample, BatchLoader &loader);

} // namespace shardc::runtime

#endif
