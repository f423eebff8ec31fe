// The flags of checkpoints, and of a run that goes on.
#include "runtime/cli/CheckpointFlags.h"

#include "runtime/base/Error.h"
#include "runtime/cli/ParseSteps.h"

namespace shardc::runtime::cli {

static CheckpointEvery parseCheckpointEvery(const std::string &flag,
                                            const std::string &text) {
  CheckpointEvery every;
  char unit = text.empty() ? ' ' : text.back();
  if (unit == 's' || unit == 'm' || unit == 'h')
    every.seconds = parseDuration(flag, text);
  else
    parseStepsOrEpochs(flag, text, every.steps, every.epochs);
  return every;
}

void declareCheckpoints(FlagTable &flags, Options &options) {
  flags.group("Checkpoints");
  flags
      .path("--checkpoint-dir", options.checkpointDir, "DIR",
            "save the run in folders DIR/step-00001000: when it ends, when a "
            "signal or --time-limit stops it, and as --checkpoint-every says. "
            "PyTorch's distributed checkpoints read them")
      .isLocal = true;
  flags.value("--checkpoint-every", "N|Nm|Ne",
              "steps, minutes (also Ns, Nh) or epochs from one checkpoint to "
              "the next",
              [&](const std::string &name, const std::string &text) {
                options.checkpointEvery = parseCheckpointEvery(name, text);
              });
  flags.integer("--checkpoint-keep", options.checkpointKeep, 1,
                "remove all but the last N checkpoints [keep all]");
  flags.value("--keep-best", "METRIC|min:METRIC",
              "save the run behind each evaluation that is the best so far by "
              "eval_loss, accuracy or a metric of --eval-command, and keep the "
              "last of these beside the N; DIR/best leads to it",
              [&](const std::string &name, const std::string &text) {
                bool isLess = text.starts_with("min:");
                std::string metric = text.substr(isLess ? 4 : 0);
                if (metric.empty())
                  fail(name, " expects eval_loss, accuracy or another metric, "
                             "got nothing");
                options.keepBest = {metric, isLess || metric == "eval_loss"};
              });
  flags.toggle("--export-best", options.exportBest,
               "export, and predict by, what the checkpoint of --keep-best has "
               "[what the run ends with]");
  flags.toggle("--checkpoint-sync", options.checkpointSync,
               "wait for each checkpoint [it is written while the next step "
               "runs, and what is left then is copied]");
  flags
      .value("--resume", "auto|none|PATH",
             "auto: go on from the last checkpoint in --checkpoint-dir that is "
             "whole, or begin anew where there is none; none: begin anew, the "
             "checkpoints that are there go to DIR/earlier-N; PATH: a "
             "checkpoint, of any mesh and strategy",
             [&](const std::string &name, const std::string &text) {
               if (text.empty())
                 fail(name, " expects auto, none or a path, got nothing");
               options.resume = text;
             })
      .isLocal = true;
  flags.toggle("--new-data", options.newData,
               "with --resume: --data may be other data than the checkpoint's, "
               "or in another order; it is begun at its first sample then");
  flags.value("--time-limit", "N[smh]",
              "save and stop after so many seconds, minutes (Nm) or hours (Nh)",
              [&](const std::string &name, const std::string &text) {
                options.timeLimit = parseDuration(name, text);
              });
}

} // namespace shardc::runtime::cli
