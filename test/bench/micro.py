"""Section `micro`: GEMM, collectives and optimizer alone, by the programs of this folder that are built; gloo beside the collectives."""
import json
import os

from machine import BIN, run, wait_until_idle
from report import Target
from sides import PEER_PYTHON

HERE = os.path.dirname(os.path.abspath(__file__))
GEMM_OF_PEAK, OVER_GLOO, OF_COPY, OF_TRIAD = 0.88, 5.0, 0.6, 0.85
LEAST = 512  # m, n and k that the GEMM target is for
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")


def last_object(text):
    return json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))


def program(name, *words):
    """What it printed last, or None where it is not built."""
    path = os.path.join(BIN, name)
    return last_object(run(path, *words, "--json").out) if os.path.exists(path) else None


def gemm(threads):
    found = program("gemm-bench", threads, "--table")
    print(f"\n{'GEMM float32':16} {'GFLOP/s':>8} {'of peak':>8}   (FMA peak of {threads} threads {found['fma_peak']:.0f} GFLOP/s)")
    for row in found["rows"]:
        print(f"{'{m}x{n}x{k}'.format(**row):16} {row['gflops']:8.0f} {row['gflops'] / found['fma_peak']:8.1%}")
    large = [row for row in found["rows"] if min(row["m"], row["n"], row["k"]) >= LEAST]
    worst = min(large, key=lambda row: row["gflops"])
    shape = "{m}x{n}x{k}".format(**worst)
    return found, [Target(f"GEMM over FMA peak, the slowest of m, n, k >= {LEAST} ({shape})", worst["gflops"] / found["fma_peak"], GEMM_OF_PEAK)]


def collectives(ranks, torch):
    found = program("comm-bench", "--ranks", ranks)
    gloo = last_object(run(PEER_PYTHON, os.path.join(HERE, "gloo_collectives.py"), "--ranks", ranks, "--bytes", found["bytes"]).out) if torch else None
    print(f"\n{'collective':16} {'ms':>8} {'GB/s':>7} {'of copies at once':>18} {'gloo ms':>8}   ({found['bytes'] / 1e6:.0f} MB over {ranks} ranks)")
    targets = []
    for kind in COLLECTIVES:
        ms = found[f"{kind}_ms"]
        print(f"{kind:16} {ms:8.2f} {found['bytes'] / ms / 1e6:7.1f} {found['copy_ms'] / ms:18.1%} " + (f"{gloo[f'{kind}_ms']:8.2f}" if gloo else f"{'-':>8}"))
        if kind == "all_reduce":
            continue
        targets.append(Target(f"{kind} over both ranks' copies at once", found["copy_ms"] / ms, OF_COPY))
        if gloo:
            targets.append(Target(f"{kind} over gloo's", gloo[f"{kind}_ms"] / ms, OVER_GLOO, unit="x"))
    return {"shardc": found, "gloo": gloo}, targets


def optimizer(threads):
    found = program("optimizer-bench", "--threads", threads)
    print(f"\nAdamW {found['adamw_gbs']:.1f} GB/s, triad {found['triad_gbs']:.1f} GB/s on {threads} threads")
    return found, [Target("AdamW over triad", found["adamw_gbs"] / found["triad_gbs"], OF_TRIAD)]


def bench(ranks, torch, wait):
    """(figures, targets) of what is built."""
    threads = min(ranks, os.cpu_count())
    figures, targets = {}, []
    for name, section in (("gemm-bench", lambda: gemm(threads)), ("comm-bench", lambda: collectives(ranks, torch)),
                          ("optimizer-bench", lambda: optimizer(threads))):
        if not os.path.exists(os.path.join(BIN, name)):
            print(f"no {name} in {BIN}: ninja -C build {name}")
            continue
        wait_until_idle(wait)
        figures[name], found = section()
        targets += found
    return figures, targets
