#!/usr/bin/env python3
"""Has cuDNN make plans for the attention of models, on an H200 that is described to it, and says
what workspace they take.

    cudnn_plans.py BUILD MODELS...                    every model that stands in these folders
    cudnn_plans.py BUILD MODELS... --cudnn FOLDER...  cuDNN from these folders, one after the other
    cudnn_plans.py BUILD MODELS... --markdown docs/gpu-kernels.md

Nothing runs, and no GPU is needed: build/bin/cudnn-plans makes the plans as a trainer does, on a
driver that has no device. Fails where cuDNN has no plan for attention that a trainer would ask it
for, or one that takes more than the trainer's plan has.
"""
import argparse
import glob
import json
import lzma
import os
import site
import subprocess
import sys
import tempfile

import gpu_models

DESCRIPTION = os.path.join(os.path.dirname(__file__), "..", "emulated-cuda", "cudnn", "h200.json")
SONAME = "libcudnn.so.9"
# What models do not have: other head dims, lengths, masks and biases.
SHAPES = (
    "batch=2,queries=512,heads=12,dim=24,causal=1",
    "batch=2,queries=512,heads=12,dim=40",
    "batch=2,queries=512,heads=8,dim=80,causal=1",
    "batch=2,queries=1024,heads=12,groups=3,dim=96,causal=1",
    "batch=1,queries=2048,heads=16,groups=4,dim=192,value_dim=128,causal=1",
    "batch=1,queries=1024,heads=8,groups=4,dim=256,causal=1",
    "batch=1,queries=8192,heads=32,groups=8,dim=128,causal=1,left=4095",
    "batch=2,queries=1024,heads=8,groups=4,dim=64,causal=1,left=511,mask=1",
    "batch=4,queries=100,heads=8,groups=2,dim=64,causal=1",
    "batch=2,queries=128,keys=384,heads=12,dim=64",
    "batch=8,queries=512,heads=12,dim=64,mask=1",
    "batch=2,queries=512,heads=12,groups=3,dim=64,mask=1,causal=1",
    "batch=2,queries=1024,heads=16,dim=64,bias=010,causal=1",
    "batch=2,queries=512,heads=8,dim=64,bias=101",
    "batch=1,queries=512,heads=8,dim=64,bias=111",
    "batch=1,queries=8192,heads=32,groups=8,dim=128,causal=1",
    "batch=3,queries=4096,heads=32,groups=8,dim=128,causal=1",
)
BEGIN, END = "<!-- cudnn_plans.py -->", "<!-- end -->"


def folders():
    """Where cuDNN is: CUDA's toolkit, or PyPI's package of this Python."""
    toolkit = sorted(glob.glob("/usr/local/cuda*/lib64"), reverse=True)
    packages = [
        os.path.join(f, "nvidia", "cudnn", "lib")
        for f in [*site.getsitepackages(), site.getusersitepackages()]
    ]
    return [f for f in [*packages, *toolkit] if os.path.exists(os.path.join(f, SONAME))]


def compile_model(build, path, name, folder):
    if path.endswith(".xz"):
        unpacked = os.path.join(folder, name + ".onnx")
        with lzma.open(path) as packed, open(unpacked, "wb") as model:
            model.write(packed.read())
        path = unpacked
    dims, loss = gpu_models.recipe(name)
    trainer = os.path.join(folder, name)
    words = [os.path.join(build, "bin", "shardc"), path, "-o", trainer, "-q", "--init", "random"]
    words += ["--precision", "bf16", "--target", "cuda:sm_90"]
    for dim in dims.split(","):
        words += ["--dim", dim]
    if loss:
        words += ["--loss", loss]
    done = subprocess.run(words, capture_output=True, text=True)
    return trainer if done.returncode == 0 else None


def plans(build, cudnn, what):
    """The version, and what cudnn-plans says of trainers and shapes."""
    libraries = [os.path.join(build, "described-cuda"), cudnn]
    # PyPI's packages have the libraries that cuDNN needs beside it, or the toolkit does.
    libraries += glob.glob(os.path.join(cudnn, "..", "..", "*", "lib"))
    libraries += sorted(glob.glob("/usr/local/cuda*/lib64"), reverse=True)
    done = subprocess.run(
        [os.path.join(build, "bin", "cudnn-plans"), DESCRIPTION, *what],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)},
    )
    if done.returncode:
        raise SystemExit(f"cudnn-plans with {cudnn}: {(done.stderr or done.stdout).strip()}")
    first, *lines = (json.loads(line) for line in done.stdout.splitlines())
    number = first["cudnn"]
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}", lines


