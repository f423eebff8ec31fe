// shardc-ckpt: what can be done with checkpoints without a trainer.
#include "runtime/base/DType.h"
#include "runtime/flags/ParseValue.h"
#include "tools/ToolMain.h"
#include "tools/shardc-ckpt/Commands.h"

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

int main(int argc, char **argv) {
  std::string first, second, keep;
  std::optional<std::string> size, dtype;
  bool tensors = false;
  ExportOptions options;
  std::vector<cli::Command> commands = {
      {"inspect",
       "what the manifest says, and the tensors",
       {{"CHECKPOINT", &first},
        {"--tensors", &tensors, "each tensor, a line each"}},
       [&] {
         inspect(first, tensors);
         return 0;
       }},
      {"verify",
       "compares every byte with its hash, and sees whether the chunks of each "
       "tensor are all there; of a folder, each checkpoint",
       {{"CHECKPOINT", &first}},
       [&] {
         verify(first);
         return 0;
       }},
      {"diff",
       "the tensors of two checkpoints that differ; exit code 1 where there "
       "are any, 2 where one cannot be read",
       {{"FIRST", &first}, {"SECOND", &second}},
       [&] { return int(diff(first, second)); },
       2},
      {"prune",
       "removes all but the last checkpoints",
       {{"DIR", &first}, {"--keep", &keep, "how many stay"}},
       [&] {
         prune(first, cli::parseInteger("--keep", keep, int64_t{1}));
         return 0;
       }},
      {"export",
       "the parameters, as master weights: hf writes a folder that "
       "transformers loads, onnx a model; with the state: dcp writes model/ "
       "and optim/ as torch's HuggingFaceStorageReader has them, whole tensors",
       {{"CHECKPOINT", &options.checkpoint},
        {"--to", &options.to, "hf, onnx or dcp", {"hf", "onnx", "dcp"}},
        {"-o,--output", &options.output, "the folder, or the file"},
        {"--shard-size", &size, "hf, dcp: bytes of a file at most [5GB]"},
        {"--dtype",
         &dtype,
         "hf: type of the values [that of the master weights]",
         {"float32", "bfloat16", "float16"}},
        {"--like", &options.like,
         "hf: copies configuration and tokenizer of this folder"},
        {"--trainer", &options.trainer, "onnx: the trainer whose graph it is"}},
       [&] {
         if (size)
           options.shardBytes = parseSize(*size);
         if (dtype && options.to != "hf")
           fail("--dtype is of --to hf");
         if (dtype)
           options.dtype = cli::parseChoice("--dtype", *dtype, exportTypes);
         exportTo(options);
         return 0;
       }}};
  return toolMain("shardc-ckpt",
                  "Reads, compares, thins out and exports the checkpoints that "
                  "a trainer writes (--checkpoint-dir). CHECKPOINT is a folder "
                  "step-00001000, or a folder of such: then the last one.",
                  commands, argc, argv);
}
