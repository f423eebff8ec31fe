#!/usr/bin/env python3
"""Estimated steps beside those of PyTorch's default schedule, on the same constants.

    schedules.py [--model 8b 70b] [--mesh 8 64 ...] [--sequence 2048 8192] [--batch 1 2] [--check]

Compiles Llama-3.1's shapes for `dgx-h100` in bf16 and prints a table in Markdown. `ours` is
`--prefetch auto`. `FSDP2` is what fully_shard on every block and on the root does: a unit per block
and one for the rest, which is gathered first and kept until backward has ended; each gather begins
when the unit before begins to compute, in forward and in backward, and each reduction when its
unit's gradients are there. That is `--units block --prefetch 1`; its copies in and out of flat
buffers, which shardc has none of, are left out, and so is that FSDP2 waits for a reduction before
it begins the next one. `--check`: ends with 1 where ours is slower.
"""
import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile

import onnx

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARDC = os.path.join(ROOT, "build", "bin", "shardc")
SHAPES = {
    "8b": ["--layers", "32", "--dim", "4096", "--ffn", "14336", "--heads", "32"],
    "70b": ["--layers", "80", "--dim", "8192", "--ffn", "28672", "--heads", "64"],
}
SIDES = {
    "ours": ["--prefetch", "auto"],
    "FSDP2": ["--units", "block", "--prefetch", "forward=1,backward=1", "--embedding", "table"],
}


def make_model(name, sequence, folder):
    """The 8B graph is PyTorch's export; other depths are written with its shapes."""
    path = os.path.join(folder, f"{name}-{sequence}.onnx")
    if os.path.exists(path):
        return path
    if name == "8b":
        packed = os.path.join(ROOT, "test/models/s1-llama31-8b/model.onnx.xz")
        with lzma.open(packed) as source, open(path, "wb") as target:
            target.write(source.read())
        return path
    make = os.path.join(ROOT, "test/bench/make_llama.py")
    shape = [*SHAPES[name], "--kv-heads", "8", "--vocab", "128256", "--sequence", str(sequence)]
    subprocess.run([sys.executable, make, *shape, "-o", path], check=True)
    return path


def dims_of(model):
    """The names of the dims of the first input."""
    shape = onnx.load(model, load_external_data=False).graph.input[0].type.tensor_type.shape
    return [dim.dim_param for dim in shape.dim]


def estimate(model, mesh, sequence, batch, flags, folder):
    """The report of one compilation."""
    report = os.path.join(folder, "report.json")
    command = [SHARDC, model, "--dim", f"batch={batch}"]
    if "sequence" in dims_of(model):
        command += ["--dim", f"sequence={sequence}"]
    command += ["--init", "random", "--mesh", mesh, "--precision", "bf16", "--quiet"]
    command += ["--target", "cuda:sm_90", "--report", report]
    command += [] if "--cluster" in flags else ["--cluster", "dgx-h100"]
    command += ["--loss", "cross-entropy:logits=logits,labels=labels,shift=1"]
    command += ["-o", os.path.join(folder, "m.trainer"), *flags]
    subprocess.run(command, check=True)
    with open(report) as file:
        return json.load(file)


def cells(report):
    timeline = report["timeline"]
    seconds, exposed = timeline["step_seconds"], timeline["exposed_seconds"]
    memory = report["memory"]["peak_bytes"] / 1e9
    return f"{1e3 * seconds:.0f} ms, {100 * exposed / seconds:.2f} %, {memory:.1f} GB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", nargs="+", default=["8b"], choices=list(SHAPES))
    parser.add_argument("--mesh", nargs="+", default=["8", "64", "512"])
    parser.add_argument("--sequence", nargs="+", type=int, default=[2048, 8192])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    slower = []
    print("| model | ranks | tokens, batch | " + " | ".join(SIDES) + " |")
    print("|---|---|---|" + "---|" * len(SIDES), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.model:
            for mesh in arguments.mesh:
                for sequence in arguments.sequence:
                    for batch in arguments.batch:
                        model = make_model(name, sequence, folder)
                        reports = [
                            estimate(model, mesh, sequence, batch, flags, folder)
                            for flags in SIDES.values()
                        ]
                        row = f"| {name} | {mesh} | {sequence}, {batch} | "
                        print(row + " | ".join(map(cells, reports)) + " |", flush=True)
                        ours, peer = (r["timeline"]["step_seconds"] for r in reports)
                        if ours > peer:
                            slower.append(f"{row}: {ours} s, FSDP2 {peer} s")
    if arguments.check and slower:
        sys.exit("slower than FSDP2's schedule:\n" + "\n".join(slower))


if __name__ == "__main__":
    main()
