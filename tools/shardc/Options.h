// shardc's command line, parsed and checked for what can be checked without the
// model.
#ifndef SHARDC_TOOLS_SHARDC_OPTIONS_H
#define SHARDC_TOOLS_SHARDC_OPTIONS_H

#include "tools/shardc/Phases.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

struct Options {
  std::string model;
  std::string output;                  ///< of the phase trainer
  std::map<std::string, int64_t> dims; ///< symbolic dim -> size
  std::vector<std::string> outputs;    ///< that evaluations keep
  std::string metric; ///< of evaluations, besides the loss: accuracy, or empty
  std::string loss;   ///< empty: the graph's own scalar output
  std::string mesh = "1";
  std::string strategy; ///< empty: as the mesh says
  std::string reshardAfterForward = "default";
  std::string reshardAfterBackward = "always";
  std::vector<std::string>
      unitOptions;        ///< match=REGEX[,reshard=...][,precision=...]
  std::string accumulate; ///< empty: as the strategy says
  std::string embedding = "auto";
  std::string update = "step";
  /// Regular expressions.
  std::vector<std::string> freeze, trainable, buffers, untied;
  std::string units = "auto";
  std::string cluster; ///< empty: the target's default
  std::string optimizer = "adamw";
  std::vector<std::string> muon; // regular expressions
  int64_t newtonSchulzSteps = 5;
  std::string precision = "float32";
  std::string batchNorm = "rank";
  std::string batchSums = "global";
  std::string remat = "cheap";
  std::string master;          ///< empty: float32, float64 with float64
  std::string target = "auto"; ///< names of targets, separated by commas
  std::string cpu = "native";
  std::string init =
      "file"; ///< file, or random: the stored values need not exist
  bool embedWeights = false;
  bool checkable = false;  ///< the trainer has the unsharded step as well
  std::string prefetch;    ///< empty: the target's default
  std::string memoryLimit; ///< of a rank's pools; empty: the machine's memory
  std::string offload = "none";
  int64_t threadsPerRank =
      0;               ///< 0: this machine's cores over the ranks, at least 1
  std::string kernels; ///< folder; empty: none
  /// A folder of earlier compilations' kernels; empty: none.
  std::string kernelCache;
  Phase compileTo = Phase::Trainer;
  bool printIr = true; ///< of the last phase, unless that is the trainer
  std::string dumpPhasesTo;
  std::vector<std::string> disabledPasses;
  std::string remarks; ///< a regular expression over passes; empty: none
  bool passTiming = false;
  std::string report;
  std::string timeline; ///< a file of .json, .svg or .html; empty: none
  bool quiet = false;
  /// Of `shardc explain`: a parameter, unit, collective or buffer, or "memory",
  /// or "oom" with a size.
  std::string what, size;
};

/// What shardc is asked for.
enum class Command { Compile, Explain };

/// The options of a run, or what is printed instead of one.
struct ParsedOptions {
  std::optional<Options> options;
  std::string error;       // one line
  std::string information; // what --help and its like print
  bool listsOps = false;   // --list-ops
};
/// `argv`: without the name of a command. `remarkPasses`: what --remarks may
/// name, for --help.
ParsedOptions parseOptions(Command command, int argc, char **argv,
                           const std::string &remarkPasses);

} // namespace shardc

#endif
