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
import dataclasses
import glob
import json
import os
import resource
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
# What one test's compilation has made of a kernel, for others.
KERNEL_CACHE = os.path.join(BUILD, "kernel-cache")
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
# Processor time of each file of unittest.
FILES = {}


@dataclasses.dataclass
class Counts:
    """Of one kind. skipped: a line for each; seconds: processor time of its processes."""

    passed: int = 0
    failed: int = 0
    skipped: list = dataclasses.field(default_factory=list)
    seconds: float = 0

    def add(self, report):
        self.passed += report["passed"]
        self.failed += report["failed"]
        self.skipped += report["skipped"]
        self.seconds += report["processor"]


LEFT_NO_REPORT = {"passed": 0, "failed": 1, "skipped": [], "seconds": {}, "processor": 0}


def run_process(command, environment=None):
    """Its output, exit code and processor time."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output = process.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, process.returncode, used.ru_utime + used.ru_stime


def run_lit():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        process = subprocess.run(
            [sys.executable, LIT, "-sv", "-o", out.name, os.path.join(BUILD, "test")],
            cwd=ROOT,
            env={**os.environ, "SHARDC_KERNEL_CACHE": KERNEL_CACHE},
        )
        tests = json.load(open(out.name))["tests"]
    passed = sum(test["code"] in ("PASS", "XFAIL", "FLAKYPASS") for test in tests)
    skipped = [
        f"{test['name']}: lacks what it requires"
        for test in tests
        if test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED")
    ]
    failed = len(tests) - passed - len(skipped)
    if process.returncode and not failed:
        failed = 1
    behind = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = behind.ru_utime + behind.ru_stime - before.ru_utime - before.ru_stime
    return {"passed": passed, "failed": failed, "skipped": skipped, "processor": used}


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
            output, code, processor = run_process(
                [
                    os.path.join(BUILD, "bin", program),
                    "--gtest_brief=1",
                    f"--gtest_output=json:{out.name}",
                ],
                environment,
            )
            report = json.load(open(out.name))
        except (OSError, ValueError) as error:  # not built, or it crashed before it could write
            return f"{program} left no report: {error}\n", {}
    return output, report | {"code": code, "processor": processor}


def start_gtests(program, shard, shards):
    """As start_module."""
    output, report = run_gtests(program, shard, shards)
    output = f"{program}, part {shard + 1} of {shards}\n{output}"
    if not report:
        return output, LEFT_NO_REPORT
    tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
    # What another part runs stands in the report as well.
    ran = [test for test in tests if test["status"] == "RUN"]
    bad = sum("failures" in test for test in ran)
    skipped = [f"{test['classname']}.{test['name']}" for test in ran if test["result"] == "SKIPPED"]
    if shard == 0:
        skipped += [f"{program}: disabled"] * report["disabled"]
    seconds = {
        f"{program} {test['classname']}.{test['name']}": float(test["time"][:-1]) for test in ran
    }
    return output, {
        "passed": len(ran) - bad - sum(test["result"] == "SKIPPED" for test in ran),
        "failed": bad or (1 if report["code"] else 0),
        "skipped": skipped,
        "seconds": seconds,
        "processor": report["processor"],
    }


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


def start_module(path, verbosity, kernel_cache=KERNEL_CACHE):
    """A process of its own for each file, so that a crash is one file's failure."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        output, code, processor = run_process(
            [sys.executable, __file__, "--module", path, report]
            + (["--quiet"] if verbosity == 1 else []),
            {**os.environ, "SHARDC_KERNEL_CACHE": kernel_cache},
        )
        FILES[os.path.basename(path)] = processor
        try:
            return output, json.load(open(report)) | {"processor": processor}
        except (OSError, ValueError):
            return output + f"{path} left no report: exit code {code}\n", LEFT_NO_REPORT


def says(path, word):
    """Whether a file of tests says of itself that it MEASURES times, and so has the machine for
    itself; that it WAITS for seconds, of which it says how many they may be, and so has others of
    that kind beside it alone; or that it is LONG: takes a minute of a processor or more, and so
    begins early."""
    return f"\n{word} = True\n" in open(path).read()


def run_jobs(jobs, workers, counts):
    """Runs what each (kind, function, arguments...) says, several at once."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        kinds = {pool.submit(*job): kind for kind, *job in jobs}
        for future in concurrent.futures.as_completed(kinds):
            output, report = future.result()
            print(output, end="", flush=True)
            counts[kinds[future]].add(report)
            SECONDS.update(report["seconds"])


def run_together(kinds, verbosity, counts):
    """Programs of gtest and files of unittest, whatever their kind; then files whose tests wait,
    and one by one those that measure. Programs wait for most of their time, so there is one process
    more than cores."""
    cores = os.cpu_count() or 1
    jobs, waiting, alone = [], [], []
    if "gtest" in kinds:
        jobs += [
            ("gtest", start_gtests, program, shard, cores)
            for program in GTESTS
            for shard in range(cores)
        ]
    paths = [
        (kind, path)
        for kind in kinds
        for path in glob.glob(os.path.join(ROOT, "test", kind, "test_*.py"))
    ]
    # Long ones first: those that say so, then as far as their sizes tell.
    order = lambda of: (says(of[1], "LONG"), os.path.getsize(of[1]))
    for kind, path in sorted(paths, key=order, reverse=True):
        if says(path, "MEASURES"):
            alone.append((kind, start_module, path, verbosity, ""))
        elif says(path, "WAITS"):
            waiting.append((kind, start_module, path, verbosity, ""))
        else:
            jobs.append((kind, start_module, path, verbosity))
    run_jobs(jobs, cores + 1, counts)
    run_jobs(waiting, cores + 1, counts)
    run_jobs(alone, 1, counts)


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
    parser.add_argument(
        "--thorough",
        action="store_true",
        help=(
            "also what takes long and repeats a proof: more random graphs, models, meshes and"
            " splits into processes"
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
    os.environ["SHARDC_TEST_THOROUGH"] = "1" if args.thorough else ""
    begin = time.monotonic()
    counts = {kind: Counts() for kind in kinds if kind in (args.kind or kinds)}
    if "lit" in counts:
        counts["lit"].add(run_lit())
    run_together([kind for kind in counts if kind != "lit"], verbosity, counts)
    for each in counts.values():
        for line in each.skipped:
            print(f"skipped: {line}")
    print()
    for name in sorted(SECONDS, key=SECONDS.get, reverse=True)[: args.durations]:
        print(f"{SECONDS[name]:8.1f} s  {name}")
    for name in sorted(FILES, key=FILES.get, reverse=True)[: args.durations]:
        print(f"{FILES[name]:8.1f} s of a processor  {name}")
    passed = failed = skipped = 0
    for kind, each in counts.items():
        off = len(each.skipped)
        print(
            f"{kind:10} {each.passed:5} passed {each.failed:4} failed {off:4} skipped"
            f" {each.seconds:8.1f} s of a processor"
        )
        passed, failed, skipped = passed + each.passed, failed + each.failed, skipped + off
    together = time.monotonic() - begin
    print(f"built in {args.build_seconds:.1f} s, tested in {together:.1f} s, several at once")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
