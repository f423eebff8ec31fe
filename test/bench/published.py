#!/usr/bin/env python3
"""Estimated steps beside published throughputs of PyTorch's FSDP on H100s.

    published.py [--only 7b 13b] [--check PERCENT] [--json FILE] [--set-constants]

The rows are MosaicML's measurements of MPT models (llm-foundry, scripts/train/benchmarking, "H100
80GB BF16", commit 061f2c7c), all of 512 to 8192 tokens: bf16, FULL_SHARD, flash attention, eight
GPUs a node. Each is compiled with that schedule (a unit per block, one ahead; `--remat unit` where
the row checkpoints activations) and with the samples of a micro-batch, as a Llama graph whose
products have the same FLOP (ffn = 8/3 dim). What a step is estimated to take gives tokens a second.

Rates of data sheets are what nothing reaches, so the machine is described by what is reached. Of
links that is a part of the data sheet's (RATES). Four constants are those of the software, and each
is set by one row, which is not judged (SET_BY): the rate of products by one of short samples and
many tokens, that of attention by one of long samples, that of all else by a small model, and what
compute loses beside collectives by one of few tokens a GPU. `--set-constants` sets them again.
Prints a table in Markdown and the median error.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from schedules import ROOT, estimate

# Of an H100 SXM: 80 % of NVLink's 450 GB/s and 90 % of a 400 Gb/s network card.
RATES = dict(inside=0.8 * 450, between=0.9 * 50)
MEMORY = 3350  # GB/s
PEAK = 989.4  # dense bfloat16, TFLOP/s
VOCABULARY = 50368
# Layers, dim, heads.
SHAPES = {
    "760m": (24, 1536, 12),
    "1b": (24, 2048, 16),
    "3b": (32, 2560, 20),
    "7b": (32, 4096, 32),
    "13b": (40, 5120, 40),
    "30b": (48, 7168, 56),
    "70b": (80, 8192, 64),
}
# The constants, by row, with the bounds in which they are looked for.
SET_BY = {
    "products": (("7b", 1024, 8), 0.2 * PEAK, PEAK),
    "attention": (("7b", 8192, 8), 0.02 * PEAK, PEAK),
    "memory": (("1b", 2048, 8), 0.2 * MEMORY, MEMORY),
    "slowdown": (("13b", 2048, 64), 0.5, 0),
}
CONSTANTS = {"products": 688.7, "attention": 185.5, "memory": 892.5, "slowdown": 0.2954}
# Model, tokens of a sample, GPUs, samples of a micro-batch, micro-batches, activation
# checkpointing, published tokens a second and GPU.
ROWS = [
    ("7b", 2048, 8, 6, 1, False, 10643),
    ("7b", 1024, 8, 64, 2, True, 10203),
    ("7b", 4096, 8, 16, 2, True, 8611),
    ("7b", 8192, 8, 8, 2, True, 6935),
    ("13b", 1024, 8, 40, 3, True, 5502),
    ("13b", 2048, 8, 2, 1, False, 4792),
    ("13b", 2048, 16, 2, 1, False, 4767),
    ("13b", 2048, 32, 2, 1, False, 4811),
    ("13b", 2048, 64, 2, 1, False, 4800),
    ("13b", 4096, 8, 10, 3, True, 4717),
    ("30b", 1024, 8, 6, 21, True, 2084),
    ("30b", 2048, 8, 3, 21, True, 2002),
    ("30b", 2048, 16, 10, 3, True, 2263),
    ("30b", 2048, 32, 14, 3, True, 2308),
    ("30b", 4096, 8, 1, 21, True, 1802),
    ("30b", 8192, 8, 1, 21, True, 1384),
    ("70b", 2048, 32, 2, 16, True, 882),
    ("70b", 2048, 64, 8, 4, True, 1039),
    ("3b", 512, 8, 40, 6, False, 27965),
    ("3b", 1024, 8, 20, 6, False, 27046),
    ("3b", 2048, 16, 10, 3, False, 24142),
    ("3b", 2048, 32, 6, 3, False, 23021),
    ("3b", 2048, 64, 6, 3, False, 22525),
    ("3b", 4096, 8, 5, 6, False, 20964),
    ("3b", 8192, 8, 3, 6, False, 16578),
    ("1b", 512, 8, 56, 4, False, 52275),
    ("1b", 1024, 8, 18, 4, False, 48910),
    ("1b", 2048, 8, 14, 1, False, 45455),
    ("1b", 2048, 16, 20, 1, False, 46037),
    ("1b", 2048, 32, 20, 1, False, 45130),
    ("1b", 2048, 64, 20, 1, False, 44402),
    ("1b", 4096, 8, 7, 4, False, 38535),
    ("1b", 8192, 8, 3, 4, False, 29157),
    ("760m", 512, 8, 96, 2, False, 83749),
    ("760m", 1024, 8, 48, 2, False, 78581),
    ("760m", 2048, 8, 24, 2, False, 63147),
    ("760m", 2048, 16, 24, 1, False, 68551),
    ("760m", 2048, 32, 24, 1, False, 67971),
    ("760m", 4096, 8, 12, 2, False, 55459),
    ("760m", 8192, 8, 6, 2, False, 41825),
]


def make_model(name, sequence, folder):
    path = os.path.join(folder, f"{name}-{sequence}.onnx")
    if not os.path.exists(path):
        layers, dim, heads = SHAPES[name]
        shape = ["--layers", layers, "--dim", dim, "--ffn", round(8 * dim / 3 / 32) * 32]
        shape += ["--heads", heads, "--kv-heads", heads, "--vocab", VOCABULARY]
        make = os.path.join(ROOT, "test/bench/make_llama.py")
        words = [sys.executable, make, *shape, "--sequence", sequence, "-o", path]
        subprocess.run([str(word) for word in words], check=True)
    return path


def write_cluster(folder, constants):
    path = os.path.join(folder, "reached.toml")
    with open(path, "w") as file:
        file.write(
            "memory_gb = 80\nranks_per_node = 8\n"
            f"memory_bandwidth_gb_per_s = {constants['memory']}\n"
            f"collective_slowdown = {constants['slowdown']}\n"
            f"inside_node = {{bandwidth_gb_per_s = {RATES['inside']}, latency_us = 3.4}}\n"
            f"between_nodes = {{bandwidth_gb_per_s = {RATES['between']}, latency_us = 14}}\n"
            "tflop_per_s = {float64 = 66.9, float32 = 66.9, "
            f"bfloat16 = {constants['products']}, attention = {constants['attention']}}}\n"
        )
    return path


def optimizer_seconds(name, ranks, memory):
    """What AdamW takes once a step: gradient, master and states in float32, and the parameter."""
    layers, dim, _ = SHAPES[name]
    elements = (12 * layers * dim * dim + 2 * VOCABULARY * dim) / ranks
    return elements * (4 + 6 * 4 + 2) / (memory * 1e9)


def tokens_per_second(row, constants, folder):
    name, sequence, ranks, batch, micro_batches, checkpoints, _ = row
    flags = ["--units", "block", "--prefetch", "forward=1,backward=1", "--embedding", "table"]
    flags += ["--remat", "unit" if checkpoints else "none"]
    flags += ["--buffer", r"^(two|eps|scale|rotary\..*)$"]
    flags += ["--cluster", write_cluster(folder, constants)]
    model = make_model(name, sequence, folder)
    report = estimate(model, str(ranks), sequence, batch, flags, folder)
    step = report["timeline"]["step_seconds"]
    seconds = micro_batches * step - (micro_batches - 1) * optimizer_seconds(
        name, ranks, constants["memory"]
    )
    return batch * sequence * micro_batches / seconds


def set_constants(folder):
    """Those with which the rows that set them take what was published."""
    constants = {
        "products": 0.5 * PEAK,
        "attention": 0.25 * PEAK,
        "memory": 0.8 * MEMORY,
        "slowdown": 0.1,
    }
    for _ in range(3):  # each depends a bit on the others
        for name, (key, low, high) in SET_BY.items():
            row = next(row for row in ROWS if row[:3] == key)
            for _ in range(10):
                constants[name] = (low + high) / 2
                if tokens_per_second(row, constants, folder) < row[-1]:
                    low = constants[name]
                else:
                    high = constants[name]
    return constants


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(SHAPES), help="models")
    parser.add_argument(
        "--check", type=float, metavar="PERCENT", help="end with 1 where the median error is more"
    )
    parser.add_argument("--json", metavar="FILE", help="write every figure")
    parser.add_argument("--set-constants", action="store_true", help="by the rows that set them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        constants = set_constants(folder) if arguments.set_constants else CONSTANTS
        setting = [key for key, *_ in SET_BY.values()]
        for name, key in zip(SET_BY, setting):
            print(f"{name}: {constants[name]:.4g}, by", *key)
        print("| model | tokens | GPUs | micro-batch | checkpoints | published | estimated | off |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        figures = []
        for row in ROWS:
            name, sequence, ranks, batch, micro_batches, checkpoints, published = row
            if row[:3] in setting or name not in (arguments.only or SHAPES):
                continue
            estimated = tokens_per_second(row, constants, folder)
            figures.append((*row, estimated))
            print(
                f"| {name} | {sequence} | {ranks} | {batch} x {micro_batches} | "
                f"{'all' if checkpoints else ''} | {published} | {estimated:.0f} | "
                f"{estimated / published - 1:+.1%} |",
                flush=True,
            )
    errors = [abs(estimated / published - 1) for *_, published, estimated in figures]
    print(
        f"{len(errors)} rows: median error {statistics.median(errors):.1%}, most {max(errors):.1%}"
    )
    median = 100 * statistics.median(errors)
    if arguments.check is not None and median > arguments.check:
        sys.exit(f"median error {median:.1f} %, more than {arguments.check} %")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"constants": constants, "rows": figures}, file, indent=1)


if __name__ == "__main__":
    main()
