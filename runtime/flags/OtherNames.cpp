// What other tools call the flags of shardc and of its trainers: transformers'
// TrainingArguments, Lightning, Megatron-LM, DeepSpeed, accelerate, torchrun.
#include "runtime/flags/OtherNames.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardc::runtime::cli {

namespace {

struct Known {
  Side side;
  std::string_view flag;  // as it is called here, with its value where one says
  std::string_view names; // elsewhere, without dashes
};

constexpr Known table[] = {
    {Side::Trainer, "--lr", "lr learning-rate"},
    {Side::Trainer, "--steps",
     "steps max-steps num-steps train-steps max-train-steps iterations "
     "train-iters"},
    {Side::Trainer, "--epochs",
     "epochs num-epochs num-train-epochs max-epochs"},
    {Side::Trainer, "--data",
     "data dataset train-data data-path train-file dataset-name"},
    {Side::Trainer, "--eval-data", "eval-data validation-data validation-file"},
    {Side::Trainer, "--grad-accumulation",
     "grad-accumulation gradient-accumulation-steps gradient-accumulation "
     "accumulation-steps accumulate-grad-batches"},
    {Side::Trainer, "--clip",
     "clip max-grad-norm max-norm grad-clip gradient-clip-val clip-grad "
     "clip-grad-norm gradient-clipping"},
    {Side::Trainer, "--checkpoint-dir",
     "checkpoint-dir output-dir save-dir ckpt-dir save"},
    {Side::Trainer, "--checkpoint-every",
     "checkpoint-every save-steps save-interval save-every"},
    {Side::Trainer, "--checkpoint-keep", "checkpoint-keep save-total-limit"},
    {Side::Trainer, "--resume", "resume resume-from-checkpoint load"},
    {Side::Trainer, "--new-data", "new-data ignore-data-skip"},
    {Side::Trainer, "--export-best", "export-best load-best-model-at-end"},
    {Side::Trainer, "--eval-every",
     "eval-every eval-steps eval-interval val-check-interval"},
    {Side::Trainer, "--print-every",
     "print-every logging-steps log-interval log-every log-every-n-steps"},
    {Side::Trainer, "--schedule",
     "schedule lr-scheduler-type lr-scheduler scheduler lr-decay-style"},
    {Side::Trainer, "--warmup-steps", "warmup-steps lr-warmup-iters"},
    {Side::Trainer, "--warmup-ratio", "warmup-ratio lr-warmup-fraction"},
    {Side::Trainer, "--betas", "betas adam-beta1 adam-beta2 beta1 beta2"},
    {Side::Trainer, "--eps", "eps adam-epsilon adam-eps epsilon"},
    {Side::Trainer, "--weight-decay", "weight-decay wd"},
    {Side::Trainer, "--seed", "seed data-seed"},
    {Side::Compiler, "--dim batch=N",
     "dim batch batch-size per-device-train-batch-size micro-batch-size "
     "train-batch-size"},
    {Side::Compiler, "--precision", "precision mixed-precision amp"},
    {Side::Compiler, "--precision bf16", "bf16"},
    {Side::Compiler, "--precision float16", "fp16"},
    {Side::Compiler, "--optimizer", "optimizer optim"},
    {Side::Compiler, "--remat",
     "remat gradient-checkpointing activation-checkpointing recompute"},
    {Side::Compiler, "--mesh",
     "mesh ranks nproc nproc-per-node nnodes world-size devices num-processes"},
    {Side::Compiler, "--offload", "offload cpu-offload offload-optimizer"},
    {Side::Compiler, "--strategy",
     "strategy sharding-strategy fsdp-sharding-strategy fsdp zero zero-stage"},
    {Side::Compiler, "--units", "units auto-wrap-policy"},
    {Side::Compiler, "--loss", "loss"},
    {Side::Compiler, "--loss cross-entropy:...,label-smoothing=S",
     "label-smoothing label-smoothing-factor"},
    {Side::Compiler, "--loss cross-entropy:...,class-weights=W:W:...",
     "class-weights class-weight"},
    {Side::Compiler, "--loss binary-cross-entropy:...,pos-weight=W",
     "pos-weight"},
    {Side::Compiler, "--target", "target"},
    {Side::Compiler, "--cluster", "cluster"}};

/// The flags that one of the two has alone; test_mistakes.py holds them against
/// both --help texts.
constexpr std::string_view compilersOwn =
    "accumulate batch-norm batch-sums buffer checkable cluster compile-to cpu "
    "dim disable-pass dump-phases-to embed-weights embedding freeze "
    "kernel-cache kernels list-ops loss memory-limit mesh metric muon "
    "newton-schulz-steps offload optimizer output output-values pass-timing "
    "precision prefetch quiet remarks remat reshard-after-backward "
    "reshard-after-forward strategy target threads-per-rank timeline "
    "trainable unit-option units untie update";
constexpr std::string_view trainersOwn =
    "adjust-lr attention betas check check-finite checkpoint-dir "
    "checkpoint-every checkpoint-keep checkpoint-sync clip clip-norm "
    "cuda-graph data data-limit decay-shape decay-steps device dropout "
    "dropout-rate dry-run early-stop epochs eps eval-command eval-data "
    "eval-every eval-limit expect-loss-below export-best export-dtype "
    "export-gradients export-match export-onnx export-safetensors "
    "grad-accumulation grad-divide group hash-entries hash-steps html "
    "init-group keep-best last-batch launcher log-format log-samples "
    "loss-norm loss-scale loss-scale-hysteresis loss-scale-initial "
    "loss-scale-min loss-scale-window lr lr-power max-restarts metrics "
    "min-lr min-lr-ratio momentum nesterov new-data nnodes no-decay "
    "no-host-memory no-nesterov node-rank nproc-per-node num-cycles "
    "offload-dir peak-tflops plateau-cooldown plateau-factor "
    "plateau-patience plateau-threshold predict print-every profile prometheus "
    "reduce "
    "resume sampler schedule seed selftest selftest-cluster selftest-min "
    "shuffle stable-steps start-timeout steps stop-below tensorboard "
    "threads time-limit timeout timescale total-steps trace trace-steps "
    "transport tune warmup-ratio warmup-shape warmup-start-factor "
    "warmup-steps weight-decay weights weights-match";

bool has(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name)
      return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

/// Whose flag it is, and how it is called there; none where it is not known.
std::optional<std::pair<Side, std::string>> find(std::string_view flag) {
  flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
  std::string name(flag);
  std::ranges::replace(name, '_', '-');
  for (const Known &known : table)
    if (has(known.names, name))
      return std::pair(known.side, std::string(known.flag));
  for (auto [side, names] : {std::pair(Side::Compiler, compilersOwn),
                             std::pair(Side::Trainer, trainersOwn)})
    if (has(names, name))
      return std::pair(side, "--" + name);
  return std::nullopt;
}

} // namespace

std::string otherName(Side side, std::string_view flag) {
  auto found = find(flag);
  if (!found)
    return "";
  const auto &[of, name] = *found;
  if (of == side)
    return concat("it is ", name, " here");
  return side == Side::Trainer
             ? concat("it is ", name,
                      " of shardc, when the trainer is compiled")
             : concat("it is ", name, " of the trainer that shardc writes");
}

std::string otherKey(Side side, std::string_view key) {
  auto found = find(key);
  if (!found)
    return "";
  std::string name = found->second.substr(2);
  if (found->first == side)
    return concat("it is ", name, " here");
  return side == Side::Trainer
             ? concat("it is ", name, " of the section compile")
             : concat("it is ", name, ", outside of the section compile");
}

} // namespace shardc::runtime::cli
