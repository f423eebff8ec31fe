#!/bin/bash
# BLOOM fine-tuned with four strategies of sharding, compared in a table: loss, time, memory.
#
# The port of a Trainer script under Slurm with `fsdp: full_shard | shard_grad_op | hybrid_shard |
# no_shard`: float16 with loss scaling, no weight decay for norms and biases, a linear schedule, an
# evaluation behind every epoch, the best checkpoint kept (OUT/STRATEGY/checkpoints/best). On one
# machine, all four are the same training: their losses differ by rounding.
#
#   bloom-strategies.sh [SETTING=VALUE...] [FLAG OF THE TRAINER...]
#   bloom-strategies.sh model=bloom-560m.onnx data=squad sequence=512 mesh=2x4 epochs=4 lr=5e-5
#
# `data` is a folder with input_ids, attention_mask and labels (NAME.npy), and the same for the
# evaluation in data/eval.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

model=$here/../models/s4-bloom-tiny-dynamo/model.onnx
data=$here/../models/s4-bloom-tiny-dynamo/data
sequence=64 batch=1 accumulation=2 # batch of one rank in a micro-batch
mesh=2x2 epochs=3 lr=1e-3
strategies="full grad_op hybrid none"
out=bloom
settings="model data sequence batch accumulation mesh epochs lr strategies out"
. "$here/settings.sh"

inputs=()
for name in input_ids attention_mask labels; do
  inputs+=(--data "$name=$data/$name.npy" --eval-data "$name=$data/eval/$name.npy")
done

for strategy in $strategies; do
  run=$out/$strategy
  mkdir -p "$run"
  shardc "$model" --mesh "$mesh" --strategy "$strategy" \
    --dim batch="$batch" --dim sequence="$sequence" --precision param=float16,reduce=float32 \
    --loss cross-entropy:logits=logits,labels=labels,shift=1 --quiet -o "$run/trainer"
  echo "== $strategy"
  "$run/trainer" "${inputs[@]}" --shuffle --epochs "$epochs" --grad-accumulation "$accumulation" \
    --lr "$lr" --schedule linear --weight-decay 0.01 --no-decay norm,bias --clip 1 \
    --eval-every 1e --keep-best eval_loss --checkpoint-keep 1 \
    --checkpoint-dir "$run/checkpoints" --resume auto \
    --metrics "$run/metrics.jsonl" --log-format hf "$@"
done

if is_dry_run "$@"; then exit; fi
# Of the lines of --metrics: those of steps and evaluations, and last the summary.
row() {
  awk -v strategy="$1" '
    function number(key) {
      return match($0, "\"" key "\":[^,}]+") ? substr($0, RSTART + length(key) + 3) + 0 : ""
    }
    /"step_seconds":/ { loss = number("loss"); seconds += number("step_seconds"); ++steps }
    /"event":"eval"/ { if (best == "" || number("loss") < best) best = number("loss") }
    /"event":"summary"/ {
      sub(/"rank":1,.*/, "") # all ranks plan for the same bytes
      for (bytes = 0; match($0, /"planned_bytes":/); bytes += $0 + 0)
        $0 = substr($0, RSTART + RLENGTH)
    }
    END {
      printf "%-18s %12.6f %12.6f %12.3f %14.3f\n", strategy, loss, best, 1000 * seconds / steps,
        bytes / 2^20
    }' "$2"
}
{
  printf '%-18s %12s %12s %12s %14s\n' strategy "last loss" "best eval" "ms per step" "MiB per rank"
  for strategy in $strategies; do
    row "$strategy" "$out/$strategy/metrics.jsonl"
  done
} | tee "$out/strategies.txt"
