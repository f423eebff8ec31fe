#!/bin/bash
# A classifier on synthetic samples: AdamW, a checkpoint every 10 batches, MLflow.
#
# The port of a notebook with fully_shard, dcp.save every 10 batches and mlflow.log_metric. With
# MLFLOW_TRACKING_URI=http://host:5000 the server gets parameters, metrics and the trained model;
# MLFLOW_EXPERIMENT_NAME and MLFLOW_RUN_NAME say where. Started again, with more epochs, it goes on
# from the last checkpoint. Exit code 3: the loss did not come below `below`.
#
#   classifier-mlflow.sh [SETTING=VALUE...] [FLAG OF THE TRAINER...]
#   classifier-mlflow.sh model=classifier-10m.onnx ranks=8 batch=16 samples=10000 epochs=5
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

model=$here/../models/s0-mlp-transformer-tiny-dynamo/model.onnx # input x, output logits
init=file                                                       # or random: as layers draw them
ranks=2 batch=8                                                 # batch of one rank
samples=128 seed=42 epochs=5
lr=1e-3 below=2
out=classifier
settings="model init ranks batch samples seed epochs lr below out"
. "$here/settings.sh"

shardc "$model" --mesh "$ranks" --dim batch="$batch" --init "$init" \
  --loss cross-entropy:logits=logits,labels=labels --quiet -o "$out/trainer"

"$out/trainer" --data synthetic:"$seed" --data-limit "$samples" --epochs "$epochs" \
  --lr "$lr" --weight-decay 0.01 \
  --checkpoint-dir "$out/checkpoints" --checkpoint-every 10 --resume auto \
  --metrics "$out/metrics.jsonl" --html "$out/run.html" \
  --export-safetensors "$out/model.safetensors" --export-onnx "$out/model.onnx" \
  --expect-loss-below "$below" "$@"

if is_dry_run "$@"; then exit; fi
shardc-ckpt verify "$out/checkpoints"
