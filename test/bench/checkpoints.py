"""What saving costs: each workload with saves and without, in turn, and PyTorch's dcp.async_save.

W1 saves every 50 steps, W4 every 10. A row has the time of the measured steps with saves over that
without; what the longest wait for a save took, and what copying the state of a rank takes; the rate
at which a checkpoint was written, and that of `dd conv=fsync` of as many bytes to the same folder.
Steps that FSDP2 needs include what it waits for its saves.
"""
import os
import shutil
import statistics
import subprocess
import time

import numpy as np

from report import Target
from sides import Fsdp2, Shardc
from workloads import Prepared

EVERY = {"W1": 50, "W4": 10}
MEASURED = {"W1": 50, "W4": 200}
QUICK = {"W1": 4, "W4": 20}


def seconds_of_copy(bytes):
    """Of the best of three copies."""
    source = np.ones(bytes // 8)
    target = np.zeros_like(source)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return best


def seconds_of_dd(folder, bytes):
    path = os.path.join(folder, "dd")
    start = time.perf_counter()
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={path}", "bs=16M", f"count={-(-bytes // 2**24)}", "conv=fsync"],
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - start
    os.remove(path)
    return seconds


def total(run, warmup):
    return sum(run["seconds"][warmup:])


def bench(names, a, peers, folder):
    """The figures of each run, and the targets."""
    results, targets = [], []
    threads = min(a.ranks, os.cpu_count())
    for name in [n for n in names if n in EVERY]:
        prepared = Prepared(name, folder)
        measured = QUICK[name] if a.quick else MEASURED[name]
        every = max(1, measured // 2) if a.quick else EVERY[name]
        # Half a period before the first save: as many steps measured as there are in its periods.
        warmup = max(1, every // 2)
        to = os.path.join(folder, "checkpoints")
        ours = Shardc(prepared, a.ranks, threads)
        rounds = []
        for _ in range(a.pairs):
            plain = ours.run(warmup, measured, a.wait)
            shutil.rmtree(to, ignore_errors=True)
            flags = ("--checkpoint-dir", to, "--checkpoint-every", every, "--checkpoint-keep", 1)
            saved = ours.train(warmup, measured, flags)
            theirs = None
            if peers:
                peer = Fsdp2(prepared, a.ranks, threads, "eager")
                shutil.rmtree(to + "-dcp", ignore_errors=True)
                theirs = peer.train(
                    warmup, measured, ("--save-every", every, "--save-to", to + "-dcp")
                )
                shutil.rmtree(to + "-dcp", ignore_errors=True)
            # The last save is the run's end's, which no step waits for.
            within = saved["checkpoints"][:-1] or saved["checkpoints"]
            bytes = within[0]["bytes"]
            dd = seconds_of_dd(folder, bytes)
            rounds.append(
                dict(
                    throughput=total(plain, warmup) / total(saved, warmup),
                    waited=max(each["longest_wait_seconds"] for each in within),
                    longest=max(saved["seconds"][warmup:]),
                    median=statistics.median(saved["seconds"][warmup:]),
                    copy=seconds_of_copy(bytes // a.ranks),
                    written=bytes / statistics.median(each["write_seconds"] for each in within),
                    dd=bytes / dd,
                    bytes=bytes,
                    data=statistics.median(
                        d / s for d, s in zip(plain["data_seconds"], plain["seconds"])
                    ),
                    fsdp2=total(theirs, warmup) / total(saved, warmup) if theirs else None,
                )
            )
            shutil.rmtree(to, ignore_errors=True)
        middle = {
            key: statistics.median(r[key] for r in rounds)
            for key in rounds[0]
            if rounds[0][key] is not None
        }
        print(
            f"{name}  saving every {every} steps, {middle['bytes'] / 1e6:.0f} MB:"
            f" {middle['throughput']:.3f} of the throughput without;"
            f" waited {middle['waited'] * 1e3:.1f} ms at most, a copy of a rank's state takes"
            f" {middle['copy'] * 1e3:.1f} ms; written at {middle['written'] / 1e6:.0f} MB/s,"
            f" dd conv=fsync {middle['dd'] / 1e6:.0f};"
            f" waits for data {middle['data']:.2%} of a step"
            + (f"; {middle['fsdp2']:.1f} times FSDP2" if "fsdp2" in middle else "")
        )
        results.append({"workload": name, "ranks": a.ranks, "rounds": rounds})
        if name == "W1":
            targets.append(Target("W1 saving: part of its throughput", middle["throughput"], 0.98))
        if name == "W4" and "fsdp2" in middle:
            targets.append(
                Target("W4 saving: samples/s over FSDP2 with async_save", middle["fsdp2"], 4)
            )
        targets += [
            Target(
                f"{name} saving: longest wait over a copy of a rank's state",
                middle["waited"] / middle["copy"],
                1,
                at_least=False,
            ),
            Target(
                f"{name} saving: rate over that of dd conv=fsync",
                middle["written"] / middle["dd"],
                0.8,
            ),
            Target(f"{name}: waits for data, % of a step", 100 * middle["data"], 1, at_least=False),
        ]
    return results, targets
