// shardc-ckpt: what can be done with checkpoints without a trainer.
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/flags/ParseValue.h"
#include "runtime/launch/Guard.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-ckpt/Commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace shardc::runtime;

/// "500MB", "5GB", or bytes, as transformers' max_shard_size.
static uint64_t parseSize(const std::string &text) {
  uint64_t factor = 1;
  std::string number = text;
  for (auto [unit, bytes] : {std::pair<const char *, uint64_t>{"KB", 1000},
                             {"MB", 1'000'000},
                             {"GB", 1'000'000'000}})
    if (text.ends_with(unit)) {
      factor = bytes;
      number.resize(text.size() - 2);
    }
  double value = cli::parseNumber("--shard-size", number,
                                  {1, 1e15, "a size such as 500MB or 5GB"});
  return uint64_t(value * double(factor));
}

static int run(int argc, char **argv) {
  CLI::App app("Reads, compares, thins out and exports the checkpoints that a "
               "trainer writes (--checkpoint-dir). CHECKPOINT is a folder "
               "step-00001000, or a folder of such: then the last one.");
  app.set_help_flag("-h,--help", "print this and exit");
  app.require_subcommand(1);
  std::string first, second, size;
  bool tensors = false;
  int64_t keep = 1;
  ExportOptions options;

  CLI::App *inspecting =
      app.add_subcommand("inspect", "what the manifest says, and the tensors");
  inspecting->add_option("CHECKPOINT", first)->required();
  inspecting->add_flag("--tensors", tensors, "each tensor, a line each");
  CLI::App *verifying = app.add_subcommand(
      "verify",
      "compares every byte with its hash, and sees whether the chunks "
      "of each tensor are all there; of a folder, each checkpoint");
  verifying->add_option("CHECKPOINT", first)->required();
  CLI::App *comparing = app.add_subcommand(
      "diff", "the tensors of two checkpoints that differ; exit code 1 where "
              "there are any");
  comparing->add_option("FIRST", first)->required();
  comparing->add_option("SECOND", second)->required();
  CLI::App *pruning =
      app.add_subcommand("prune", "removes all but the last checkpoints");
  pruning->add_option("DIR", first)->required();
  pruning->add_option("--keep", keep, "how many stay [1]")
      ->check(CLI::PositiveNumber);
  CLI::App *exporting = app.add_subcommand(
      "export", "the parameters, as master weights: hf writes a folder that "
                "transformers loads, onnx a model; with the state: dcp writes "
                "model/ and optim/ as torch's HuggingFaceStorageReader has "
                "them, whole tensors");
  exporting->add_option("CHECKPOINT", options.checkpoint)->required();
  exporting->add_option("--to", options.to, "hf, onnx or dcp")
      ->required()
      ->check(CLI::IsMember({"hf", "onnx", "dcp"}));
  exporting
      ->add_option("-o,--output", options.output, "the folder, or the file")
      ->required();
  exporting->add_option("--shard-size", size,
                        "hf, dcp: bytes of a file at most [5GB]");
  exporting->add_option(
      "--like", options.like,
      "hf: copies configuration and tokenizer of this folder");
  exporting->add_option("--trainer", options.trainer,
                        "onnx: the trainer whose graph it is");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      print(app.help());
      return 0;
    }
    std::fprintf(stderr, "shardc-ckpt: error: %s; --help lists the commands\n",
                 printable(error.what()).c_str());
    return 2;
  }
  if (!size.empty())
    options.shardBytes = parseSize(size);
  if (*inspecting)
    inspect(first, tensors);
  else if (*verifying)
    verify(first);
  else if (*comparing)
    return diff(first, second);
  else if (*pruning)
    prune(first, keep);
  else
    exportTo(options);
  return 0;
}

int main(int argc, char **argv) {
  shardc::guardProcess("shardc-ckpt");
  try {
    int code = run(argc, argv);
    checkPrinted("nothing is lost");
    return code;
  } catch (const std::exception &error) {
    std::fflush(stdout);
    std::fprintf(stderr, "shardc-ckpt: error: %s\n",
                 printable(error.what()).c_str());
  }
  return 1;
}
