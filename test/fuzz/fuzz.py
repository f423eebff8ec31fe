#!/usr/bin/env python3
"""Random graphs in random configurations, each held against an independent evaluation.

  fuzz.py [graphs] --seeds 0..1000 [--minimize]    docs/fuzzing.md says how a case is judged
  fuzz.py damage ...                               damaged trainers, models, data and weights
  fuzz.py readers ...                              the libFuzzer targets

A seed is always the same case. PYTHON names an interpreter that has PyTorch; without one, gradients
are held against differences."""
import argparse
import collections
import concurrent.futures
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from seeds import seeds_of  # noqa: E402


def run_seed(seed, torch, folder, target=""):
    """(finding or None, operators with types, seconds)."""
    from generate import generate
    from judge import Finding, Judge

    start = time.monotonic()
    case = generate(seed, target=target)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            finding = Judge(torch).judge(case, place)
    except Exception as error:  # the fuzzer's own fault is a finding too: nothing may pass unjudged
        import traceback

        finding = Finding("fuzzer", f"{type(error).__name__}: {error}", traceback.format_exc())
    return finding, sorted(set(case.operators())), time.monotonic() - start


def known_operators():
    """Operators that shardc decodes: the first column of the tables of frontend/onnx/decode; and
    If, which the importer takes itself, as it does Loop and Scan (test/onnx/loop_nodes.py)."""
    import re

    folder = os.path.join(HERE, "..", "..", "frontend", "onnx", "decode")
    found = {"If"}
    for name in os.listdir(folder):
        if name.startswith("Decode") and name.endswith(".cpp"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.update(re.findall(r'\{"(\w+)",\s*\d+,\s*-?\d+,\s*-?\d+,', file.read()))
    return found


def print_coverage(coverage):
    types = collections.defaultdict(collections.Counter)
    for (op, dtype), count in coverage.items():
        types[op][dtype] += count
    for op in sorted(types):
        print(f"  {op:28} {', '.join(f'{t} {c}' for t, c in sorted(types[op].items()))}")
    print(f"{len(types)} operators, {len(coverage)} pairs of operator and type")


def graphs(arguments):
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seeds",
        type=seeds_of,
        default=range(0, 300),
        metavar="A..B",
        help="B not included [0..300]",
    )
    parser.add_argument(
        "--target",
        default="",
        help="what trainers are compiled for; cuda:sm_80 and newer run on emulated GPUs [shardc's]",
    )
    parser.add_argument(
        "--minimize", action="store_true", help="make each finding small and write it to --findings"
    )
    parser.add_argument(
        "--findings",
        default="fuzz-findings",
        metavar="DIR",
        help="one folder per finding [fuzz-findings]",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="processes [this machine's cores]",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="print how often each operator was hit with each type",
    )
    parser.add_argument(
        "--seconds", type=float, default=0, help="begin no further seed after this time"
    )
    args = parser.parse_args(arguments)
    torch = importlib.util.find_spec("torch") is not None
    print(
        (
            "gradients are held against"
            f" {'torch, element by element' if torch else 'differences, along directions'}"
        ),
        flush=True,
    )
    start = time.monotonic()
    counts = collections.Counter()
    coverage = collections.Counter()
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="shardc-fuzz-") as folder,
        concurrent.futures.ProcessPoolExecutor(args.jobs) as pool,
    ):
        waiting, seeds = {}, iter(args.seeds)
        while True:
            while len(waiting) < 2 * args.jobs and not (
                args.seconds and time.monotonic() - start > args.seconds
            ):
                seed = next(seeds, None)
                if seed is None:
                    break
                waiting[pool.submit(run_seed, seed, torch, folder, args.target)] = seed
            if not waiting:
                break
            done, _ = concurrent.futures.wait(
                waiting, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                seed = waiting.pop(future)
                finding, operators, _ = future.result()
                counts["graphs"] += 1
                coverage.update(operators)
                if finding:
                    counts[finding.kind] += 1
                    found.append((seed, finding))
                    print(f"seed {seed}: {finding}", flush=True)
                if counts["graphs"] % 500 == 0:
                    print(
                        (
                            f"... {counts['graphs']} graphs, {len(found)} findings,"
                            f" {time.monotonic() - start:.0f} s"
                        ),
                        flush=True,
                    )
    if args.minimize and found:
        from minimize import minimize

        kept = []
        for seed, finding in sorted(found, key=lambda f: f[0]):
            if finding.kind == "fuzzer":
                print(finding.detail)
                continue
            if any(finding.same(other) for other in kept):
                continue
            kept.append(finding)
            to = os.path.join(args.findings, f"{finding.kind}-{seed}")
            minimize(seed, finding, to, torch, args.target)
    if args.coverage:
        print_coverage(coverage)
        missing = sorted(known_operators() - {op for op, _ in coverage})
        print(f"not hit: {', '.join(missing) or 'none'}")
    kinds = ", ".join(f"{k} {c}" for k, c in sorted(counts.items()) if k != "graphs")
    print(
        f"{counts['graphs']} graphs, {len(found)} findings{': ' + kinds if kinds else ''},"
        f" {time.monotonic() - start:.0f} s"
    )
    return 1 if found else 0


def main(arguments):
    if arguments and arguments[0] in ("damage", "readers"):
        return subprocess.run(
            [sys.executable, os.path.join(HERE, f"{arguments[0]}.py"), *arguments[1:]]
        ).returncode
    if arguments and arguments[0] == "graphs":
        arguments = arguments[1:]
    return graphs(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