def shape(line):
    """What an entry is, in words."""
    text = f"{line['batch']}, {line['queries']}"
    if line["keys"] != line["queries"]:
        text += f" × {line['keys']}"
    heads = [line["heads"]] + [line["groups"]] * (line["groups"] != line["heads"])
    dims = [line["dim"]] + [line["value_dim"]] * (line["value_dim"] != line["dim"])
    text += f", {'/'.join(map(str, heads))}, {'/'.join(map(str, dims))}"
    added = ["causal"] * line["causal"]
    if "left" in line:
        added.append(f"{line['left']} keys before")
    added += ["mask of keys"] * line["mask"]
    if line["bias"]:
        added.append("bias [" + ", ".join(map(str, line["bias"])) + "]")
    return text, ", ".join(added)


def faults(line):
    """What a trainer cannot do with cuDNN, of what it would ask it for."""
    ways = line.get("ways", {})
    wrong = []
    for name in ("forward", "atomic"):
        if name in ways and not ways[name].get("fits"):
            wrong.append(f"{name}: {ways[name]}")
    for name, way in ways.items():
        # In order since 9.25; scores lie in memory where there is room.
        if "why" in way and name != "ordered":
            wrong.append(f"{name}: {way['why']}")
    return wrong


def computed(line):
    if line["taken"] != "own":
        return {"forward": "cuDNN", "scores": "cuDNN, scores", "ordered": "cuDNN, in order"}[
            line["taken"]
        ]
    # Long reasons are told apart by what they speak of.
    why = line["why"]
    reasons = {"workspace": "workspace", "multiples": "length"}
    return "own: " + next((short for word, short in reasons.items() if word in why), why)


def table(versions):
    """Rows of Markdown: workspaces with the first version, and what computes with each."""
    by_shape = {}
    for version, lines in versions:
        for line in lines:
            text, added = shape(line)
            key = text, added
            of = by_shape.setdefault(key, {"name": os.path.basename(line["of"])})
            # Of entries alike, evaluation's keeps no log_sum_exp: what trains comes first.
            of.setdefault((version, line["direction"]), line)
    heads = ["attention of", "batch, length, heads, dims", "added", "forward", "of"]
    heads += ["backward: any order", "scores", "in order", "of"]
    heads += [f"computed by ({v}): forward" for v, _ in versions]
    heads += [f"backward ({v})" for v, _ in versions]
    rows = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    number = lambda way: f"{way['bytes']:,}" if "bytes" in way else "none"
    for (text, added), of in by_shape.items():
        forward, backward = (of[versions[0][0], d] for d in ("forward", "backward"))
        latest = of[versions[-1][0], "backward"].get("ways", {})
        cells = [of["name"] if "=" not in of["name"] else "", text, added]
        cells += [number(forward.get("ways", {}).get("forward", {})), f"{forward['planned']:,}"]
        ways = backward.get("ways", {})
        cells += [number(ways.get("atomic", {})), number(ways.get("scores", {}))]
        cells += [number(latest.get("ordered", {})), f"{backward['planned']:,}"]
        cells += [computed(of[v, "forward"]) for v, _ in versions]
        cells += [computed(of[v, "backward"]) for v, _ in versions]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--skip", default="", help="names of models, by commas")
    parser.add_argument("--cudnn", nargs="+", default=folders()[:1])
    parser.add_argument("--markdown")
    options = parser.parse_args()
    if not options.cudnn:
        raise SystemExit(f"there is no {SONAME}: name its folder with --cudnn")
    with tempfile.TemporaryDirectory() as folder:
        what = []
        for name, path in gpu_models.models(options.models).items():
            if name in options.skip.split(","):
                continue
            trainer = compile_model(options.build, path, name, folder)
            if trainer:
                what.append(trainer)
        versions = [plans(options.build, each, [*what, *SHAPES]) for each in options.cudnn]
    wrong = 0
    for version, lines in versions:
        for line in lines:
            for fault in faults(line):
                print(f"cuDNN {version}: {' '.join(shape(line))}, {line['direction']}: {fault}")
                wrong += 1
        taken = sum(line["taken"] != "own" for line in lines)
        print(f"cuDNN {version}: {len(lines)} entries, {taken} taken, {wrong} faults")
    if options.markdown:
        with open(options.markdown, encoding="utf-8") as file:
            before, _, rest = file.read().partition(BEGIN)
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n{table(versions)}\n{END}{rest.partition(END)[2]}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
