#!/usr/bin/env python3
"""Benchmarks: what the compiler costs, and what the trainer reaches beside PyTorch FSDP2
where torch is installed.

compile  seconds and peak memory of the compiler for full-size graphs, no weights beside
         them (compile_time.py)
checkpoints  what saving costs, beside PyTorch's dcp.async_save (checkpoints.py); only with
         --checkpoints, and then alone
processes  ranks as processes, beside one process and FSDP2; collectives beside gloo (processes.py);
         only with --processes, and then alone
scaling  the same for n pieces, n calls, n nodes and depth n, in doubling sizes (scaling.py); only
         with --scaling, and then alone
micro    GEMM, collectives and optimizer alone, beside gloo (micro.py)
train    the workloads of test/models/bench, each side in turn, round by round, from the same
         initial values on the same batches

A row of train: the median step (over runs, of the median step of each run); tokens or samples per
second; model FLOP/s over the rate of the GEMM library alone at 1024^3 on all processors, right
before and after each run; memory of all ranks after the last step (PSS) and the sum of their peaks;
seconds from the start of the process to the end of the first step (of W3 and W4 right behind a run
of one step of the same side); the largest share of the machine that other programs used during a
run. docs/performance.md has more, and what was reached.

A run whose losses are not those of the other side, or of the recorded FSDP2 run in losses.json,
ends the bench with an error. Missed targets are reported alone.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

import checkpoints
import compile_time
import micro
import processes
import scaling
from fsdp2_peer import KINDS, tcmalloc, wants_tcmalloc
from machine import describe, failed, hold_instructions
from report import HEADER, Result, print_targets
from sides import LOSS_TOLERANCE, has_torch, loss_mismatch, sides
from workloads import QUICK, ROOT, WORKLOADS, Prepared

RECORDED = os.path.join(ROOT, "test", "bench", "losses.json")


def recorded_losses():
    with open(RECORDED) as file:
        return json.load(file)


def check_losses(name, round, recorded):
    """Every float32 run against the recorded one of FSDP2, and the sides of a precision
    against each other."""
    first = {}
    for run in round:
        others = [first.setdefault(run["precision"], (run["who"], run["losses"]))]
        if run["precision"] == "float32" and name in recorded:
            common = min(len(recorded[name]), len(run["losses"]))
            others.append(
                ("the recorded FSDP2 run", recorded[name][:common] + run["losses"][common:])
            )
        for who, losses in others:
            if wrong := loss_mismatch(run["losses"], losses, LOSS_TOLERANCE[run["precision"]]):
                failed(f"{name}: {run['who']} and {who} do not train the same: {wrong}")


def has_bf16_products():
    with open("/proc/cpuinfo") as file:
        return "avx512_bf16" in file.read()


def bench_train(names, a, peers, folder):
    processors = os.cpu_count()
    recorded = {} if a.record_losses else recorded_losses()
    print(f"\n{HEADER}")
    results, targets = [], []
    for name in names:
        workload = WORKLOADS[name]
        warmup, steps = QUICK[name] if a.quick else (workload.warmup, workload.steps)
        every = sides(Prepared(name, folder), a.ranks, peers, min(a.ranks, processors))
        rounds = []
        for _ in range(a.pairs):
            rounds.append([side.run(warmup, steps, a.wait) for side in every])
            check_losses(name, rounds[-1], recorded)
        result = Result(workload, a.ranks, processors, warmup, rounds)
        result.print_rows()
        result.print_ratios()
        results.append(
            {
                "workload": name,
                "ranks": a.ranks,
                "warmup": warmup,
                "flops": workload.flops,
                "tokens": workload.tokens,
                "rounds": rounds,
            }
        )
        targets += result.targets(has_bf16_products())
    if a.record_losses:
        record(results)
    else:
        print(
            "losses: every run within tolerance of the recorded FSDP2 run"
            + (" and of the other side" if peers else "")
        )
    return results, targets


def record(results):
    """Writes the float32 losses of FSDP2 eager into losses.json."""
    losses = recorded_losses() if os.path.exists(RECORDED) else {}
    for each in results:
        run = next((r for r in each["rounds"][0] if r["who"] == "FSDP2 eager"), None)
        run = run or failed("--record-losses needs --peer eager")
        losses[each["workload"]] = [round(loss, 6) for loss in run["losses"]]
    with open(RECORDED, "w") as file:
        file.write(
            "{\n"
            + ",\n".join(f' "{name}": {json.dumps(losses[name])}' for name in sorted(losses))
            + "\n}\n"
        )


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("workloads", nargs="*", help=f"default: {' '.join(WORKLOADS)}")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument(
        "--pairs",
        type=int,
        help="rounds, with a run of every side in each; default 5, with --quick 1",
    )
    parser.add_argument(
        "--peer",
        action="append",
        choices=KINDS,
        help=(
            "FSDP2 as it comes (eager, the default), tuned or in bf16, beside a trainer "
            "of the same precision; single: one process without FSDP (repeatable)"
        ),
    )
    parser.add_argument("--no-peer", action="store_true", help="the trainer alone")
    parser.add_argument(
        "--quick", action="store_true", help="few steps, one round: to see that it works"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=60,
        help="seconds to wait before each run until the machine is idle [%(default)g]",
    )
    parser.add_argument(
        "--folder", help="keeps initial values, batches and trainers here for the next run"
    )
    parser.add_argument(
        "--cpu",
        choices=["native", "x86-64-v3"],
        default="native",
        help="x86-64-v3: both sides use AVX2 and no AVX-512 (not what torch.compile writes)",
    )
    parser.add_argument("--json", metavar="FILE", help="write every figure of every run")
    parser.add_argument("--no-compile", action="store_true", help="leave out the compile section")
    parser.add_argument("--no-micro", action="store_true", help="leave out the micro section")
    parser.add_argument("--no-train", action="store_true", help="leave out the train section")
    parser.add_argument(
        "--scaling",
        nargs="*",
        metavar="FORM",
        help=f"the scaling section alone, of all forms or of these: {', '.join(scaling.FORMS)}",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="with --scaling: the instructions that valgrind counts, in place of seconds",
    )
    parser.add_argument("--checkpoints", action="store_true", help="the section of that name alone")
    parser.add_argument("--processes", action="store_true", help="the section of that name alone")
    parser.add_argument(
        "--record-losses",
        action="store_true",
        help="write FSDP2's losses into losses.json instead of comparing with them",
    )
    a = parser.parse_args()
    if a.ranks < 1:
        parser.error(f"expects a positive number of ranks, got {a.ranks}")
    for name in a.workloads:
        if name not in WORKLOADS:
            parser.error(f"unknown workload {name}; there are {', '.join(WORKLOADS)}")
        if WORKLOADS[name].batch % a.ranks:
            parser.error(
                f"{name} has {WORKLOADS[name].batch} samples a step, which {a.ranks} ranks cannot"
                " share equally"
            )
    if a.instructions and a.scaling is None:
        parser.error("--instructions is for --scaling")
    if a.instructions and not shutil.which("valgrind"):
        parser.error("--instructions needs valgrind, which is not installed")
    for form in a.scaling or []:
        if form not in scaling.FORMS:
            parser.error(f"unknown form {form}; there are {', '.join(scaling.FORMS)}")
    a.workloads = a.workloads or list(WORKLOADS)
    a.pairs = a.pairs or (1 if a.quick else 5)
    return a


def main():
    a = arguments()
    hold_instructions(a.cpu)
    torch = not a.no_peer and has_torch()
    peers = (a.peer or ["eager"]) if torch else []
    if not torch:
        print(
            "without FSDP2 beside it: "
            + (
                "--no-peer"
                if a.no_peer
                else "torch is not installed; PYTHON names the interpreter that has it"
            )
        )
    elif any(map(wants_tcmalloc, peers)) and not tcmalloc():
        print("the peer runs without tcmalloc: Debian's libtcmalloc-minimal4 has it")
    figures, targets = {"machine": describe(), "quick": a.quick, "cpu": a.cpu}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(a.folder or temporary)
        os.makedirs(folder, exist_ok=True)
        alone = a.scaling is not None or a.checkpoints or a.processes
        sections = {
            "scaling": (
                None
                if a.scaling is None
                else lambda: scaling.bench(folder, a.quick, a.scaling, a.instructions)
            ),
            "checkpoints": (
                (lambda: checkpoints.bench(a.workloads, a, peers, folder))
                if a.checkpoints
                else None
            ),
            "processes": (
                (lambda: processes.bench(a.workloads, a, peers, folder)) if a.processes else None
            ),
            "compile": (
                None if alone or a.no_compile else lambda: compile_time.bench(folder, a.quick)
            ),
            "micro": None if alone or a.no_micro else lambda: micro.bench(a.ranks, torch, a.wait),
            "train": (
                None if alone or a.no_train else lambda: bench_train(a.workloads, a, peers, folder)
            ),
        }
        for section, bench in sections.items():
            if bench:
                figures[section], found = bench()
                targets += found
    print_targets(targets)
    if a.json:
        with open(a.json, "w") as file:
            json.dump({**figures, "targets": [target.json() for target in targets]}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
