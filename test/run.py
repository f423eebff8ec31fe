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


def run_gtest():
    passed = failed = skipped = 0
    folder = os.path.join(BUILD, "bin")
    paths = [EMULATED_CUDA, os.environ.get("LD_LIBRARY_PATH")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        # Kernels that were compiled for this machine, for processes that come later.
        "SHARDC_EMULATED_CUDA_CACHE": os.path.join(EMULATED_CUDA, "cache"),
        # Conformance of collectives runs with several ranks.
        "SHARDC_EMULATED_GPUS": "4",
    }
    for program in GTESTS:
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            try:
                code = subprocess.run(
                    [
                        os.path.join(folder, program),
                        "--gtest_brief=1",
                        f"--gtest_output=json:{out.name}",
                    ],
                    env=environment,
                ).returncode
                report = json.load(open(out.name))
            except (OSError, ValueError) as error:  # not built, or it crashed before it could write
                print(f"{program} left no report: {error}")
                failed += 1
                continue
        bad = report["failures"] + report.get("errors", 0)
        off = report["disabled"] + sum(
            t.get("result") == "SKIPPED" for s in report["testsuites"] for t in s["testsuite"]
        )
        failed += bad or (1 if code else 0)
        skipped += off
        passed += report["tests"] - bad - off
        for suite in report["testsuites"]:
            for test in suite["testsuite"]:
                SECONDS[f"{program} {suite['name']}.{test['name']}"] = float(test["time"][:-1])
    return passed, failed, skipped


class TimedResult(unittest.TextTestResult):
    """Knows how long each test took."""

    def startTest(self, test):
        self.begin = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        SECONDS[test.id()] = time.monotonic() - self.begin


def run_unittest(folder, verbosity):
    # Each file is imported from its own folder, so that helpers beside it are found.
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.discover(folder, pattern="test_*.py", top_level_dir=folder)
    runner = unittest.TextTestRunner(
        verbosity=verbosity, stream=sys.stdout, resultclass=TimedResult
    )
    result = runner.run(suite)
    sys.path.remove(folder)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    return result.testsRun - failed - len(result.skipped), failed, len(result.skipped)


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
    parser.add_argument("--build-seconds", type=float, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["SHARDC_BUILD"] = BUILD
    os.environ["SHARDC_TEST_TORCH"] = "1" if args.torch else ""
    verbosity = 1 if args.quiet else 2
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
