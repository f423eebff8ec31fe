#!/usr/bin/env python3
"""Raises the reference models and compares what is left with the table below: every op, by number.

    raise_counts.py SHARDC_OPT MODELS

Runs each model at batch 2, sequence 32, up to its attached loss. The head counts as
linear_cross_entropy.
"""
import collections
import os
import re
import subprocess
import sys

LLAMA = dict(
    attention=4,
    linear=28,
    linear_cross_entropy=1,
    rms_norm=9,
    rope=8,
    silu=4,
    mul=4,
    add=8,
    embedding=1,
)
GPT2 = dict(
    attention=3, linear=12, linear_cross_entropy=1, layer_norm=7, gelu=3, add=7, embedding=1
)
LLAMA31 = dict(
    attention=3,
    linear=21,
    linear_cross_entropy=1,
    rms_norm=7,
    rope=6,
    silu=3,
    add=6,
    embedding=1,
    # angles from frequencies, a buffer of the model
    mul=4,
    concat=1,
    cos=1,
    sin=1,
)
BLOOM = dict(
    attention=4,
    linear=16,
    linear_cross_entropy=1,
    layer_norm=10,
    gelu=4,
    add=8,
    embedding=1,
    # ALiBi's positions and the mask of keys, from the input mask
    cumsum=1,
    sub=1,
    mul=2,
    cast=2,
)
ENCODER = dict(attention=4, linear=17, linear_cross_entropy=1, layer_norm=9, gelu=4, add=8)
SEQUENCE = "batch=2,sequence=32"
SHIFTED = "cross-entropy:logits=logits,labels=labels,shift=1"
PLAIN = "cross-entropy:logits=logits,labels=labels"
# model: (dims, loss, what is left, what attention's mask is)
MODELS = {
    "s0-mlp-transformer-tiny-dynamo": ("batch=2", PLAIN, ENCODER, ""),
    "s0-mlp-transformer-tiny-dynamo-zero-bias": ("batch=2", PLAIN, ENCODER, ""),
    "s0-mlp-transformer-tiny-legacy": ("batch=2", PLAIN, ENCODER, ""),
    "s0-mlp-transformer-tiny-legacy-folded": ("batch=2", PLAIN, ENCODER, ""),
    "s1-llama31-tiny": (SEQUENCE, SHIFTED, LLAMA31, "causal"),
    "s2-llama-tiny-causal": (SEQUENCE, SHIFTED, LLAMA, "causal"),
    "s2-llama-tiny-mask": (SEQUENCE, SHIFTED, LLAMA, "bias"),
    "s2-llama-tiny-mask-fullrows": (SEQUENCE, SHIFTED, LLAMA, "bias"),
    "s2-llama-tiny-mask-opset23": (SEQUENCE, SHIFTED, LLAMA, "bias"),
    "s4-bloom-tiny-dynamo": (SEQUENCE, SHIFTED, BLOOM, "bias causal key_mask"),
    "s4-bloom-tiny-legacy": (SEQUENCE, SHIFTED, BLOOM, "bias causal key_mask"),
    "gpt2-tiny": (SEQUENCE, SHIFTED, GPT2, "causal"),
    "mlp-tiny-loss": ("batch=2", "", dict(linear=2, linear_cross_entropy=1, relu=1, tanh=1), ""),
}
# They move nothing, or only what is small.
VIEWS = {"reshape", "slice", "broadcast", "constant", "get_parameter"}


def raised(opt, path, dims, loss):
    passes = [f"-onnx-import=path={path} dims={dims} allow-missing-weights", "-nn-raise"]
    passes.append(f"-nn-attach-loss=loss={loss}" if loss else "-nn-attach-loss")
    process = subprocess.run([opt, *passes], input="module {}", capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{path}: {process.stderr.strip()}")
    return process.stdout


def main():
    opt, models = sys.argv[1:]
    wrong = 0
    for model, (dims, loss, expected, mask) in MODELS.items():
        text = raised(opt, os.path.join(models, model, "model.onnx"), dims, loss)
        ops = collections.Counter(re.findall(r"^ +(?:%[^=]* = )?nn\.(\w+)", text, re.M))
        del ops["parameter"]
        left = {op: n for op, n in ops.items() if op not in VIEWS}
        masks = set()
        for line in re.findall(r"nn\.attention (.*?) :", text):
            masks.add(
                " ".join(
                    word
                    for word in ("bias", "causal", "key_mask")
                    if re.search(rf"\b{word}\b", line)
                )
            )
        if left != expected:
            wrong += 1
            print(f"{model}: expects {expected}, got {left}")
        if masks != ({mask} if "attention" in expected else set()):
            wrong += 1
            print(f"{model}: expects attention's mask to be '{mask}', got {sorted(masks)}")
    print(f"{len(MODELS)} models, {wrong} differences")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
