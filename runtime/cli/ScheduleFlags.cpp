// The flags of the learning rate and its schedule.
#include "runtime/cli/ScheduleFlags.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/flags/Given.h"

#include <algorithm>
#include <vector>

namespace shardc::runtime::cli {

using Kind = Schedule::Kind;
using Shape = Schedule::Shape;

static const std::vector<std::pair<std::string, Kind>> kinds = {
    {"constant", Kind::Constant},
    {"linear", Kind::Linear},
    {"cosine", Kind::Cosine},
    {"polynomial", Kind::Polynomial},
    {"cosine_with_restarts", Kind::CosineWithRestarts},
    {"inverse_sqrt", Kind::InverseSqrt},
    {"warmup_stable_decay", Kind::WarmupStableDecay},
    {"reduce_lr_on_plateau", Kind::ReduceOnPlateau}};

static const std::vector<std::pair<std::string, Shape>> shapes = {
    {"linear", Shape::Linear},
    {"cosine", Shape::Cosine},
    {"1-sqrt", Shape::OneMinusSqrt}};

void declareSchedule(FlagTable &flags, Options &options) {
  flags.number("--lr", options.learningRate, notNegative,
               "learning rate [0.001]");
  ScheduleOptions &schedule = options.schedule;
  flags.value("--schedule", "NAME",
              "constant, linear, cosine, polynomial, cosine_with_restarts, "
              "inverse_sqrt, warmup_stable_decay or reduce_lr_on_plateau, "
              "after the warm-up, as transformers.get_scheduler has them "
              "[constant]",
              [&](const std::string &name, const std::string &text) {
                schedule.kind = parseChoice<Kind>(name, text, kinds);
              });
  flags.integer("--warmup-steps", schedule.warmupSteps, 0,
                "steps over which the learning rate rises [0]");
  flags.number("--warmup-ratio", schedule.warmupRatio, factor,
               "instead of --warmup-steps: their part of the schedule's "
               "steps, rounded up");
  flags.number("--warmup-start-factor", schedule.warmupStartFactor, factor,
               "the rise begins at this part of --lr [0; of "
               "warmup_stable_decay --min-lr / --lr]");
  auto shape = [&](const char *flag, Shape &target, const char *help) {
    flags.value(flag, "NAME", help,
                [&](const std::string &name, const std::string &text) {
                  target = parseChoice<Shape>(name, text, shapes);
                });
  };
  shape("--warmup-shape", schedule.warmupShape,
        "linear, cosine or 1-sqrt [linear]");
  flags.number("--min-lr", schedule.minimum, notNegative,
               "where a schedule ends that falls [0]");
  flags.number("--min-lr-ratio", schedule.minimumRatio, factor,
               "instead of --min-lr: its part of --lr");
  flags.integer(
      "--total-steps", schedule.totalSteps, 1,
      "steps of the schedule, where they differ from the run's [--steps]");
  flags.number("--lr-power", schedule.power, positive, "of polynomial [1]");
  flags.number("--num-cycles", schedule.cycles, positive,
               "waves of a cosine; cosine_with_restarts: how often it falls "
               "[0.5; 1 of cosine_with_restarts]");
  flags.integer("--timescale", schedule.timescale, 1,
                "of inverse_sqrt, in steps [--warmup-steps, 10000 without]");
  flags.integer("--stable-steps", schedule.stableSteps, 0,
                "of warmup_stable_decay: steps at --lr [--total-steps less "
                "--warmup-steps and --decay-steps]");
  flags.integer("--decay-steps", schedule.decaySteps, 0,
                "of warmup_stable_decay: steps of its decay");
  shape("--decay-shape", schedule.decayShape,
        "of warmup_stable_decay: linear, cosine or 1-sqrt [cosine]");
  Plateau::Settings &plateau = schedule.plateau;
  flags.number("--plateau-factor", plateau.factor, factor,
               "of reduce_lr_on_plateau: what the learning rate is multiplied "
               "by where evaluations get no better [0.1]");
  flags.integer("--plateau-patience", plateau.patience, 0,
                "of reduce_lr_on_plateau: evaluations in a row that may be no "
                "better before [10]");
  flags.number("--plateau-threshold", plateau.threshold, factor,
               "of reduce_lr_on_plateau: the part of the best value by which a "
               "better one is better [0.0001]");
  flags.integer("--plateau-cooldown", plateau.cooldown, 0,
                "of reduce_lr_on_plateau: evaluations behind a fall that do "
                "not count [0]");
}

namespace {

/// A flag, and the schedules that use it.
struct Use {
  const char *flag;
  std::vector<Kind> kinds;
};

const std::vector<Kind> falling = {Kind::Linear, Kind::Cosine, Kind::Polynomial,
                                   Kind::CosineWithRestarts,
                                   Kind::WarmupStableDecay};

const std::vector<Kind> withMinimum = {Kind::Linear,
                                       Kind::Cosine,
                                       Kind::Polynomial,
                                       Kind::CosineWithRestarts,
                                       Kind::WarmupStableDecay,
                                       Kind::ReduceOnPlateau};

const std::vector<Use> uses = {
    {"--min-lr", withMinimum},
    {"--min-lr-ratio", withMinimum},
    {"--total-steps", falling},
    {"--lr-power", {Kind::Polynomial}},
    {"--num-cycles",
     {Kind::Cosine, Kind::CosineWithRestarts, Kind::WarmupStableDecay}},
    {"--timescale", {Kind::InverseSqrt}},
    {"--stable-steps", {Kind::WarmupStableDecay}},
    {"--decay-steps", {Kind::WarmupStableDecay}},
    {"--decay-shape", {Kind::WarmupStableDecay}},
    {"--plateau-factor", {Kind::ReduceOnPlateau}},
    {"--plateau-patience", {Kind::ReduceOnPlateau}},
    {"--plateau-threshold", {Kind::ReduceOnPlateau}},
    {"--plateau-cooldown", {Kind::ReduceOnPlateau}}};

std::string nameOf(Kind kind) {
  return std::ranges::find(kinds, kind,
                           [](const auto &of) { return of.second; })
      ->first;
}

std::string namesOf(const std::vector<Kind> &of) {
  std::string text;
  for (size_t i = 0; i < of.size(); ++i)
    text += concat(i == 0              ? ""
                   : i + 1 < of.size() ? ", "
                                       : " or ",
                   nameOf(of[i]));
  return text;
}

} // namespace

void checkSchedule(const Options &options) {
  const ScheduleOptions &schedule = options.schedule;
  auto given = [&](const char *flag) { return options.given.contains(flag); };
  for (const char *flag : {"--warmup-start-factor", "--warmup-shape"})
    if (given(flag) && !given("--warmup-steps") && !given("--warmup-ratio"))
      fail(placeOf(options.given, flag), flag,
           " has no effect without --warmup-steps or --warmup-ratio");
  if (given("--warmup-steps") && given("--warmup-ratio"))
    fail("--warmup-steps and --warmup-ratio exclude each other");
  for (const Use &use : uses) {
    bool isOff = use.flag == std::string("--min-lr") && schedule.minimum == 0;
    if (given(use.flag) && !isOff &&
        std::ranges::find(use.kinds, schedule.kind) == use.kinds.end())
      fail(placeOf(options.given, use.flag), use.flag,
           " has no effect with --schedule ", nameOf(schedule.kind), "; use ",
           namesOf(use.kinds));
  }
  if (given("--min-lr") && given("--min-lr-ratio"))
    fail("--min-lr and --min-lr-ratio exclude each other");
  if (schedule.minimum > options.learningRate)
    fail("--min-lr ", schedule.minimum, " is above --lr ",
         options.learningRate);
  double cycles = schedule.cycles.value_or(1);
  if (schedule.kind == Kind::CosineWithRestarts && cycles != int64_t(cycles))
    fail("--num-cycles of cosine_with_restarts expects a whole number, got ",
         numberText(cycles));
  if (schedule.kind == Kind::ReduceOnPlateau && !options.evalEvery.isGiven())
    fail("--schedule reduce_lr_on_plateau needs --eval-every");
  if (schedule.plateau.factor == 1)
    fail(placeOf(options.given, "--plateau-factor"),
         "--plateau-factor expects a number below 1, got 1");
  if (schedule.kind != Kind::WarmupStableDecay)
    return;
  if (!schedule.decaySteps)
    fail("--schedule warmup_stable_decay needs --decay-steps");
  if (schedule.stableSteps && given("--total-steps"))
    fail("--total-steps has no effect with --stable-steps");
  if (given("--num-cycles") && schedule.decayShape != Shape::Cosine)
    fail("--num-cycles has no effect without --decay-shape cosine");
}

} // namespace shardc::runtime::cli
