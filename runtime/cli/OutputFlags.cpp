// The flags of what a run prints and writes.
#include "runtime/cli/OutputFlags.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/cli/CheckOptions.h"
#include "runtime/cli/ParseGroups.h"

namespace shardc::runtime::cli {

void declareOutput(FlagTable &flags, Options &options) {
  flags.group("Output", /*isLocal=*/true);
  flags.integer("--print-every", options.printEvery, 0,
                "steps from one that the console has a line of to the next; "
                "the last has one, too; 0: none have, but what is evaluated, "
                "saved and wrong; default: all, of more than 100 one a second "
                "(hf: all), on a terminal none beside its bar");
  flags.path(
      "--metrics", options.metrics, "FILE.jsonl",
      "a JSON object per step and evaluation, and a last one with a summary; "
      "an earlier run's file is kept as FILE.jsonl.1");
  flags.path("--log-samples", options.logSamples, "FILE.jsonl",
             "a JSON object per step: the samples that each rank has taken in "
             "each micro-batch; an earlier run's file is kept as FILE.jsonl.1");
  flags.number("--peak-tflops", options.peakTeraflops, positive,
               "what a rank could compute, in TFLOP/s: --metrics says what it "
               "does, and which part of that (MFU)");
  flags.value("--log-format", "text|bar|hf",
              "what the console shows; hf: the lines of Hugging Face's Trainer "
              "[a bar on a terminal, else text]",
              [&](const std::string &name, const std::string &text) {
                options.logFormat =
                    parseChoice<LogFormat>(name, text,
                                           {{"text", LogFormat::Text},
                                            {"bar", LogFormat::Bar},
                                            {"hf", LogFormat::Hf}});
              });
  flags.path("--tensorboard", options.tensorboard, "DIR",
             "an event file in DIR, which TensorBoard shows");
  flags.path("--prometheus", options.prometheus, "FILE.prom",
             "the last step's figures, for node_exporter's textfile collector");
  flags.path("--html", options.html, "FILE.html",
             "a page with the run's curves, memory and time, written anew "
             "every minute and at the end; it needs no network, and shows "
             "another run's page or --metrics beside it");
  flags.toggle("--check-finite", options.checkFinite,
               "look at every number that the plan computes, and stop at the "
               "first NaN or inf, with the plan entry that made it; slow");
  flags
      .integer("--check", options.check, 1,
               "run every Nth step again by one rank that holds everything, "
               "and stop where a bit of loss, norm, parameters or states is "
               "another (needs shardc --checkable)")
      .isLocal = false;
  flags.path("--hash-entries", options.hashEntries, "DIR",
             "a file for each rank in DIR: hashes of what each plan entry has "
             "read and written, for shardc diff of two runs; slow");
  flags.integer("--hash-steps", options.hashSteps, 1,
                "steps whose entries --hash-entries hashes, from the run's "
                "first on [1]");
  flags.toggle("--profile", options.profile,
               "print at the end where the time of a step goes, by kind of "
               "work");
  flags.path("--trace", options.trace, "FILE.json",
             "what every rank did when, for Perfetto and chrome://tracing");
  flags.integer("--trace-steps", options.traceSteps, 1,
                "steps that are traced, behind the first two where the run has "
                "as many [3]");
  flags.path("--export-safetensors", options.exportSafetensors, "FILE",
             "the parameters under PyTorch's names, frozen ones too");
  flags.value("--export-match", "REGEX",
              "parameters in whose names the regex is found are in the file of "
              "--export-safetensors, as adapters alone [all are]",
              [&](const std::string &name, const std::string &text) {
                options.exportMatch = parseRegex(name, text);
              });
  flags.value("--export-dtype", "float32|bfloat16|float16",
              "type of the values of --export-safetensors [that of the master "
              "weights]",
              [&](const std::string &name, const std::string &text) {
                options.exportDtype = parseChoice(name, text, exportTypes);
              });
  flags.path("--export-onnx", options.exportOnnx, "FILE",
             "the compiled graph with the trained parameters");
  flags.path("--export-gradients", options.exportGradients, "FILE",
             "safetensors: gradients of the first step, summed over ranks and "
             "micro-batches, divided by --grad-divide and the loss scale, "
             "before clipping");
  flags.list(
      "--predict", "[NAME=]FILE.npy",
      "an output of the graph for every sample of --eval-data (labels may "
      "be left out of it), in their order, with the final parameters; of "
      "those that shardc --output-values named",
      [&](const std::string &name, const std::string &text) {
        size_t equals = text.find('=');
        bool named = equals != std::string::npos;
        PredictOption option = {named ? text.substr(0, equals) : "",
                                named ? text.substr(equals + 1) : text};
        if (option.path.empty() || equals == 0)
          fail(name, " expects FILE.npy or NAME=FILE.npy, got '", text, "'");
        options.predictions.push_back(option);
      });
  flags.value("--eval-command", "COMMAND",
              "a shell command that makes metrics of each evaluation: files of "
              "the outputs of --predict are its last arguments, and the last "
              "line that it prints is a JSON object of numbers",
              [&](const std::string &name, const std::string &text) {
                if (text.find_first_not_of(" \t\n") == text.npos)
                  fail(name, " expects a command, got nothing");
                options.evalCommand = text;
              });
  flags.toggle("--report", options.report,
               "print the plan: units, collectives, memory, parameter groups");
  flags.toggle(
      "--dry-run", options.dryRun,
      "check plan, data, weights, outputs and the disk space of checkpoints, "
      "print what the flags resolve to and the memory needed, and train "
      "nothing");
}

} // namespace shardc::runtime::cli
