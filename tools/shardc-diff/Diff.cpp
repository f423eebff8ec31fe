// Two paths, of which both are trainers or both are folders.
#include "tools/shardc-diff/Diff.h"

#include "runtime/TrainerFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

namespace shardc {
namespace {

using runtime::fail;

plan::Plan readPlan(const std::string &path, const std::string &target) {
  runtime::TrainerFile trainer(path);
  if (trainer.plans().empty())
    fail(path, ": is no trainer of shardc");
  if (target.empty())
    return trainer.plans().front();
  std::string names;
  for (const plan::Plan &plan : trainer.plans()) {
    const std::string &name = plan.target().name();
    if (name == target || name.starts_with(target + ":"))
      return plan;
    names += (names.empty() ? "" : ", ") + name;
  }
  fail(path, ": has no plan for --target ", target, "; it was compiled for ",
       names);
}

Difference diffPaths(const std::string &first, const std::string &second,
                     const std::string &target) {
  std::error_code error;
  const bool areRuns[] = {std::filesystem::is_directory(first, error),
                          std::filesystem::is_directory(second, error)};
  if (areRuns[0] != areRuns[1])
    fail("expects two trainers, or two folders of --hash-entries, got ", first,
         " and ", second);
  if (!areRuns[0])
    return diffPlans(readPlan(first, target), first, readPlan(second, target),
                     second);
  if (!target.empty())
    fail("--target is of trainers, got two folders");
  return diffHashes(first, second);
}

} // namespace

int diff(int argc, char **argv) {
  std::string first, second, target;
  CLI::App app(
      "Says what two trainers differ in, what that does to the bytes of a rank "
      "and whether they train to the same bits; or, of two runs with "
      "--hash-entries, which plan entry has first made something else.\nExit "
      "codes: 0 nothing differs, 1 something does, 2 the files or the command "
      "line.",
      "shardc diff");
  app.add_option("first", first, "a trainer, or a folder of --hash-entries")
      ->required()
      ->option_text("A");
  app.add_option("second", second, "the other one")
      ->required()
      ->option_text("B");
  app.add_option("--target", target,
                 "which plan of trainers that have several: cpu or cuda")
      ->option_text("NAME [the first]");
  try {
    app.parse(argc, argv);
    Difference found = diffPaths(first, second, target);
    std::fputs(found.text.c_str(), stdout);
    return found.isThere ? 1 : 0;
  } catch (const CLI::Success &asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "shardc: error: diff: %s; see shardc diff --help\n",
                 error.what());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "shardc: error: %s\n",
                 runtime::printable(error.what()).c_str());
  }
  return 2;
}

} // namespace shardc
