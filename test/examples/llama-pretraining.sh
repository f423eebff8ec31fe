#!/bin/bash
# A Llama trained from scratch on token files: bf16, warm-up and cosine, clipping, checkpoints.
#
# The port of a torchrun script with fully_shard and MixedPrecisionPolicy(bf16, reduce float32),
# LinearLR and CosineAnnealingLR, clip_grad_norm_ and dcp. The same command starts a run and goes on
# with one that was killed, at the sample where the last checkpoint was.
#
#   llama-pretraining.sh [SETTING=VALUE...] [FLAG OF THE TRAINER...]
#   llama-pretraining.sh model=llama-12l.onnx tokens='fineweb/*.bin' held_out=val.bin \
#     sequence=2048 ranks=4 batch=8 steps=100000 warmup=2000 every=1000 \
#     units=class:LlamaDecoderLayer prefetch=2 out=/scratch/llama
#
# `tokens` and `held_out` are files of token ids; dtype is that of raw ids, and empty for files of
# llm.c and Megatron, which know their own. By default they are the bytes of two licences. `mask` is
# the model's input for a mask of attention, and empty where the model makes its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

model=$here/../models/s2-llama-tiny-mask/model.onnx # input input_ids, output logits
mask=attn_mask
tokens= held_out= dtype=uint16
sequence=64 pad=0              # pad: the id that fills a document's last window, and is no label
ranks=2 batch=4 accumulation=2 # batch of one rank in a micro-batch
steps=60 warmup=10 lr=1e-3 every=10
units=auto prefetch=1 seed=1
out=llama
settings="model mask tokens held_out dtype sequence pad ranks batch accumulation steps warmup lr
every units prefetch seed out"
. "$here/settings.sh"

# Bytes as ids of 16 bits.
bytes_as_tokens() { iconv -f latin1 -t utf-16le "/usr/share/common-licenses/$1" >"$2"; }
if [[ -z $tokens ]]; then
  tokens=$out/train.bin held_out=$out/held-out.bin
  bytes_as_tokens GPL-3 "$tokens"
  bytes_as_tokens GPL-2 "$held_out"
fi
format=${dtype:+,dtype=$dtype},pad=$pad

shardc "$model" --mesh "$ranks" --dim batch="$batch" --dim sequence="$sequence" \
  --precision param=bf16,reduce=float32 --units "$units" --prefetch "$prefetch" --init random \
  --loss cross-entropy:logits=logits,labels=labels,shift=1 --quiet -o "$out/trainer"

# The loss shifts: labels are the ids themselves.
inputs=()
take() {
  inputs+=("$1" input_ids="$2$format" "$1" labels=@input_ids,ignore="$pad")
  [[ -z $mask ]] || inputs+=("$1" "$mask=@input_ids,causal,padding=$pad")
}
take --data "$tokens"
[[ -z $held_out ]] || take --eval-data "$held_out"

exec "$out/trainer" "${inputs[@]}" --shuffle --seed "$seed" \
  --steps "$steps" --grad-accumulation "$accumulation" \
  --lr "$lr" --betas 0.9,0.99 --weight-decay 0.1 --clip 1 \
  --schedule cosine --warmup-steps "$warmup" --warmup-start-factor 0.1 \
  --init-group 'match=embed,normal=0,0.02' \
  --checkpoint-dir "$out/checkpoints" --checkpoint-every "$every" --checkpoint-keep 3 \
  --resume auto --metrics "$out/metrics.jsonl" --html "$out/run.html" "$@"
