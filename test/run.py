#!/usr/bin/env python3
"""Runs every kind of test and counts them all; the last line is "N passed, N failed, N skipped".

  structure  directions of includes, one name per pass, sizes and layout of files
  lit        the compiler, by FileCheck
  gtest      the runtime, by GoogleTest
  tools      shardc and the trainer as a user runs them: good and bad input
  training   whole runs against PyTorch's recorded ones
  fuzz       random graphs against a written reference
"""
import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.join(ROOT, "build")
GTESTS = (
    "codegen-tests",
    "cublaslt-tests",
    "cuda-driver-tests",
    "nccl-tests",
    "onnx-tests",
    "passes-tests",
    "ptx-tests",
    "runtime-tests",
)
# Suites that open CUDA's libraries find the emulated ones.
EMULATED_CUDA = os.path.join(BUILD, "emulated-cuda")
LIT = next(
    (
        p
        for p in ("/usr/lib/llvm-22/bin/lit", "/usr/lib/llvm-22/build/utils/lit/lit.py")
        if os.path.exists(p)
    ),
    "lit",
)

# Of each test of gtest and of unittest.
SECONDS = {}


def run_lit():
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        process = subprocess.run(
            [sys.executable, LIT, "-sv", "-o", out.name, os.path.join(BUILD, "test")], cwd=ROOT
        )
        results = [t["code"] for t in json.load(open(out.name))["tests"]]
    passed = sum(code in ("PASS", "XFAIL", "FLAKYPASS") for code in results)
    skipped = sum(code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED") for code in results)
    failed = len(results) - passed - skipped
    return passed, max(failed, 1 if process.returncode and not failed else 0), skipped


def run_gtests(program, shard, shards):
    """A part of a program's tests; its output and its report."""
    paths = [EMULATED_CUDA, os.environ.get("LD_LIBRARY_PATH")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        # Kernels that were compiled for this machine, for processes that come later.
        "SHARDC_EMULATED_CUDA_CACHE": os.path.join(EMULATED_CUDA, "cache"),
        # Conformance of collectives runs with several ranks.
        "SHARDC_EMULATED_GPUS": "4",
        "GTEST_SHARD_INDEX": str(shard),
        "GTEST_TOTAL_SHARDS": str(shards),
    }
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        try:
            process = subprocess.run(
                [
                    os.path.join(BUILD, "bin", program),
                    "--gtest_brief=1",
                    f"--gtest_output=json:{out.name}",
                ],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            output = process.stdout.decode(errors="replace")
            report = json.load(open(out.name))
        except (OSError, ValueError) as error:  # not built, or it crashed before it could write
            return f"{program} left no report: {error}\n", {}
    report["code"] = process.returncode
    return output, report


def run_gtest():
    passed = failed = skipped = 0
    workers = os.cpu_count() or 1
    parts = [(program, shard, workers) for program in GTESTS for shard in range(workers)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for (program, shard, _), (output, report) in zip(
            parts, pool.map(lambda part: run_gtests(*part), parts)
        ):
            print(f"{program}, part {shard + 1} of {workers}\n{output}", end="", flush=True)
            if not report:
                failed += 1
                continue
            tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
            # What another part runs stands in the report as well.
            ran = [test for test in tests if test["status"] == "RUN"]
            bad = sum("failures" in test for test in ran)
            off = sum(test["result"] == "SKIPPED" for test in ran)
            if shard == 0:
                skipped += report["disabled"]
            failed += bad or (1 if report["code"] else 0)
            skipped += off
            passed += len(ran) - bad - off
            for test in ran:
                name = f"{program} {test['classname']}.{test['name']}"
                SECONDS[name] = float(test["time"][:-1])
    return passed, failed, skipped


class TimedResult(unittest.TextTestResult):
    """Knows how long each test took."""

    seconds = {}

    def startTest(self, test):
        self.begin = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id()] = time.monotonic() - self.begin


def run_module(path, verbosity, report):
    """The tests of one file; the report goes to a file."""
    folder, name = os.path.split(path)
    # Helpers that stand beside a file are found in its folder.
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.loadTestsFromName(os.path.splitext(name)[0])
    # In one stream, so that a program's lines stand where they were written.
    sys.stdout.reconfigure(line_buffering=True)
    runner = unittest.TextTestRunner(
        verbosity=verbosity, stream=sys.stdout, resultclass=TimedResult
    )
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    with open(report, "w") as out:
        json.dump(
            {
                "passed": result.testsRun - failed - len(result.skipped),
                "failed": failed,
                "skipped": [f"{test}: {reason}" for test, reason in result.skipped],
                "seconds": result.seconds,
            },
            out,
        )
    return 1 if failed else 0


def start_module(path, verbosity):
    """A process of its own for each file, so that a crash is one file's failure."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        process = subprocess.run(
            [sys.executable, __file__, "--module", path, report]
            + (["--quiet"] if verbosity == 1 else []),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = process.stdout.decode(errors="replace")
        try:
            return output, json.load(open(report))
        except (OSError, ValueError):
            output += f"{path} left no report: exit code {process.returncode}\n"
            return output, {"passed": 0, "failed": 1, "skipped": [], "seconds": {}}


def measures(path):
    """Whether the file's tests look at times, and so have the machine for themselves."""
    return "\nMEASURES = True\n" in open(path).read()


def run_unittest(folder, verbosity):
    """Two files at once on two cores; then one by one those that measure."""
    paths = glob.glob(os.path.join(folder, "test_*.py"))
    # Long ones first, as far as their sizes tell.
    paths.sort(key=os.path.getsize, reverse=True)
    passed = failed = 0
    skipped = []
    for workers, group in (
        (os.cpu_count() or 1, [path for path in paths if not measures(path)]),
        (1, [path for path in paths if measures(path)]),
    ):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            started = [pool.submit(start_module, path, verbosity) for path in group]
            for future in concurrent.futures.as_completed(started):
                output, report = future.result()
                print(output, end="", flush=True)
                passed += report["passed"]
                failed += report["failed"]
                skipped += report["skipped"]
                SECONDS.update(report["seconds"])
    for line in skipped:
        print(f"skipped: {line}")
    return passed, failed, len(skipped)


def main():
    kinds = ["structure", "lit", "gtest", "tools", "training", "fuzz"]
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kind", action="append", choices=kinds, help="only this kind (repeatable)"
    )
    parser.add_argument(
        "--torch",
        action="store_true",
        help=(
            "also compare live with PyTorch, which PYTHON (or this interpreter) must have; its"
            " exports are trained where transformers and onnxscript are there too"
        ),
    )
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--durations", type=int, default=0, metavar="N", help="list the N slowest")
    parser.add_argument("--module", nargs=2, metavar=("FILE", "REPORT"), help=argparse.SUPPRESS)
    parser.add_argument("--build-seconds", type=float, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    verbosity = 1 if args.quiet else 2
    if args.module:
        return run_module(args.module[0], verbosity, args.module[1])
    os.environ["SHARDC_BUILD"] = BUILD
    os.environ["SHARDC_TEST_TORCH"] = "1" if args.torch else ""
    table = []
    for kind in args.kind or kinds:
        print(f"== {kind}", flush=True)
        start = time.monotonic()
        if kind == "lit":
            counts = run_lit()
        elif kind == "gtest":
            counts = run_gtest()
        else:
            counts = run_unittest(os.path.join(ROOT, "test", kind), verbosity)
        table.append((kind, *counts, time.monotonic() - start))
    print()
    for name in sorted(SECONDS, key=SECONDS.get, reverse=True)[: args.durations]:
        print(f"{SECONDS[name]:8.1f} s  {name}")
    for kind, passed, failed, skipped, seconds in table:
        print(f"{kind:10} {passed:5} passed {failed:4} failed {skipped:4} skipped {seconds:8.1f} s")
    if args.build_seconds:
        print(f"build      {args.build_seconds:41.1f} s")
    passed, failed, skipped = (sum(row[i] for row in table) for i in (1, 2, 3))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
