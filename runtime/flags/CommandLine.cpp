// The words of a command line, by CLI11. The one file that includes it: it takes
// a compiler longer than all other files about flags together.
#include "runtime/flags/CommandLine.h"

#include "runtime/base/Suggest.h"
#include "runtime/base/Text.h"

#include <CLI/CLI.hpp>

namespace shardc::runtime::cli {

static CLI::Option *declare(CLI::App &app, const Flag &flag) {
  std::string names =
      flag.shortName.empty() ? flag.name : flag.shortName + "," + flag.name;
  CLI::Option *option;
  if (flag.kind == Flag::Kind::Switch) {
    option = app.add_flag(names, flag.help)->disable_flag_override();
  } else {
    // What follows the value is not the flag's. Whether it may be given more
    // than once is seen later, where files are known as well.
    CLI::callback_t ignore = [](const CLI::results_t &) { return true; };
    option = app.add_option(names, ignore, flag.help)
                 ->type_size(1)
                 ->expected(1)
                 ->allow_extra_args(false)
                 ->option_text(flag.type);
  }
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (!flag.group.empty())
    option->group(flag.group);
  return option;
}

static std::string unknownText(const FlagTable &table, const Program &program,
                               const std::string &argument) {
  std::string word = argument.substr(0, argument.find('='));
  if (!word.starts_with("-"))
    return concat("unexpected argument '", argument, "'; see --help");
  if (std::string other = otherName(program.side, word); !other.empty())
    return concat("unknown flag ", word, ": ", other, "; see --help");
  std::vector<std::string> known = {"--help"};
  for (const Flag &flag : table.flags())
    known.push_back(flag.name);
  return concat("unknown flag ", word, suggestion(word, known), "; see --help");
}

CommandLine readCommandLine(const FlagTable &table, const Program &program,
                            int argc, const char *const *argv) {
  CLI::App app(program.description, program.name);
  app.set_help_flag("-h,--help", "print this and exit");
  app.get_formatter()->column_width(size_t(program.helpColumn));
  app.allow_extras();
  app.footer(program.footer);
  std::vector<CLI::Option *> options;
  for (const Flag &flag : table.flags())
    options.push_back(declare(app, flag));

  CommandLine line;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    line.question = "--help";
    line.help = app.help();
    return line;
  } catch (const CLI::ArgumentMismatch &error) {
    std::string text = error.what();
    fail(text.substr(0, text.find(':')), " needs a value");
  } catch (const CLI::ParseError &error) {
    fail(error.what());
  }
  for (size_t i = 0; i < options.size(); ++i) {
    const Flag &flag = table.flags()[i];
    if (options[i]->count() == 0)
      continue;
    if (flag.isQuestion && line.question.empty())
      line.question = flag.name;
    line.values[&flag] =
        flag.kind == Flag::Kind::Switch
            ? std::vector<std::string>(options[i]->count(), "true")
            : options[i]->results();
  }
  if (std::vector<std::string> rest = app.remaining(); !rest.empty())
    line.unknown = unknownText(table, program, rest[0]);
  return line;
}

static void declare(CLI::App &app, const CommandWord &word) {
  CLI::Option *option;
  if (auto *isGiven = std::get_if<bool *>(&word.value))
    option = app.add_flag(word.names, **isGiven, word.help);
  else if (auto *text = std::get_if<std::string *>(&word.value))
    option = app.add_option(word.names, **text, word.help)->required();
  else if (auto *maybe = std::get_if<std::optional<std::string> *>(&word.value))
    option = app.add_option(word.names, **maybe, word.help);
  else
    option = app.add_option(word.names,
                            *std::get<std::vector<std::string> *>(word.value),
                            word.help)
                 ->required();
  if (!word.choices.empty())
    option->check(CLI::IsMember(word.choices));
  if (!word.excludes.empty())
    option->excludes(app.get_option(word.excludes));
}

ReadCommand readCommand(const std::string &description,
                        const std::vector<Command> &commands, int argc,
                        const char *const *argv) {
  CLI::App app(description);
  app.set_help_flag("-h,--help", "print this and exit");
  app.require_subcommand(1);
  for (const Command &command : commands) {
    CLI::App &own = *app.add_subcommand(command.name, command.help);
    for (const CommandWord &word : command.words)
      declare(own, word);
  }
  ReadCommand read;
  if (std::string first = argc > 1 ? argv[1] : "";
      !first.empty() && !first.starts_with('-')) {
    std::vector<std::string> names;
    for (const Command &command : commands)
      names.push_back(command.name);
    if (std::ranges::find(names, first) == names.end()) {
      read.wrong =
          concat("unknown command '", first, "'", suggestion(first, names));
      return read;
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    read.help = app.help();
    return read;
  } catch (const CLI::ParseError &error) {
    read.wrong = error.what();
    return read;
  }
  for (const Command &command : commands)
    if (app.got_subcommand(command.name))
      read.command = &command;
  return read;
}

} // namespace shardc::runtime::cli
