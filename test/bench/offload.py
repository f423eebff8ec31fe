#!/usr/bin/env python3
"""The bandwidth of optimizer state that lies in a file, beside that of the disk.

  offload.py [--folder DIR] [--width 4096] [--steps 8]

A model of seven products of width x width (bf16 parameters, float32 masters, AdamW) trains on one
rank with --offload optimizer. Every step reads and writes 12 bytes of each parameter. The bound is
what dd takes to read and to write as many bytes in the same folder without the page cache
(iflag=direct, oflag=direct), in blocks as large as a transfer, one direction after the other.
Printed are both, in seconds of a step, and their ratio: the part of the disk's bandwidth that whole
steps reach, forward and backward included.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "training"))

from reference import command, read_metrics
from test_offload import large

# A part of a unit has masters and two states in 16 MiB (step-offload).
TRANSFER = (16 << 20) // 3 // 4096 // 4 * 4096 * 4


def seconds_of_dd(folder, bytes):
    """To write a file of so many bytes over another, and to read it."""
    path = os.path.join(folder, "dd")
    blocks = [f"bs={TRANSFER}", f"count={-(-bytes // TRANSFER)}"]
    write = ["dd", "if=/dev/zero", f"of={path}", "oflag=direct", "conv=notrunc", *blocks]
    read = ["dd", f"if={path}", "of=/dev/null", "iflag=direct", *blocks]
    subprocess.run(write, check=True, capture_output=True)
    seconds = []
    for words in (write, read):
        text = subprocess.run(words, check=True, capture_output=True, text=True).stderr
        seconds.append(float(text.splitlines()[-1].split(", ")[-2].split()[0]))
    os.remove(path)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="on the disk")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=8, help="the first two are not counted")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        model = large(folder, a.width)
        bytes = 12 * sum(values.size for values in model.parameters.values())
        precision = "param=bf16,reduce=bf16"
        times = {}
        for name, flags, run in (
            ("memory", (), ()),
            ("file", ("--offload", "optimizer"), ("--offload-dir", folder)),
        ):
            trainer = os.path.join(folder, name)
            metrics = trainer + ".jsonl"
            model.compile(trainer, "1", precision, *flags, batch=8)
            model.train(trainer, "--metrics", metrics, *run, steps=a.steps)
            steps, _ = read_metrics(metrics)
            times[name] = statistics.median(s["step_seconds"] for s in steps[2:])
        rounds = [seconds_of_dd(folder, bytes) for _ in range(3)]
        written, read = (statistics.median(s) for s in zip(*rounds))
        bound = written + read
        print(f"state in the file: {bytes / 1e6:.0f} MB, read and written every step")
        print(f"a step, state in memory:  {times['memory']:.3f} s")
        print(f"a step, state in a file:  {times['file']:.3f} s")
        print(
            f"dd, direct:               {bound:.3f} s ({bytes / written / 1e6:.0f} MB/s written,"
            f" {bytes / read / 1e6:.0f} MB/s read)"
        )
        print(f"of the disk's bandwidth:  {bound / times['file']:.2f}")


if __name__ == "__main__":
    main()
