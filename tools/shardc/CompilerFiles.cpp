// Files of options, told apart.
#include "tools/shardc/CompilerFiles.h"

#include "codegen/emit/WriteTrainer.h"
#include "passes/options/Cluster.h"
#include "runtime/files/FileUses.h"
#include "tools/shardc/Files.h"
#include "tools/shardc/TimelineFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace shardc {

std::string phaseFile(const Options &options, Phase phase,
                      llvm::StringRef suffix) {
  return llvm::formatv("{0}/{1}-{2}{3}.mlir", options.dumpPhasesTo,
                       int(phase) + 1, infoOf(phase).name, suffix);
}

llvm::Error showPhase(const Options &options, Phase phase,
                      mlir::ModuleOp module, llvm::StringRef suffix) {
  if (!options.dumpPhasesTo.empty()) {
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    if (llvm::Error error = writeFile(phaseFile(options, phase, suffix), text))
      return error;
  }
  if (options.compileTo == phase && options.printIr)
    llvm::outs() << module << "\n";
  return llvm::Error::success();
}

llvm::Expected<kernels::KernelCache> openKernelCache(const Options &options) {
  bool compiles =
      options.compileTo == Phase::Trainer || !options.kernels.empty();
  if (options.kernelCache.empty() || !compiles)
    return kernels::KernelCache();
  auto cache = kernels::KernelCache::open(options.kernelCache);
  if (cache)
    return cache;
  return llvm::createStringError(
      "--kernel-cache: " + llvm::toString(cache.takeError()) +
      "; name another, or none (SHARDC_KERNEL_CACHE is one, too)");
}

llvm::Error checkFiles(const Options &options,
                       llvm::ArrayRef<std::string> suffixes,
                       llvm::ArrayRef<std::string> externalData) {
  runtime::FileUses uses;
  uses.reads("the model " + options.model, options.model);
  for (const std::string &path : externalData)
    uses.reads("the model's external data " + path, path);
  if (!options.cluster.empty() &&
      !llvm::is_contained(Cluster::builtIn(), options.cluster))
    uses.reads("--cluster " + options.cluster, options.cluster);
  uses.reads("shardc itself, " + programPath(), programPath());
  bool writesTrainer = options.compileTo == Phase::Trainer;
  if (auto found = findRuntime(programPath()); !found)
    llvm::consumeError(found.takeError());
  else
    uses.reads("the trainer's runtime " + *found, *found);
  if (writesTrainer)
    uses.writes("the trainer (-o " + options.output + ")", options.output);
  // "-" is stdout.
  if (!options.report.empty() && options.report != "-")
    uses.writes("--report " + options.report, options.report);
  if (!options.timeline.empty())
    for (const std::string &suffix : suffixes)
      uses.writes("--timeline " + options.timeline,
                  timelineFile(options, suffix));
  if (!options.dumpPhasesTo.empty())
    for (int phase = 0;
         phase <= int(options.compileTo) && Phase(phase) != Phase::Trainer;
         ++phase)
      for (const std::string &suffix : suffixes) {
        if (Phase(phase) == Phase::Import && suffix != suffixes.front())
          continue;
        std::string path = phaseFile(
            options, Phase(phase), Phase(phase) == Phase::Import ? "" : suffix);
        uses.writes("--dump-phases-to " + options.dumpPhasesTo + " (" + path +
                        ")",
                    path);
      }
  if (!options.kernels.empty())
    uses.writesInto("--kernels " + options.kernels, options.kernels,
                    {".so", ".ptx", ".cubin"});
  if (std::string conflict = uses.conflict(); !conflict.empty())
    return llvm::createStringError(conflict);
  return llvm::Error::success();
}

} // namespace shardc
