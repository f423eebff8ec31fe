#!/usr/bin/env python3
"""What training gives, to the bit: hashes of what the tiny models compute.

Of losses, norms, first gradients and last parameters. Recorded before a change
that must not change any number, and compared after it, on one machine (the CPU chooses the kernels,
and with them the bits).

  record_bits.py BITS.json               records, with the build that SHARDC_BUILD names
  record_bits.py BITS.json --against OLD.json
"""
import argparse
import hashlib
import itertools
import json
import os
import sys
import tempfile

from reference import MODELS, CommandFailed, models, read_metrics
from strategies import ACCUMULATIONS, MESHES, STRATEGIES, fits, ranks_of

PRECISIONS = ("float32", "float64", "bf16", "float16")
OPTIMIZERS = ("adamw", "adam", "sgd")  # those of the first record
STEPS = 6


def cases(names):
    """(model, mesh, strategy, accumulation, precision, flags): all of the smallest model; of the
    others each value of each in turn."""
    meshes = ("1", *MESHES)
    for mesh, strategy, accumulation, precision in itertools.product(
        meshes, STRATEGIES, ACCUMULATIONS, PRECISIONS
    ):
        if fits(strategy, mesh) and (mesh != "1" or strategy == "full"):
            yield "mlp-tiny-loss", mesh, strategy, accumulation, precision, ()
    for optimizer, precision, mesh in itertools.product(OPTIMIZERS[1:], PRECISIONS, ("1", "4")):
        yield "mlp-tiny-loss", mesh, "full", ACCUMULATIONS[0], precision, ("--optimizer", optimizer)
    for name in names:
        if name == "mlp-tiny-loss":
            continue
        accumulations, precisions = itertools.cycle(ACCUMULATIONS), itertools.cycle(PRECISIONS)
        for mesh, strategy in itertools.product(meshes, STRATEGIES):
            if fits(strategy, mesh) and (mesh != "1" or strategy == "full"):
                yield name, mesh, strategy, next(accumulations), next(precisions), ()
        for precision in PRECISIONS:
            yield name, "2", "full", ACCUMULATIONS[0], precision, ()


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


def bits(model, mesh, strategy, accumulation, precision, flags, folder):
    path = lambda name: os.path.join(folder, name)
    micro_batches, accumulate = accumulation
    batch = max(model.batch, ranks_of(mesh) * micro_batches)
    model.compile(
        path("m.trainer"),
        mesh,
        precision,
        "--strategy",
        strategy,
        "--accumulate",
        accumulate,
        *flags,
        batch=batch // micro_batches,
    )
    more = ["--grad-accumulation", micro_batches] if micro_batches > 1 else []
    model.train(
        path("m.trainer"),
        "--metrics",
        path("m.jsonl"),
        "--export-gradients",
        path("g.safetensors"),
        "--export-safetensors",
        path("f.safetensors"),
        *more,
        steps=STEPS,
        optimizer=flags[flags.index("--optimizer") + 1] if "--optimizer" in flags else "adamw",
    )
    steps, _ = read_metrics(path("m.jsonl"))
    result = {
        "losses": [s.get("loss") for s in steps],
        "norms": [s.get("grad_norm") for s in steps],
    }
    for what, name in (("gradients", "g.safetensors"), ("parameters", "f.safetensors")):
        with open(path(name), "rb") as file:
            result[what] = digest(file.read())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bits", metavar="BITS.json")
    parser.add_argument("--against", metavar="OLD.json")
    args = parser.parse_args()
    known = {
        name: model
        for name, model in models().items()
        if "tiny" in name and model.folder.startswith(MODELS)
    }
    found, different = {}, 0
    old = {}
    if args.against:
        with open(args.against, encoding="utf-8") as file:
            old = json.load(file)
    for name, *case, flags in cases(known):
        label = " ".join([name, *map(str, case), *flags])
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[label] = bits(known[name], *case, flags, folder)
            except CommandFailed as error:  # a refusal is a result, too
                found[label] = {"refused": str(error).splitlines()[-1].replace(folder, "FOLDER")}
        if args.against and found[label] != old.get(label):
            different += 1
            print(f"{label}: {old.get(label)} -> {found[label]}", flush=True)
    with open(args.bits, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    refused = sum("refused" in result for result in found.values())
    print(
        f"{len(found)} cases, {refused} refused"
        + (f", {different} differ from {args.against}" if args.against else "")
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
