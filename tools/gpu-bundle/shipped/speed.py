"""Tokens a second of models with values that are drawn at random."""
import os
import random
import shutil
import statistics
import struct
import subprocess
import threading

from bundle import Failed, read_metrics

# What lies in a device beside the plan: its context, and the libraries' own.
BESIDE_THE_PLAN = 1 << 30
# A model of which more is in memory has no room for all activations as torch keeps them.
LARGE = 50 * 10**9


def write_ids(path, vocabulary, samples, sequence):
    """A .npy file of int64 ids."""
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d, %d), }" % (samples, sequence)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    draw = random.Random(1234)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _ in range(samples):
            ids = [draw.randrange(vocabulary) for _ in range(sequence)]
            file.write(struct.pack(f"<{sequence}q", *ids))


class Clocks:
    """The device's clock and power while something runs, as nvidia-smi says."""

    def __init__(self):
        self.seen = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def _watch(self):
        smi = shutil.which("nvidia-smi")
        words = [
            smi,
            "--query-gpu=clocks.sm,power.draw",
            "--format=csv,noheader,nounits",
            "-i",
            "0",
        ]
        while smi and not self.ended.wait(2):
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            try:
                self.seen.append(tuple(map(float, done.stdout.decode().split(","))))
            except ValueError:
                return

    def __str__(self):
        if not self.seen:
            return "clocks unknown"
        clock, power = max(self.seen, key=lambda each: each[1])
        return f"{clock:.0f} MHz at {power:.0f} W"


def measure(bundle, run, folder):
    data, metrics = os.path.join(folder, "ids.npy"), os.path.join(folder, "m.jsonl")
    write_ids(data, run["vocabulary"], run["batch"] * 4, run["sequence"])
    given = ["--metrics", metrics]
    for name in ("input_ids", "labels"):
        given += ["--data", f"{name}={data}"]
    trainer = [bundle.trainer(run["trainer"])]
    # Entries are timed one by one, which graphs are faster than.
    bundle.command(trainer + bundle.flags(run, min(run["steps"], 7)) + given + ["--profile"])
    _, summary = read_metrics(metrics)
    with Clocks() as clocks:
        bundle.command(trainer + bundle.flags(run, run["steps"]) + given)
    steps, _ = read_metrics(metrics)
    # The first ones are enqueued and captured.
    seconds = statistics.median(step["step_seconds"] for step in steps[5:])
    kinds = sorted(summary["step_milliseconds"].items(), key=lambda each: -each[1])
    profile = ", ".join(f"{kind} {time:.2f}" for kind, time in kinds if time >= 0.005)
    return run["batch"] * run["sequence"] / seconds, seconds, profile, clocks


def run(bundle, report):
    for each in bundle.runs("speed"):
        name = f"speed: {each['model']} {each['precision']}, S {each['sequence']}"
        if each.get("compile"):
            name += ", " + " ".join(each["compile"])
        needed = each["bytes"] + BESIDE_THE_PLAN
        if bundle.gpu.is_emulated:
            report.skipped(name, "an emulated GPU has no speed")
            continue
        if needed > bundle.gpu.bytes:
            size = bundle.gpu.bytes / 1e9
            report.skipped(name, f"it needs {needed / 1e9:.1f} GB, and the GPU has {size:.1f}")
            continue
        try:
            rate, seconds, profile, clocks = measure(bundle, each, bundle.folder)
        except Failed as error:
            report.failed(name, str(error))
            continue
        goal = next((goal for gpu, goal in each["goals"].items() if gpu in bundle.gpu.name), None)
        detail = f"{rate:.0f} tokens/s, {seconds * 1e3:.1f} ms a step, {clocks}; ms: {profile}"
        if goal:
            detail = f"{rate:.0f} of {goal} tokens/s" + detail.partition("tokens/s")[2]
        report.check(name, not goal or rate >= goal, detail)
