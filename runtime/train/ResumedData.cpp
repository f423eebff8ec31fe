// Samples, their order, their mixture, their files: from what a refusal cannot
// be mistaken in to what may be a copy.
#include "runtime/train/ResumedData.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/data/Fingerprint.h"

#include <vector>

namespace shardc::runtime {

static std::string orderText(const OrderSettings &settings) {
  if (!settings.shuffle)
    return "no --shuffle";
  return concat(
      settings.sampler == Sampler::Torch ? "--sampler torch" : "--shuffle",
      settings.padsLast ? " --last-batch pad" : "", " --seed ", settings.seed);
}

static std::vector<MixturePart> mixtureOf(const Dataset &data) {
  return data.mixture() ? data.mixture()->made() : std::vector<MixturePart>();
}

static bool isSameMixture(const Dataset &data,
                          const std::vector<MixturePart> &before) {
  if (!data.mixture() || before.empty())
    return !data.mixture() && before.empty();
  std::vector<int64_t> sizes;
  std::vector<double> weights;
  for (const MixturePart &part : before) {
    sizes.push_back(part.samples);
    weights.push_back(part.weight);
  }
  return Mixture("--data", sizes, weights) == *data.mixture();
}

/// Why other samples would come than the run that was saved would take; empty:
/// the same, as far as numbers tell.
static std::string difference(const Options &options, const Dataset &data,
                              const Manifest &saved) {
  auto mixture = [](const std::vector<MixturePart> &parts) {
    return parts.empty() ? "no mixture" : "a mixture of " + mixtureText(parts);
  };
  if (!isSameMixture(data, saved.mixture))
    return concat("the run that was saved took its samples from ",
                  mixture(saved.mixture), ", and this one from ",
                  mixture(mixtureOf(data)));
  if (data.samples() != saved.samples)
    return concat("--data has ", data.samples(),
                  " samples, and the run that was saved had ", saved.samples);
  if (orderText(options.order) != orderText(saved.order))
    return concat("the run that was saved took its samples with ",
                  orderText(saved.order), ", and this one with ",
                  orderText(options.order));
  return "";
}

ResumedData ResumedData::of(const Options &options, const Dataset &data,
                            const Manifest &saved) {
  ResumedData met;
  if (std::string why = difference(options, data, saved); !why.empty()) {
    if (!options.newData)
      fail(why, "; give what it had, or --new-data to begin this data at its "
                "first sample");
    met.isNew = true;
    return met;
  }
  std::string names;
  for (const auto &[name, fingerprint] : fingerprintsOf(data))
    if (auto before = saved.data.find(name);
        before != saved.data.end() && before->second != fingerprint)
      names += (names.empty() ? "" : ", ") + name;
  met.isSame = names.empty();
  if (met.isSame)
    return met;
  met.isNew = options.newData;
  if (!met.isNew)
    met.warning = concat("--data ", names,
                         " is not what the run was saved with; it goes on "
                         "behind sample ",
                         saved.progress.cursor.position,
                         " of an epoch of it, and --new-data would begin it");
  return met;
}

Manifest withNewData(Manifest saved, const Options &options,
                     const Dataset &data) {
  saved.progress.cursor = {};
  saved.progress.globalBatch = 0;
  saved.samples = data.samples();
  saved.order = options.order;
  saved.mixture = mixtureOf(data);
  return saved;
}

} // namespace shardc::runtime
