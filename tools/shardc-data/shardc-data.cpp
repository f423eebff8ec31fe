// shardc-data: token files from text, and what files of samples hold.
#include "runtime/base/Error.h"
#include "runtime/flags/ParseValue.h"
#include "tools/ToolMain.h"
#include "tools/shardc-data/Commands.h"

using namespace shardc::runtime;

int main(int argc, char **argv) {
  TokenizeOptions options;
  bool bytes = false;
  std::optional<std::string> documents, format, dtype, count;
  std::string path;
  const char *pathText =
      "PATH[,KEY=VALUE...] as behind NAME= of a trainer's --data";
  std::vector<cli::Command> commands = {
      {"tokenize",
       "text to a token file, an end token behind each document",
       {{"TEXT", &options.texts, "files of text"},
        {"-o,--output", &options.output, "the token file"},
        {"--sentencepiece", &options.sentencepiece,
         "tokens of this model (tokenizer.model)"},
        {"--bytes",
         &bytes,
         "a byte is a token, 0 to 255",
         {},
         "--sentencepiece"},
        {"--documents",
         &documents,
         "files: each is a document; lines: each line that is not empty, "
         "without its end [files]",
         {"files", "lines"}},
        {"--end", &options.end,
         "ID or none: the token behind each document [the model's; 256 of "
         "bytes]"},
        {"--format",
         &format,
         "llmc: with llm.c's header, which says all; raw: nothing but ids "
         "[llmc]",
         {"llmc", "raw"}},
        {"--dtype",
         &dtype,
         "uint16 or uint32 [uint16 where all ids fit]",
         {"uint16", "uint32"}}},
       [&] {
         if (!bytes && !options.sentencepiece)
           fail("tokenize expects --bytes or --sentencepiece MODEL");
         if (dtype)
           options.dtype =
               dtype == "uint16" ? TokenType::UInt16 : TokenType::UInt32;
         options.lines = documents == "lines";
         options.raw = format == "raw";
         tokenize(options);
         return 0;
       }},
      {"inspect",
       "format, shape, number of tokens, smallest and largest id",
       {{"PATH", &path, pathText}},
       [&] {
         inspect(path);
         return 0;
       }},
      {"head",
       "the first ids; with window=N, the first windows, one per line",
       {{"PATH", &path, pathText}, {"-n,--count", &count, "how many [64]"}},
       [&] {
         head(path,
              cli::parseInteger("--count", count.value_or("64"), int64_t{1}));
         return 0;
       }}};
  return toolMain("shardc-data",
                  "Makes token files of text for a trainer's --data, and says "
                  "what files of samples hold.",
                  commands, argc, argv);
}
