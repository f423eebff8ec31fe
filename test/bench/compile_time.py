"""Section `compile`: what the compiler takes for full-size graphs without their weights, for 8
ranks and for 2x8."""
import json
import os
import statistics
import subprocess
import sys

from machine import BIN, run
from report import Target
from workloads import graph

HERE = os.path.dirname(os.path.abspath(__file__))
LOSS = "cross-entropy:logits=logits,labels=labels"
MESHES = ("8", "2x8")
# model of test/models: (what it is called, sequence, labels are shifted, most seconds, most
# MiB; None: no target)
MODELS = {
    "gpt2-124m": ("GPT-2 124M", 256, True, 10, None),
    "s2-llama-pretrain-12l": ("Llama, 12 layers, 180M", 512, False, None, None),
    "s4-bloom-560m": ("BLOOM-560M", 256, True, None, None),
    "s1-llama31-8b": ("Llama-3.1-8B", 512, True, 30, 2000e6 / 2**20),
}
LAYERS, GROWTH = (12, 48), 1.3  # seconds of the second over the first, at most
# Of these, alternating: a few hundred milliseconds each, and what else the machine does shows in
# them.
PAIRS = 11


def compile_once(path, mesh, dims, shift, folder):
    report = os.path.join(folder, "report.json")
    loss = LOSS + (",shift=1" if shift else "")
    ran = run(
        os.path.join(BIN, "shardc"),
        path,
        "--mesh",
        mesh,
        *(word for dim in dims for word in ("--dim", dim)),
        "--loss",
        loss,
        "--init",
        "random",
        "--quiet",
        "-o",
        os.path.join(folder, "compiled.trainer"),
        "--report",
        report,
    )
    with open(report) as file:
        return ran.seconds, ran.peak_mib, json.load(file)["kernels"]


def bench(folder, quick):
    """(figures, targets); a quick run compiles each once for 8 ranks."""
    print(f"\n{'compile':32} {'seconds':>8} {'kernels':>8} {'peak MiB':>9}")
    figures, targets = [], []

    def add(name, mesh, runs):
        row = {
            "model": name,
            "mesh": mesh,
            "seconds": statistics.median(r[0] for r in runs),
            "peak_mib": max(r[1] for r in runs),
            "kernels": runs[0][2],
        }
        figures.append(row)
        print(
            f"{f'{name}, --mesh {mesh}':32} {row['seconds']:8.2f} {row['kernels']:8}"
            f" {row['peak_mib']:9.0f}",
            flush=True,
        )
        return row

    for model, (name, sequence, shift, seconds, peak) in MODELS.items():
        path = graph(model, folder)
        for mesh in MESHES[:1] if quick else MESHES:
            row = add(
                name,
                mesh,
                [compile_once(path, mesh, ("batch=1", f"sequence={sequence}"), shift, folder)],
            )
            if seconds:
                targets.append(
                    Target(f"compile {name}, --mesh {mesh}", row["seconds"], seconds, False, "s")
                )
            if peak:
                targets.append(
                    Target(
                        f"compile {name}, --mesh {mesh}: memory",
                        row["peak_mib"],
                        peak,
                        False,
                        "MiB",
                    )
                )
    paths = {layers: os.path.join(folder, f"llama-{layers}.onnx") for layers in LAYERS}
    for layers, path in paths.items():
        subprocess.run(
            [
                sys.executable,
                os.path.join(HERE, "make_llama.py"),
                "--layers",
                str(layers),
                "-o",
                path,
            ],
            check=True,
        )
    runs = {layers: [] for layers in LAYERS}
    for _ in range(1 if quick else PAIRS):
        for layers, path in paths.items():
            runs[layers].append(compile_once(path, MESHES[0], ("batch=1",), False, folder))
    for layers in LAYERS:
        add(f"Llama, {layers} layers", MESHES[0], runs[layers])
    growth = statistics.median(
        deep[0] / shallow[0] for shallow, deep in zip(*(runs[layers] for layers in LAYERS))
    )
    targets.append(
        Target(f"compile {LAYERS[1]} layers over {LAYERS[0]}", growth, GROWTH, False, "x")
    )
    return figures, targets
