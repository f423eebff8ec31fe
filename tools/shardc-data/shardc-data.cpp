// shardc-data: token files from text, and what files of samples hold.
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/launch/Guard.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-data/Commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace shardc::runtime;

static int run(int argc, char **argv) {
  CLI::App app(
      "Makes token files of text for a trainer's --data, and says what "
      "files of samples hold.");
  app.set_help_flag("-h,--help", "print this and exit");
  app.require_subcommand(1);
  TokenizeOptions options;
  bool bytes = false;
  std::string model, format = "llmc", dtype, end, documents = "files", path;
  int64_t count = 64;

  CLI::App *tokenizing = app.add_subcommand(
      "tokenize", "text to a token file, an end token behind each document");
  tokenizing->add_option("TEXT", options.texts, "files of text")->required();
  tokenizing->add_option("-o,--output", options.output, "the token file")
      ->required();
  CLI::Option *sentencepiece = tokenizing->add_option(
      "--sentencepiece", model, "tokens of this model (tokenizer.model)");
  CLI::Option *plain =
      tokenizing->add_flag("--bytes", bytes, "a byte is a token, 0 to 255");
  plain->excludes(sentencepiece);
  tokenizing
      ->add_option("--documents", documents,
                   "files: each is a document; lines: each line that is not "
                   "empty, without its end [files]")
      ->check(CLI::IsMember({"files", "lines"}));
  CLI::Option *ending = tokenizing->add_option(
      "--end", end,
      "ID or none: the token behind each document [the model's; 256 of bytes]");
  tokenizing
      ->add_option(
          "--format", format,
          "llmc: with llm.c's header, which says all; raw: nothing but "
          "ids [llmc]")
      ->check(CLI::IsMember({"llmc", "raw"}));
  CLI::Option *type =
      tokenizing
          ->add_option("--dtype", dtype,
                       "uint16 or uint32 [uint16 where all ids fit]")
          ->check(CLI::IsMember({"uint16", "uint32"}));
  const char *pathText =
      "PATH[,KEY=VALUE...] as behind NAME= of a trainer's --data";
  CLI::App *inspecting = app.add_subcommand(
      "inspect", "format, shape, number of tokens, smallest and largest id");
  inspecting->add_option("PATH", path, pathText)->required();
  CLI::App *heading = app.add_subcommand(
      "head", "the first ids; with window=N, the first windows, one per line");
  heading->add_option("PATH", path, pathText)->required();
  heading->add_option("-n,--count", count, "how many [64]")
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      print(app.help());
      return 0;
    }
    std::fprintf(stderr, "shardc-data: error: %s; --help lists the commands\n",
                 printable(error.what()).c_str());
    return 2;
  }
  if (*inspecting) {
    inspect(path);
  } else if (*heading) {
    head(path, count);
  } else {
    if (!bytes && !*sentencepiece)
      fail("tokenize expects --bytes or --sentencepiece MODEL");
    if (*sentencepiece)
      options.sentencepiece = model;
    if (*ending)
      options.end = end;
    if (*type)
      options.dtype = dtype == "uint16" ? TokenType::UInt16 : TokenType::UInt32;
    options.lines = documents == "lines";
    options.raw = format == "raw";
    tokenize(options);
  }
  return 0;
}

int main(int argc, char **argv) {
  shardc::guardProcess("shardc-data");
  try {
    int code = run(argc, argv);
    checkPrinted("nothing is lost");
    return code;
  } catch (const std::exception &error) {
    std::fflush(stdout);
    std::fprintf(stderr, "shardc-data: error: %s\n",
                 printable(error.what()).c_str());
  }
  return 1;
}
