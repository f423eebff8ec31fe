// The words of a command line, by flag; and those of programs with commands.
#ifndef SHARDC_RUNTIME_FLAGS_COMMANDLINE_H
#define SHARDC_RUNTIME_FLAGS_COMMANDLINE_H

#include "runtime/flags/FlagTable.h"
#include "runtime/flags/OtherNames.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace shardc::runtime::cli {

/// What a program says about itself.
struct Program {
  std::string name; // empty: that of its file
  std::string description;
  std::string footer; // the end of --help
  int helpColumn = 38;
  /// The section of a configuration file that has its keys; empty: they stand
  /// outside of all sections.
  std::string section;
  Side side = Side::Trainer;
};

struct CommandLine {
  /// The values of the flags that are given, in order; a switch has "true".
  std::map<const Flag *, std::vector<std::string>> values;
  /// The first question that is asked: "--help" or another's name; empty: none.
  std::string question;
  std::string help; // the answer to --help
  /// The error of the first word that belongs to no flag. Where a value is left
  /// out, it is the next flag's value that stands alone: errors of values say
  /// more.
  std::string unknown;
};

/// Throws an Error of one line for a value that is missing at the end. What
/// values are is not looked at.
CommandLine readCommandLine(const FlagTable &table, const Program &program,
                            int argc, const char *const *argv);

/// A word of a command, as "TEXT" or "-o,--output", and where it goes.
struct CommandWord {
  std::string names;
  /// A switch; one that must be there; one that may; one or more that must.
  std::variant<bool *, std::string *, std::optional<std::string> *,
               std::vector<std::string> *>
      value;
  std::string help = {};
  std::vector<std::string> choices = {}; // empty: any
  std::string excludes = {};             // the name of another
};

struct Command {
  std::string name, help;
  std::vector<CommandWord> words;
  /// Returns the exit code.
  std::function<int()> run;
  int failure = 1; // the exit code where it throws
};

struct ReadCommand {
  const Command *command = nullptr;
  std::string help;  // the answer to --help, where there is no command
  std::string wrong; // or what is wrong
};

/// Reads the words of `PROGRAM COMMAND ...`, whose values are set.
ReadCommand readCommand(const std::string &description,
                        const std::vector<Command> &commands, int argc,
                        const char *const *argv);

} // namespace shardc::runtime::cli

#endif
