// A planned step as a timeline: its numbers, and its file.
#include "tools/shardc/TimelineFile.h"

#include "codegen/timeline/DrawTimeline.h"
#include "tools/shardc/Files.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace shardc {

namespace {

using Writer = std::string (*)(const timeline::Drawing &);

/// By the ending of a file's name; null for others.
Writer writerOf(StringRef path) {
  StringRef ending = llvm::sys::path::extension(path);
  return ending == ".json"   ? timeline::traceText
         : ending == ".svg"  ? timeline::svgText
         : ending == ".html" ? timeline::htmlText
                             : nullptr;
}

} // namespace

llvm::Error checkTimelineFile(const Options &options) {
  if (options.timeline.empty() || writerOf(options.timeline))
    return llvm::Error::success();
  return llvm::createStringError("--timeline " + options.timeline +
                                 ": expected a file that ends with .json, .svg "
                                 "or .html");
}

std::string timelineFile(const Options &options, StringRef suffix) {
  llvm::SmallString<128> path(options.timeline);
  StringRef ending = llvm::sys::path::extension(options.timeline);
  llvm::sys::path::replace_extension(path, suffix + ending);
  return path.str().str();
}

llvm::Error addTimeline(ModuleOp module, const std::string &cluster,
                        const Options &options, const std::string &suffix,
                        CompileReport &report) {
  auto machine = Cluster::load(cluster);
  if (!machine)
    return machine.takeError();
  CostModel costs(*machine);
  for (auto plan : module.getOps<step::PlanOp>())
    for (auto program : plan.getBody().front().getOps<step::ProgramOp>()) {
      if (program.getName() != "train")
        continue;
      timeline::TimedProgram timed = timeline::readProgram(program, costs);
      timeline::Timeline simulated = timed.simulate();
      report.timeline = {
          machine->name, simulated.seconds, simulated.exposed, {}};
      for (const timeline::WaitSum &wait : timeline::waitsOf(timed, simulated))
        report.timeline->waits.push_back({wait.what, wait.count, wait.seconds});
      if (options.timeline.empty())
        continue;
      timeline::Drawing drawing{timed, simulated,
                                llvm::sys::path::filename(options.model).str() +
                                    ", mesh " + options.mesh + ", " +
                                    machine->name};
      if (llvm::Error error = writeFile(timelineFile(options, suffix),
                                        writerOf(options.timeline)(drawing)))
        return error;
    }
  return llvm::Error::success();
}

} // namespace shardc
