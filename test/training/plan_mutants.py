#!/usr/bin/env python3
"""Seeded defects of plans, and what shardc-check says of each.

    plan_mutants.py [--count N] [--seed S] [--quiet]

A mutant changes the plan of a trainer in one place, as a defect of a pass could. It is run: where
it ends otherwise than the trainer, or with other bits, in steps of one micro-batch or of two, it
changes a result, and must be caught. The first finding should name the entry or the buffer that
was changed, or where that is gone or moved, one that has to do with the same memory.
"""
import argparse
import collections
import math
import os
import re
import subprocess
import sys
import tempfile

from edited_plan import edit
from plan_defects import mutants
from reference import BUILD, models

CHECK = os.path.join(BUILD, "bin", "shardc-check")
MUON = ["--optimizer", "muon"]
STAYS = ["--reshard-after-backward", "never"]
# Model, mesh, samples of a rank, flags.
TRAINERS = (
    ("mlp-tiny-loss", "2", 8, ["--units", "size:17kB"]),
    ("gpt2-tiny", "2x2", 2, ["--strategy", "hybrid_opt", "--units", "block"]),
    ("s2-llama-tiny-mask", "4", 2, ["--reshard-after-forward", "2", "--units", "block"]),
    ("gpt2-tiny", "2x2", 2, ["--strategy", "hybrid", "--accumulate", "unsharded", *STAYS]),
    ("s2-llama-tiny-mask", "2x2", 2, ["--strategy", "hybrid_opt", *MUON, "--units", "block"]),
    ("mlp-tiny-loss", "2", 8, MUON),
    ("s2-llama-tiny-mask", "3", 2, [*MUON, "--units", "block"]),
    ("s2-llama-tiny-mask", "4", 2, ["--embedding", "rows", "--units", "scope:embed|layers"]),
)
REFERENCE = ["--strategy", "none", "--remat", "none", "--disable-pass", "step-write-in-place"]


class Bench:
    """The trainers, their references and what they compute."""

    def __init__(self, folder):
        self.folder, self.plans = folder, []
        known = models()
        self.models = [known[name] for name, *_ in TRAINERS]
        for i, (name, mesh, batch, flags) in enumerate(TRAINERS):
            ranks = math.prod(map(int, mesh.split("x")))
            model = known[name]
            model.compile(self.path(i), mesh, "float32", *flags, batch=batch * ranks)
            reference = [*REFERENCE, *(MUON if "muon" in flags else [])]
            model.compile(self.path(i, "reference"), "1", "float32", *reference, batch=batch)
            edit(self.path(i), self.path(i, "same"), self.plans.append)
        self.expected = [self.run(i, self.path(i)) for i in range(len(TRAINERS))]
        assert not any(
            isinstance(end, str) for ends in self.expected for end in ends
        ), self.expected

    def path(self, i, what="trainer"):
        return os.path.join(self.folder, f"{i}.{what}")

    def run(self, i, trainer):
        """What three steps end with, of one micro-batch each and of two."""
        return [self.run_once(i, trainer, batches) for batches in (1, 2)]

    def run_once(self, i, trainer, batches):
        with tempfile.TemporaryDirectory() as folder:
            exported = os.path.join(folder, "f.safetensors")
            words = [trainer, "--steps", 2, "--lr", 1e-2, "--clip", 0.1, "--eval-every", 2]
            words += ["--export-safetensors", exported, "--grad-accumulation", batches]
            for name, path in self.models[i].data().items():
                words += ["--data", f"{name}={path}", "--eval-data", f"{name}={path}"]
            try:
                process = subprocess.run(
                    list(map(str, words)), capture_output=True, text=True, timeout=20
                )
            except subprocess.TimeoutExpired:
                return "does not end"
            if process.returncode:
                return f"exit code {process.returncode}: {process.stderr[-200:]}"
            with open(exported, "rb") as file:
                shown = re.findall(r"loss (\S+)", process.stdout)
                return shown, hash(file.read())

    def changes(self, i, plan):
        path = self.path(i, "mutant")
        edit(self.path(i), path, lambda of: of.CopyFrom(plan))
        changed = self.run(i, path)
        os.remove(path)
        return changed != self.expected[i]

    def check(self, i, plan):
        """The findings of a mutant."""
        path = self.path(i, "plan")
        with open(path, "wb") as file:
            file.write(plan.SerializeToString())
        process = subprocess.run(
            [CHECK, path, "--reference", self.path(i, "reference")], capture_output=True, text=True
        )
        if process.returncode not in (0, 1):
            return [f"shardc-check ended with {process.returncode}: {process.stderr}"]
        lines = [line.partition(": ")[2] for line in process.stderr.splitlines()]
        return [line for line in lines if not line.startswith("error: ")]


class Tally:
    def __init__(self):
        self.rows = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.missed, self.misnamed = [], []

    def add(self, kind, what, changes, findings, names):
        row = self.rows[kind]
        named = bool(findings) and any(name in findings[0] for name in names)
        for column, counts in enumerate((True, changes, bool(findings), named)):
            row[column] += counts
        if changes and not findings:
            self.missed.append(f"{kind}: {what}")
        if findings and not named:
            self.misnamed.append(f"{kind}: {what}: {findings[0]}")

    def total(self):
        return [sum(column) for column in zip(*self.rows.values())]


def measure(folder, count, seed, shows=lambda line: None):
    bench, tally = Bench(folder), Tally()
    for i in range(len(TRAINERS)):
        assert bench.check(i, bench.plans[i]) == [], TRAINERS[i]
    for which, name, plan, mutation in mutants(bench.plans, count, seed):
        findings = bench.check(which, plan)
        changes = bench.changes(which, plan)
        tally.add(name, f"{TRAINERS[which][0]} {mutation.what}", changes, findings, mutation.names)
        shows(f"{name} | {mutation.what} | {changes} | {findings[:1]}")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=432)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = measure(
            folder, args.count, args.seed, lambda line: args.quiet or print(line, flush=True)
        )
    print("\n| defect | mutants | change a result | caught | named |\n|---|---|---|---|---|")
    for name, row in tally.rows.items():
        print(f"| {name.replace('_', ' ')} | {' | '.join(map(str, row))} |")
    print(f"| all | {' | '.join(map(str, tally.total()))} |")
    print("\n".join(["not caught:", *tally.missed, "named otherwise:", *tally.misnamed]))
    return 1 if tally.missed else 0


if __name__ == "__main__":
    sys.exit(main())
