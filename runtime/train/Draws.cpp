// The words that a run writes for the ops that draw.
#include "runtime/train/Draws.h"

#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "runtime/base/Regex.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace shardc::runtime {

bool drawsMasks(const plan::Plan &plan) {
  return std::ranges::any_of(plan.draws().sites(), [](const auto &site) {
    return !site.draws_numbers();
  });
}

bool drawsNumbers(const plan::Plan &plan) {
  return std::ranges::any_of(plan.draws().sites(), [](const auto &site) {
    return site.draws_numbers();
  });
}

std::vector<double> resolveDropoutRates(const Options &options,
                                        const plan::Plan &plan) {
  std::vector<double> rates;
  std::vector<bool> isTaken(plan.draws().sites_size());
  for (const plan::Draws::Site &site : plan.draws().sites())
    rates.push_back(options.dropout ? site.rate() : 0);
  for (const DropoutRateOption &option : options.dropoutRates) {
    Regex regex(option.match);
    bool isFound = false;
    for (size_t i = 0; i < rates.size(); ++i) {
      const plan::Draws::Site &site = plan.draws().sites(int(i));
      if (site.draws_numbers() || !regex.isFoundIn(site.name()))
        continue;
      isFound = true;
      if (!isTaken[i])
        rates[i] = option.rate;
      isTaken[i] = true;
    }
    if (!isFound)
      fail("--dropout-rate match=", option.match,
           " is found in the name of no dropout; the first is named '",
           std::ranges::find_if(
               plan.draws().sites(),
               [](const auto &site) { return !site.draws_numbers(); })
               ->name(),
           "'");
  }
  return rates;
}

static std::string sitesText(int64_t sites) {
  return concat(sites, sites == 1 ? " site" : " sites");
}

std::string drawsText(const plan::Plan &plan,
                      const std::vector<double> &rates) {
  std::map<double, int64_t> sitesOf;
  int64_t numbers = 0;
  for (size_t i = 0; i < rates.size(); ++i)
    if (plan.draws().sites(static_cast<int>(i)).draws_numbers())
      ++numbers;
    else
      ++sitesOf[rates[i]];
  std::string text;
  for (auto [rate, sites] : sitesOf)
    text += concat(text.empty() ? "dropout: " : ", ", numberText(rate), " at ",
                   sitesText(sites));
  if (numbers)
    text += concat(text.empty() ? "" : "; ", "numbers at ", sitesText(numbers));
  return text;
}

/// Of 2^32 words, read as signed ones, rate * 2^32 are below it.
static int32_t thresholdOf(double rate) {
  const double below = std::ldexp(rate, 32) - std::ldexp(1, 31);
  return static_cast<int32_t>(std::min<double>(
      std::nearbyint(below), std::numeric_limits<int32_t>::max()));
}

/// "drop": what other draws of the seed do not have in their counters.
constexpr uint32_t dropoutTag = 0x64726F70;

static uint32_t low(uint64_t bits) { return static_cast<uint32_t>(bits); }

std::vector<int32_t> drawWords(const std::vector<double> &rates, uint64_t seed,
                               int64_t step, int64_t firstSample) {
  const auto number = static_cast<uint64_t>(step);
  auto word = [](uint64_t bits) { return std::bit_cast<int32_t>(low(bits)); };
  std::vector<int32_t> words;
  for (size_t site = 0; site < rates.size(); ++site) {
    const double rate = rates[site];
    auto bits = philox4x32({low(number), low(number >> 32),
                            static_cast<uint32_t>(site), dropoutTag},
                           {low(seed), low(seed >> 32)});
    // Nothing is kept at a rate of 1, but for one word of 2^32 of which
    // nothing is left.
    const auto scale = std::bit_cast<uint64_t>(rate < 1 ? 1 / (1 - rate) : 0.0);
    for (uint64_t each : {static_cast<uint64_t>(firstSample), uint64_t{bits[0]},
                          uint64_t{bits[1]},
                          uint64_t{std::bit_cast<uint32_t>(thresholdOf(rate))},
                          scale, scale >> 32, uint64_t{0}, uint64_t{0}})
      words.push_back(word(each));
  }
  return words;
}

void loadDraws(const plan::Plan &plan, const RunSettings &settings, int rank,
               int64_t step, int64_t microBatch, BatchLoader &loader) {
  if (!plan.has_draws())
    return;
  const int64_t first =
      (microBatch * plan.mesh().ranks() + rank) * settings.batch;
  loader.loadDraws(
      drawWords(settings.dropoutRates, settings.seed, step, first));
}

void loadDrawsOfEvaluation(const plan::Plan &plan, const RunSettings &settings,
                           int64_t firstSample, BatchLoader &loader) {
  constexpr int64_t noStep = -1;
  if (drawsNumbers(plan))
    loader.loadDraws(
        drawWords(settings.dropoutRates, settings.seed, noStep, firstSample));
}

} // namespace shardc::runtime
