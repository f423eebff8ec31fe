"""Ranks as processes: each workload as one process, as a process per rank, and by PyTorch FSDP2, in
turn; collectives between two processes of a host beside gloo's; and 4 ranks as 2x2 `hybrid` in two
processes beside one.

The figures of collectives are those of --selftest, by reads of memory and by the network alone.
"""
import os
import re
import statistics

from machine import failed, run, wait_until_idle
from micro import objects
from report import Target
from sides import HERE, PEER_PYTHON, Fsdp2, Shardc, loss_mismatch
from workloads import Prepared

OVER_FSDP2 = {"W1": 3.0, "W2": 3.0, "W3": 2.5, "W4": 4.0}  # a process per rank on both sides
# Where products take most of a step, as without AVX-512, both sides are held by the same library.
OF_ONE = {"W1": 0.71, "W2": 0.71, "W3": 0.76, "W4": 0.4}
OF_ONE_PROCESS = 0.9  # hybrid, whose processes exchange shards of gradients alone
OVER_GLOO = {"memory": 4.0, "network": 1.0}
BYTES = 32_000_000
SELFTEST_ROW = re.compile(r"^ +32 MB +([\d.]+) us.*?([\d.]+) us", re.M)


def collectives(trainer):
    """Milliseconds of all-gather and reduce-scatter, by what carries them."""
    found = {}
    for carrier, flags in (("memory", []), ("network", ["--no-host-memory"])):
        text = run(trainer, "--selftest", "--nproc-per-node", 2, *flags).out
        row = SELFTEST_ROW.search(text)
        if not row or ("read each other's" in text) != (carrier == "memory"):
            failed(f"no self-test by {carrier}:\n{text}")
        found[carrier] = dict(
            zip(("all_gather", "reduce_scatter"), (float(us) / 1e3 for us in row.groups()))
        )
    return found


def bench_collectives(trainer, rounds):
    """Beside gloo, in turn."""
    figures, targets = [], []
    for _ in range(rounds):
        ours = collectives(trainer)
        gloo = objects(
            run(PEER_PYTHON, os.path.join(HERE, "gloo_collectives.py"), "--bytes", BYTES).out
        )[-1]
        figures.append({"shardc": ours, "gloo": gloo})
    for carrier, least in OVER_GLOO.items():
        for kind in ("all_gather", "reduce_scatter"):
            own = statistics.median(f["shardc"][carrier][kind] for f in figures)
            theirs = statistics.median(f["gloo"][f"{kind}_ms"] for f in figures)
            print(f"{kind:16} of 32 MB by {carrier:8} {own:7.2f} ms, gloo {theirs:7.2f} ms")
            targets.append(Target(f"{kind} by {carrier} over gloo's", theirs / own, least))
    return figures, targets


def alike(runs):
    """The losses of all, from the first step on, must be those of one process."""
    for other in runs[1:]:
        if wrong := loss_mismatch(other["losses"], runs[0]["losses"], 0):
            failed(f"{other['who']}: {wrong}")


def bench(names, a, peers, folder):
    """The figures of each run, and the targets, of the workloads that have some."""
    names = [n for n in names if n in OF_ONE] or failed(f"--processes has {', '.join(OF_ONE)}")
    results, targets = [], []
    threads = min(a.ranks, os.cpu_count())
    for name in names:
        prepared = Prepared(name, folder)
        warmup, measured = (
            (1, 2) if a.quick else (prepared.workload.warmup, prepared.workload.steps)
        )
        one = Shardc(prepared, a.ranks, threads)
        several = Shardc(prepared, a.ranks, threads, processes=a.ranks)
        peer = Fsdp2(prepared, a.ranks, threads, "eager") if peers else None
        rounds = []
        for _ in range(a.pairs):
            sides = [one, several, *([peer] if peer else [])]
            runs = [side.run(warmup, measured, a.wait) for side in sides]
            alike(runs[:2])
            rounds.append([each.measured(warmup) for each in runs])
        of_one = statistics.median(r[0] / r[1] for r in rounds)
        targets.append(Target(f"{name} in {a.ranks} processes over one", of_one, OF_ONE[name]))
        row = f"{name}  {a.ranks} processes: {of_one:.2f} of one process's throughput"
        if peer:
            over = statistics.median(r[2] / r[1] for r in rounds)
            row += f", {over:.2f} times FSDP2's (one process: "
            row += f"{statistics.median(r[2] / r[0] for r in rounds):.2f})"
            targets.append(
                Target(f"{name} in {a.ranks} processes over FSDP2", over, OVER_FSDP2[name])
            )
        print(row)
        results.append({"workload": name, "seconds": rounds})
    hybrid = Prepared(names[-1], folder)
    grid = dict(mesh="2x2", strategy="hybrid")
    one, two = (Shardc(hybrid, 4, threads, processes=p, **grid) for p in (1, 2))
    ratios = []
    for _ in range(a.pairs):
        runs = [each.run(1 if a.quick else 5, 2 if a.quick else 40, a.wait) for each in (one, two)]
        alike(runs)
        ratios.append(runs[0].measured(1) / runs[1].measured(1))
    print(f"{names[-1]}  2x2 hybrid in 2 processes: {statistics.median(ratios):.2f} of one process")
    targets.append(
        Target("2x2 hybrid in 2 processes over one", statistics.median(ratios), OF_ONE_PROCESS)
    )
    results.append({"workload": names[-1], "hybrid": ratios})
    if peers:
        wait_until_idle(a.wait)
        figures, found = bench_collectives(Shardc(hybrid, 2, threads).trainer, a.pairs)
        results.append({"collectives": figures})
        targets += found
    return results, targets
