// The flags of what ranks run on, and how.
#include "runtime/cli/DeviceFlags.h"

#include "runtime/base/Error.h"

namespace shardc::runtime::cli {

void declareDevice(FlagTable &flags, Options &options) {
  flags.group("Devices", /*isLocal=*/true);
  flags.value("--device", "cpu|cuda|auto",
              "what the ranks run on, of what the trainer was compiled for; "
              "auto: NVIDIA GPUs where this machine has one for each rank "
              "here, else the processor [auto]",
              [&](const std::string &name, const std::string &text) {
                options.device =
                    parseChoice<DeviceKind>(name, text,
                                            {{"cpu", DeviceKind::Cpu},
                                             {"cuda", DeviceKind::Cuda},
                                             {"auto", DeviceKind::Auto}});
              });
  flags.integer("--threads", options.threads, 1,
                "threads of each rank [processors / ranks]");
  flags.value("--cuda-graph", "on|off",
              "on: what a micro-batch runs on a GPU is captured once and then "
              "launched as one graph; off: each launch by itself, to the same "
              "bits [on]",
              [&](const std::string &name, const std::string &text) {
                options.cudaGraph = parseChoice<bool>(
                    name, text, {{"on", true}, {"off", false}});
              });
  flags.path("--tune", options.tune, "FILE.json",
             "products on a GPU run the fastest of several algorithms: those "
             "that FILE.json names, which is written with what it lacks, timed "
             "once; without it, the one that cuBLASLt names first");
  flags.path("--offload-dir", options.offloadDir, "DIR",
             "a folder on a disk with room for what shardc --offload takes out "
             "of memory: each rank of a processor has a file there, without a "
             "name, which ends with the run");
  flags
      .value(
          "--attention", "auto|own|cudnn",
          "what computes attention on a GPU. own: the trainer's kernels; "
          "cudnn: cuDNN, or the run is refused; two runs may then differ in "
          "bits, which is said; auto: cuDNN where it is here, takes no more "
          "than the plan's memory and gives the same bits in every run, else "
          "own; what runs what is said [auto]",
          [&](const std::string &name, const std::string &text) {
            options.attention =
                parseChoice<AttentionBy>(name, text,
                                         {{"auto", AttentionBy::Auto},
                                          {"own", AttentionBy::Own},
                                          {"cudnn", AttentionBy::Cudnn}});
          })
      .isLocal = false;
  flags
      .value("--reduce", "ordered|nccl",
             "how GPUs add up gradients. ordered: in the ranks' order, to the "
             "bits of every strategy and of the processor; nccl: by NCCL, in "
             "its own order [ordered]",
             [&](const std::string &name, const std::string &text) {
               options.reduce = parseChoice<Reduce>(
                   name, text,
                   {{"ordered", Reduce::Ordered}, {"nccl", Reduce::Nccl}});
             })
      .isLocal = false;
}

} // namespace shardc::runtime::cli
