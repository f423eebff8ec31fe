"""Runs of small models beside the numbers that PyTorch's had, recorded in float64.

The bounds came with the numbers: those of the tests on the CPU (test/training/parity.py).
"""
import json
import os
import struct
from array import array

from bundle import Failed, read_metrics

# An emulated GPU takes seconds for each; a real one takes the recipe's.
EMULATED_STEPS = 3
CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i"}


def read_safetensors(path):
    """{name: array}; the format is https://github.com/huggingface/safetensors#format."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length).decode())
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        stored = data[entry["data_offsets"][0] : entry["data_offsets"][1]]
        if entry["dtype"] == "BF16":  # the upper half of a float32
            halves = array("H", stored)
            tensors[name] = array("f", b"".join(struct.pack("<HH", 0, each) for each in halves))
        else:
            tensors[name] = array(CODES[entry["dtype"]], stored)
    return tensors


def worst_relative(got, want):
    """Infinite where numbers are missing, or are none."""
    if len(got) != len(want):
        return float("inf")
    worst = 0.0
    for one, other in zip(got, want):
        deviation = abs(one - other) / max(abs(other), 1e-300)
        if not deviation <= worst:
            worst = deviation if deviation == deviation else float("inf")
    return worst


def worst_gradient(got, want, relative, absolute):
    """The worst deviation, and the tensor that has it, in units of what is allowed: `relative` of
    the tensor's largest, or `absolute` of the model's."""
    largest = max(max(map(abs, values), default=0.0) for values in want.values())
    worst, where = 0.0, ""
    for name, values in want.items():
        if name not in got or len(got[name]) != len(values):
            return float("inf"), name
        allowed = max(relative * max(map(abs, values), default=0.0), absolute * largest)
        for one, other in zip(got[name], values):
            deviation = abs(one - other) / allowed
            if not deviation <= worst:
                worst = deviation if deviation == deviation else float("inf")
                where = name
    return worst, where


def check(bundle, report, run):
    name = f"parity: {run['model']} {run['precision']}"
    metrics, gradients = (os.path.join(bundle.folder, f) for f in ("m.jsonl", "g.safetensors"))
    steps = min(run["steps"], EMULATED_STEPS) if bundle.gpu.is_emulated else run["steps"]
    words = [bundle.trainer(run["trainer"])] + bundle.flags(run, steps)
    try:
        bundle.command(words + ["--metrics", metrics, "--export-gradients", gradients])
    except Failed as error:
        report.failed(name, str(error))
        return
    done, _ = read_metrics(metrics)
    problems, said = [], []
    for what, key in (("losses", "loss"), ("norms", "grad_norm")):
        if what not in run["bounds"]:
            continue
        deviation = worst_relative([step[key] for step in done], run[what][:steps])
        said.append(f"{what} {deviation:.1e} ({run['bounds'][what]:.1e})")
        if not deviation < run["bounds"][what]:
            problems.append(what)
    if "gradients" in run["bounds"]:
        want = read_safetensors(bundle.path(run["gradients"]))
        for lost in run["lost_parameters"]:
            want.pop(lost, None)
        relative, absolute = run["bounds"]["gradients"]
        worst, where = worst_gradient(read_safetensors(gradients), want, relative, absolute)
        said.append(f"gradients {worst * relative:.1e} ({relative:.1e})")
        if not worst < 1:
            problems.append(f"gradients of {where}")
    detail = f"{steps} steps, {', '.join(said)}"
    if problems:
        detail += f"; out of bounds: {', '.join(problems)}"
    report.check(name, not problems, detail)


def run(bundle, report):
    for each in bundle.runs("parity"):
        check(bundle, report, each)
