#!/usr/bin/env python3
"""The whole way on this machine: a small Llama, compiled and trained on two ranks.

The text is that of Debian's licences.

Ends well only if the trained model's loss on held-out text is below what a unigram model of that
text reaches. Leaves the trainer, the metrics and the trained ONNX model in build/demo.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LICENCES = "/usr/share/common-licenses"
MODEL = os.path.join(ROOT, "test", "models", "s2-llama-tiny-causal", "model.onnx")
SEQUENCE, BATCH, RANKS = 128, 8, 2


def run(*words):
    print(
        "$",
        " ".join(os.path.relpath(w, ROOT) if os.path.isabs(w) else w for w in words),
        flush=True,
    )
    if subprocess.run(words, cwd=ROOT).returncode:
        sys.exit(f"demo: error: {os.path.basename(words[0])} failed")


def read_text():
    names = sorted(n for n in os.listdir(LICENCES) if not os.path.islink(os.path.join(LICENCES, n)))
    return b"\n".join(open(os.path.join(LICENCES, n), "rb").read() for n in names)


def write_samples(text, folder):
    """Bytes are the tokens. Every 20th sample is held out. Returns the unigram model's loss on the
    held-out text, in nats."""
    tokens = np.frombuffer(text, np.uint8)
    samples = tokens[: len(tokens) // SEQUENCE * SEQUENCE].reshape(-1, SEQUENCE).astype(np.int64)
    held = np.arange(len(samples)) % 20 == 19
    np.save(os.path.join(folder, "train.npy"), samples[~held])
    np.save(os.path.join(folder, "held-out.npy"), samples[held])
    # One more each: no byte is impossible.
    counts = np.bincount(samples[~held].ravel(), minlength=256) + 1
    return float(-np.log(counts / counts.sum())[samples[held]].mean()), len(samples)


def draw(losses, level, width=72, height=14):
    """The losses over the steps, and the unigram model's as a dotted line."""
    columns = [float(np.mean(c)) for c in np.array_split(losses, min(width, len(losses)))]
    top, bottom = max(columns + [level]), min(columns + [level])
    row_of = lambda value: round((top - value) / (top - bottom or 1) * (height - 1))
    for row in range(height):
        line = "".join(
            "●" if row_of(c) == row else ("┄" if row == row_of(level) else " ") for c in columns
        )
        label = top - (top - bottom) * row / (height - 1)
        print(f"{label:6.2f} │{line}" + ("  unigram" if row == row_of(level) else ""))
    print("       └" + "─" * len(columns) + f"  step {len(losses)}")


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    folder = os.path.join(ROOT, "build", "demo")
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    unigram, count = write_samples(read_text(), folder)
    print(
        f"text: {count} samples of {SEQUENCE} bytes from {LICENCES}; a unigram model reaches a loss"
        f" of {unigram:.3f}"
    )
    run(
        os.path.join(ROOT, "build", "bin", "shardc"),
        MODEL,
        "--mesh",
        str(RANKS),
        "--dim",
        f"batch={BATCH}",
        "--dim",
        f"sequence={SEQUENCE}",
        "--loss",
        "cross-entropy:logits=logits,labels=labels,shift=1",
        "-o",
        path("llama.trainer"),
    )
    data = [
        w
        for name in ("input_ids", "labels")
        for w in (
            "--data",
            f"{name}={path('train.npy')}",
            "--eval-data",
            f"{name}={path('held-out.npy')}",
        )
    ]
    if os.path.exists(path("metrics.jsonl")):
        os.remove(path("metrics.jsonl"))  # the trainer would keep the last run's beside it
    run(
        path("llama.trainer"),
        *data,
        "--steps",
        str(steps),
        "--eval-every",
        str(max(1, steps // 4)),
        "--lr",
        "3e-3",
        "--schedule",
        "cosine",
        "--warmup-steps",
        str(steps // 10),
        "--weight-decay",
        "0.1",
        "--clip",
        "1",
        "--shuffle",
        "--seed",
        "1",
        "--init",
        "random",
        "--metrics",
        path("metrics.jsonl"),
        "--export-onnx",
        path("trained.onnx"),
    )
    with open(path("metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    draw([l["loss"] for l in lines if "event" not in l], unigram)
    final = [l["loss"] for l in lines if l.get("event") == "eval"][-1]
    print(f"held-out loss {final:.3f}, unigram {unigram:.3f}")
    print(
        f"trained model: {os.path.relpath(path('trained.onnx'), ROOT)}; trainer:"
        f" {os.path.relpath(path('llama.trainer'), ROOT)}"
    )
    if not final < unigram:
        sys.exit("demo: error: the model did not learn more than a unigram model knows")


if __name__ == "__main__":
    main()
