#!/usr/bin/env python3
"""Which units --units auto finds in the reference models, as they are and without any
name: the same blocks.

    units_auto.py SHARDC MODELS [MODEL...]

The table says what a reader of the models expects: the module that each block is, and what stands
apart from the blocks. A model without names is the same file after strip_names.py. There the
exporter's merging of equal tensors cannot be taken apart: a tensor that several parameters share is
left out of the comparison.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

import strip_names

LOGITS = "cross-entropy:logits={logits},labels=labels"
SEQUENCE = ("batch=2", "sequence=32")
ENDS = {"embedding", "head"}
TIED = {"tied", *ENDS}
# model: (dims, loss, module list of the blocks, their numbers, units besides them)
TABLE = {
    "gpt2-124m": (SEQUENCE, LOGITS, "transformer.h", range(12), TIED),
    "gpt2-tiny": (SEQUENCE, LOGITS, "transformer.h", range(3), TIED),
    "mlp-tiny-loss": (("batch=2",), "", "layers", (0, 2, 4), set()),
    "s0-mlp-transformer-tiny-dynamo": (("batch=2",), LOGITS, "blocks", range(4), ENDS),
    "s0-mlp-transformer-tiny-dynamo-zero-bias": (("batch=2",), LOGITS, "blocks", range(4), ENDS),
    "s0-mlp-transformer-tiny-legacy": (("batch=2",), LOGITS, "blocks", range(4), ENDS),
    "s0-mlp-transformer-tiny-legacy-folded": (("batch=2",), LOGITS, "blocks", range(4), ENDS),
    "s0-transformer-10m": (("batch=2",), LOGITS, "blocks", range(4), ENDS),
    "s1-llama31-tiny": (SEQUENCE, LOGITS, "model.layers", range(3), ENDS),
    "s1-llama31-8b": (SEQUENCE, LOGITS, "model.layers", range(32), ENDS),
    "s2-llama-pretrain-12l": (SEQUENCE, LOGITS, "layers", range(12), ENDS),
    "s2-llama-pretrain-12l-mask": (SEQUENCE, LOGITS, "layers", range(12), ENDS),
    "s2-llama-tiny-causal": (SEQUENCE, LOGITS, "layers", range(4), ENDS),
    "s2-llama-tiny-mask": (SEQUENCE, LOGITS, "layers", range(4), ENDS),
    "s2-llama-tiny-mask-fullrows": (SEQUENCE, LOGITS, "layers", range(4), ENDS),
    "s2-llama-tiny-mask-opset23": (SEQUENCE, LOGITS, "layers", range(4), ENDS),
    "s4-bloom-560m": (SEQUENCE, LOGITS, "transformer.h", range(24), TIED),
    "s4-bloom-tiny-dynamo": (SEQUENCE, LOGITS, "transformer.h", range(4), TIED),
    "s4-bloom-tiny-legacy": (SEQUENCE, LOGITS, "transformer.h", range(4), TIED),
    "vision-vit-tiny": (("batch=2",), LOGITS, "layers", range(2), ENDS),
    "bench/W3": (("batch=2",), LOGITS, "model.blocks", range(4), ENDS),
    "bench/W4": (("batch=2",), LOGITS, "model.blocks", range(4), {"head"}),
}
# Of each kind of block it has one; preference-tiny has two towers (test_preference.py).
ELSEWHERE = {"vision-cnn-tiny", "resnet-tiny", "preference-tiny"}
COSTS = re.compile(
    r"; (gather|all-reduce) [\d.]+ [kMGT]?B over 8 ranks: [\d.]+ [num]?s transfer, [\d.]+ [num]?s"
    r" latency; forward computes "
)


class Units:
    """What shardc assigned: {unit: [(parameter, initializer)]}, {unit: reason}."""

    def __init__(self, shardc, model, dims, loss, stored, *flags):
        words = [shardc, model, "--compile-to=raise", *flags, *(f"--dim={dim}" for dim in dims)]
        words += ["--loss", loss] if loss else []
        words += [] if stored else ["--init", "random"]
        process = subprocess.run(words, capture_output=True, text=True)
        if process.returncode:
            sys.exit(f"{model}: {process.stderr.strip()}")
        self.parameters = collections.defaultdict(list)
        for name, attributes in re.findall(
            r"^  nn\.parameter @(\S+) : \S+ (\{.*\})$", process.stdout, re.M
        ):
            if unit := re.search(r'nn\.unit = "([^"]*)"', attributes):
                initializer = re.search(r'initializer = "([^"]*)"', attributes)[1]
                self.parameters[unit[1]].append((name.strip('"'), initializer))
        reasons = re.search(r"fsdp\.unit_reasons = \[(.*?)\]\]", process.stdout)[1] + "]"
        self.reasons = dict(re.findall(r'\["([^"]*)", "([^"]*)"\]', reasons))

    def partition(self, renamed=None, only=None):
        """The initializers of each unit, in the names of the unstripped model."""
        sets = []
        for parameters in self.parameters.values():
            initializers = {renamed[i] if renamed else i for _, i in parameters}
            sets.append(frozenset(i for i in initializers if only is None or i in only))
        return {s for s in sets if s}


def problems(shardc, path, dims, loss, blocks, numbers, others):
    stored = os.path.isdir(os.path.join(os.path.dirname(path), "data"))
    loss = loss and loss + ("" if "sequence" not in str(dims) else ",shift=1")
    alone = Units(shardc, path, dims, loss.format(logits="logits"), stored)
    expected = {f"{blocks}.{number}" for number in numbers} | others
    if set(alone.parameters) != expected:
        yield f"expects the units {sorted(expected)}, got {sorted(alone.parameters)}"
    for unit, parameters in alone.parameters.items():
        for name, _ in parameters:
            owner = ".".join(name.split(".")[: blocks.count(".") + 2])
            if (owner if owner in expected else None) != (unit if unit not in others else None):
                yield f"{name} is in {unit}"
    eight = Units(
        shardc, path, dims, loss.format(logits="logits"), stored, "--mesh=8", "--cluster=dgx-h100"
    )
    for unit in {**alone.parameters, **eight.parameters}:
        reason = (eight if unit in eight.parameters else alone).reasons.get(unit, "")
        if not reason or (unit in eight.parameters and not COSTS.search(reason)):
            yield f"{unit} has the reason '{reason}'"

    with tempfile.TemporaryDirectory() as folder:
        names = strip_names.write(path, folder)
        original = {new: old for old, new in names.items()}
        flags = (dims, loss.format(logits=names.get("logits", "")), stored)
        counts = collections.Counter(
            i for parameters in alone.parameters.values() for _, i in parameters
        )
        for way in ("auto", "block"):
            stripped = Units(shardc, os.path.join(folder, "model.onnx"), *flags, f"--units={way}")
            known = {
                original[i] for parameters in stripped.parameters.values() for _, i in parameters
            }
            kept = {i for i, count in counts.items() if count == 1 and i in known}
            if not kept:
                yield "nothing is left to compare without names"
            if set(stripped.parameters) & expected - others:
                yield f"names survived: {sorted(stripped.parameters)}"
            with_names = (
                alone
                if way == "auto"
                else Units(
                    shardc, path, dims, loss.format(logits="logits"), stored, "--units=block"
                )
            )
            want, got = with_names.partition(only=kept), stripped.partition(original, kept)
            if want != got:
                difference = [sorted(s) for s in want ^ got]
                yield f"--units {way} finds other units without names; they differ in {difference}"


def main():
    shardc, folder, *models = sys.argv[1:]
    if not models:
        models = [m for m in TABLE if os.path.exists(os.path.join(folder, m, "model.onnx"))]
        present = {
            os.path.relpath(d, folder) for d, _, files in os.walk(folder) if "model.onnx" in files
        }
        if missing := sorted(present - set(models) - ELSEWHERE):
            sys.exit(f"not in the table: {missing}")
    wrong = 0
    for model in models:
        for problem in problems(shardc, os.path.join(folder, model, "model.onnx"), *TABLE[model]):
            wrong += 1
            print(f"{model}: {problem}")
    print(f"{len(models)} models, {wrong} differences")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
