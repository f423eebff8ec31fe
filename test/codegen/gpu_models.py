#!/usr/bin/env python3
"""Builds the kernels of models for a GPU, and says what ptxas makes of them.

    gpu_models.py SHARDC MODELS...                       every model that stands in these folders
    gpu_models.py SHARDC MODELS... --markdown docs/gpu-kernels.md

Fails where a kernel is refused, does not assemble, spills registers, or keeps memory of its
threads' own. Models in float32 and bfloat16 with the batch of one rank; their values are not
needed.
"""
import argparse
import glob
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap

SHIFTED = "cross-entropy:logits=logits,labels=labels,shift=1"
PLAIN = "cross-entropy:logits=logits,labels=labels"
# Models whose loss is no cross entropy of logits with one label a sample: dims, and the loss
# (none: the graph's own).
KNOWN = {
    "mlp-tiny-loss": ("batch=8", ""),
    "preference-tiny": ("batch=8", ""),
    "W1": ("batch=2", PLAIN),
    "W2": ("batch=2", PLAIN),
    "W3": ("batch=8", PLAIN),
    "W4": ("batch=32", PLAIN),
    "W5": ("batch=32", PLAIN),
    "W6": ("batch=8", PLAIN),
    "gpt2-124m": ("batch=2,sequence=1024", SHIFTED),
    "s2-llama-pretrain-12l": ("batch=2,sequence=1024", SHIFTED),
    "s1-llama31-8b": ("batch=1,sequence=4096", SHIFTED),
    "s4-bloom-560m": ("batch=1,sequence=1024", SHIFTED),
}
ARCHITECTURES = {"sm_80", "sm_90", "sm_100"}


def recipe(name):
    if name in KNOWN:
        return KNOWN[name]
    if name.startswith(("s0", "vision", "resnet")):
        return "batch=8", PLAIN
    return "batch=8,sequence=64", SHIFTED


def models(folders):
    """Name and path of each model; equal files (links) count once."""
    found, seen = {}, set()
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*", "model.onnx*"))):
            name, real = os.path.basename(os.path.dirname(path)), os.path.realpath(path)
            if not path.endswith((".onnx", ".onnx.xz")) or real in seen or name in found:
                continue
            seen.add(real)
            found[name] = path
    return found


def build(shardc, path, name, precision, gpu, folder):
    """What --report says of the GPU's kernels; their PTX lies in `folder`."""
    if path.endswith(".xz"):
        unpacked = os.path.join(folder, "model.onnx")
        with lzma.open(path) as packed, open(unpacked, "wb") as model:
            model.write(packed.read())
        path = unpacked
    dims, loss = recipe(name)
    report, kernels = os.path.join(folder, "report.json"), os.path.join(folder, "kernels")
    words = [
        shardc,
        path,
        "--init",
        "random",
        "--mesh",
        "2",
        "--precision",
        precision,
        "--kernels",
        kernels,
        "--target",
        f"cuda:{gpu}",
        "--report",
        report,
        "-q",
    ]
    for dim in dims.split(","):
        words += ["--dim", dim]
    if loss:
        words += ["--loss", loss]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    with open(report) as file:
        made = json.load(file)["compiled_kernels"]
    for kernel in made["kernels"]:
        ptx = os.path.join(kernels, kernel["name"] + ".ptx")
        if os.path.exists(ptx):
            with open(ptx) as file:
                text = file.read()
            kernel["local"] = ".local" in text
    return made, ""


def faults(kernel):
    if kernel["refusal"]:
        return [f"refused: {kernel['refusal']}"]
    wrong = []
    if kernel["registers"] is None:
        wrong.append("not assembled")
    elif kernel["spill_bytes"]:
        wrong.append(f"spills {kernel['spill_bytes']} bytes")
    if kernel.get("local"):
        wrong.append("keeps memory of its threads' own")
    return wrong


def row(name, precision, kernels):
    of = {kind: sum(k["kind"] == kind for k in kernels) for kind in ("loop", "row", "column")}
    registers = [k["registers"] for k in kernels if k["registers"] is not None]
    spills = sum(k["spill_bytes"] or 0 for k in kernels)
    shared = max((k["shared_bytes"] or 0 for k in kernels), default=0)
    assembled = sum(k["registers"] is not None for k in kernels)
    return (
        f"| {name} | {precision} | {of['loop']} | {of['row']} | {of['column']} | {assembled} of"
        f" {len(kernels)} | {statistics.median(registers):.0f} | {max(registers)} | {spills} |"
        f" {shared} |"
    )


HEADER = """# Kernels for GPUs

What `shardc MODEL.onnx --kernels DIR --target cuda:{gpu}` builds, with the batch of one rank
(`test/codegen/gpu_models.py` has the sizes): kernels of each kind, how many ptxas assembled,
registers of a thread (median and most), bytes that spill (sum), and bytes of shared memory of a
block (most). What was tested without a GPU `docs/decisions/0012-one-body-two-targets.md` says, what
has run on one `docs/performance.md`.

Made by `test/codegen/gpu_models.py build/bin/shardc MODELS... --markdown docs/gpu-kernels.md`,
where MODELS are folders of models.

| model | precision | loop | row | column | assembled | registers | most | spilled | shared |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--gpu", default="sm_90", choices=sorted(ARCHITECTURES))
    parser.add_argument("--precisions", default="float32,bf16")
    parser.add_argument("--skip", default="", help="names of models, by commas")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    rows, wrong, uncompiled, total, bodies = [], 0, [], 0, set()
    for name, path in models(options.folders).items():
        if name in options.skip.split(","):
            continue
        for precision in options.precisions.split(","):
            with tempfile.TemporaryDirectory() as folder:
                made, error = build(options.shardc, path, name, precision, options.gpu, folder)
            if made is None:
                print(f"{name} {precision}: {error}")
                uncompiled.append(f"{name} ({precision})")
                continue
            for kernel in made["kernels"]:
                for fault in faults(kernel):
                    print(f"{name} {precision}: {kernel['name']} {fault}")
                    wrong += 1
                bodies.add(kernel["name"])
            total += len(made["kernels"])
            rows.append(row(name, precision, made["kernels"]))
            print(rows[-1], flush=True)
    print(
        f"{total} kernels, {len(bodies)} different names, {wrong} faults, {len(uncompiled)} models"
        " not compiled"
    )
    if options.markdown:
        result = (
            f"Together {total} kernels, {len(bodies)} different names; {wrong} refused, not"
            " assembled or with spills."
        )
        if uncompiled:
            result += f" Not compiled, on any target: {', '.join(uncompiled)}."
        result = textwrap.fill(result, 100, break_on_hyphens=False)
        # What follows is of the runtime's own kernels, and written by hand.
        with open(options.markdown, encoding="utf-8") as file:
            own = file.read().partition("\n## ")
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(HEADER.format(gpu=options.gpu) + "\n".join(rows) + f"\n\n{result}\n")
            file.write(own[1] + own[2])
    return wrong != 0 or bool(uncompiled) or not rows


if __name__ == "__main__":
    sys.exit(main())
