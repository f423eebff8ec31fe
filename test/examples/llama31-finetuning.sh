#!/bin/bash
# Llama 3.1 fine-tuned on 2 nodes of 8 devices: 16 ranks, bf16, accumulation, all numbers in a YAML
# file, a dataset as `datasets` saves it, and the result as a folder that transformers loads.
#
# The port of a torchrun script with FSDP, a YAML file of hyperparameters and save_pretrained. All
# ranks run on this machine. In the end the exported folder (OUT/hf, of the best evaluation)
# computes logits for the samples that are held out (OUT/logits.npy, float32), as the model of
# transformers does from that folder.
#
#   llama31-finetuning.sh [SETTING=VALUE...] [FLAG OF THE TRAINER...]
#   llama31-finetuning.sh config=8b.yaml model=llama31-8b.onnx weights=Llama-3.1-8B \
#     like=Llama-3.1-8B data=sft pad=128004
#
# `weights` is a folder of transformers, a checkpoint or a safetensors file, by default the values
# of `model`. `like` is the folder whose configuration and tokenizer the result has. `data` is what
# DatasetDict.save_to_disk left, with splits train and test and a column input_ids, padded with
# `pad` to the length of `dim: sequence`; labels are the ids themselves, without padding.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

config=$here/llama31-finetuning.yaml
model=$here/../models/s1-llama31-tiny/model.onnx # input input_ids, output logits
weights= like=$here/llama31-tiny
data=$here/questions pad=0
shard_size=5GB
out=llama31
settings="config model weights like data pad shard_size out"
. "$here/settings.sh"

shardc "$model" --config "$config" --quiet -o "$out/trainer"

labels=labels=@input_ids,ignore=$pad
held_out=(--eval-data input_ids="$data/test" --eval-data "$labels")
"$out/trainer" --config "$config" ${weights:+--weights "$weights"} \
  --data input_ids="$data/train" --data "$labels" "${held_out[@]}" \
  --checkpoint-dir "$out/checkpoints" --resume auto --metrics "$out/metrics.jsonl" "$@"

if is_dry_run "$@"; then exit; fi
shardc-ckpt export "$out/checkpoints/best" --to hf -o "$out/hf" --like "$like" \
  --shard-size "$shard_size"

# The same model as one rank in float32, with the weights of that folder.
shardc "$model" --config "$config" --mesh 1 --strategy full --precision float32 \
  --output-values logits --quiet -o "$out/predict"
"$out/predict" --weights "$out/hf" "${held_out[@]}" --steps 0 --predict "$out/logits.npy"
