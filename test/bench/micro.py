"""Section `micro`: GEMM, collectives and optimizer alone, by the programs of this folder; gloo
beside the collectives."""
import json
import os
import re

from machine import BIN, failed, run, wait_until_idle
from report import Target
from sides import PEER_PYTHON

HERE = os.path.dirname(os.path.abspath(__file__))
GEMM_OF_PEAK, OVER_GLOO, OF_COPY, OF_TRIAD = 0.88, 5.0, 0.6, 0.85
LEAST = 512  # m, n and k that the GEMM target is for
BYTES = 32 << 20  # of the whole buffer, that the targets of collectives are for
COLLECTIVES = {
    "all_gather": True,
    "reduce_scatter": True,
    "all_reduce": False,
}  # whether it has targets
SHAPE_ROW = re.compile(r"^(\d+) x (\d+) x (\d+) +([\d.]+) +([\d.]+) %", re.M)


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def gemm(threads):
    """Rates are those of one thread while all compute."""
    table = run(os.path.join(BIN, "gemm-bench"), threads, "--table").out
    rows = [
        {"shape": tuple(map(int, row[:3])), "gflops": float(row[3]), "of_peak": float(row[4]) / 100}
        for row in SHAPE_ROW.findall(table)
    ]
    print("\n" + table.rstrip())
    slowest = min(
        (row for row in rows if min(row["shape"]) >= LEAST), key=lambda row: row["of_peak"]
    )
    shape = "x".join(map(str, slowest["shape"]))
    return {"rows": rows}, [
        Target(
            f"GEMM {shape} over FMA peak, the slowest of m, n, k >= {LEAST}",
            slowest["of_peak"],
            GEMM_OF_PEAK,
        )
    ]


def collectives(ranks, torch):
    sizes = objects(run(os.path.join(BIN, "comm-bench"), ranks, "--json").out)
    ours = min(sizes, key=lambda each: abs(each["bytes"] - BYTES))
    gloo = None
    if torch:
        gloo = objects(
            run(
                PEER_PYTHON,
                os.path.join(HERE, "gloo_collectives.py"),
                "--ranks",
                ranks,
                "--bytes",
                ours["bytes"],
            ).out
        )[-1]
    print(
        f"\n{'collective':16} {'ms':>8} {'GB/s':>7} {'of copies at once':>18} {'gloo ms':>8}  "
        f" ({ours['bytes'] >> 20} MiB, {ranks} ranks)"
    )
    targets = []
    for kind, has_targets in COLLECTIVES.items():
        seconds, of_copy = ours[f"{kind}_seconds"], ours["copy_seconds"] / ours[f"{kind}_seconds"]
        beside = f"{gloo[f'{kind}_ms']:8.2f}" if gloo else f"{'-':>8}"
        print(
            f"{kind:16} {1e3 * seconds:8.2f} {ours['bytes'] / seconds / 1e9:7.1f} {of_copy:18.1%}"
            f" {beside}"
        )
        if has_targets:
            targets.append(Target(f"{kind} over the copies of all ranks at once", of_copy, OF_COPY))
            if gloo:
                targets.append(
                    Target(
                        f"{kind} over gloo's",
                        gloo[f"{kind}_ms"] / seconds / 1e3,
                        OVER_GLOO,
                        unit="x",
                    )
                )
    return {"shardc": sizes, "gloo": gloo}, targets


def optimizer(ranks):
    found = objects(run(os.path.join(BIN, "optimizer-bench"), ranks, "--json").out)[-1]
    adamw, triad = found["adamw_gb_per_second"], found["triad_gb_per_second"]
    print(
        f"\nAdamW {adamw:.1f} GB/s, gradient norm {found['norm_gb_per_second']:.1f} GB/s, triad"
        f" {triad:.1f} GB/s on {ranks} ranks"
    )
    return found, [Target("AdamW over triad", adamw / triad, OF_TRIAD)]


def bench(ranks, torch, wait):
    """(figures, targets)."""
    figures, targets = {}, []
    sections = {
        "gemm": lambda: gemm(min(ranks, os.cpu_count())),
        "collectives": lambda: collectives(ranks, torch),
        "optimizer": lambda: optimizer(ranks),
    }
    for name, section in sections.items():
        wait_until_idle(wait)
        figures[name], found = section()
        targets += found
    return figures, targets
