// --timeline, and what the report says of a step's time.
#ifndef SHARDC_TOOLS_SHARDC_TIMELINEFILE_H
#define SHARDC_TOOLS_SHARDC_TIMELINEFILE_H

#include "passes/report/Report.h"
#include "tools/shardc/Options.h"

namespace shardc {

/// An error where --timeline names a file of another kind than it can write.
llvm::Error checkTimelineFile(const Options &options);

/// Where the timeline of a target goes: its suffix before the file's ending.
std::string timelineFile(const Options &options, llvm::StringRef suffix);

/// Simulates @train of a planned module on a machine (Cluster::load), adds the
/// result to the report, and writes the file that --timeline asks for.
llvm::Error addTimeline(mlir::ModuleOp module, const std::string &cluster,
                        const Options &options, const std::string &suffix,
                        CompileReport &report);

} // namespace shardc

#endif
