"""The libFuzzer targets over the readers of files: builds them, and runs them.

  ./dev fuzz readers [--runs N] [--seconds N] [--target NAME ...]   AddressSanitizer and UBSan
  ./dev fuzz readers --fast ...                                     UBSan that traps, assertions
  ./dev fuzz readers --total N --turn SECONDS --record              goes on until there were N

Builds are those of the presets `sanitize` and, for the most inputs a second, `fuzz`. First inputs
are made from small files of the tests. What a target has learned, under either build, stays in
.cache/fuzz/corpus/NAME, an input that it found in .cache/fuzz/findings. How many inputs there have
been is the table of docs/fuzzing.md, which --record adds to."""
import argparse
import datetime
import os
import re
import subprocess
import sys
import time

from reader_seeds import ROOT, TARGETS
from reader_table import Table

CACHE = os.path.join(ROOT, ".cache", "fuzz")
# LLVM's own libraries are not instrumented, so the marks of containers that cross between them say
# nothing. What an input has freed is kept from being used again for 8 MiB of later ones, and where
# it was allocated is known to four frames: with more, allocating is most of what a target does.
ASAN = ":".join(
    (
        "detect_container_overflow=0",
        "allocator_may_return_null=1",
        "handle_abort=1",
        "quarantine_size_mb=8",
        "malloc_context_size=4",
    )
)

INTERRUPTED = 72  # how libFuzzer ends by a signal
# To weigh how rare each of the many things is that these can do takes libFuzzer longer than they
# do.
UNWEIGHED = {"onnx-file", "onnx-model", "plan"}


def build(preset, targets):
    """Builds what is missing or old. Its first run takes minutes: the compiler's reader brings
    its dialect along."""
    folder = os.path.join(ROOT, f"build-{preset}")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        subprocess.run(
            ["cmake", "--preset", preset], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
    subprocess.run(
        ["ninja", "-C", folder, *(f"fuzz-{name}" for name in targets)],
        check=True,
        stdout=sys.stderr,
    )


def corpus_of(name, longest):
    """The folder of what a target has learned; begun with its first inputs."""
    corpus = os.path.join(CACHE, "corpus", name)
    os.makedirs(corpus, exist_ok=True)
    if not os.listdir(corpus):
        for number, seed in enumerate(TARGETS[name][1]()):
            if len(seed) <= longest:
                with open(os.path.join(corpus, f"seed-{number}"), "wb") as file:
                    file.write(seed)
    return corpus


def run(preset, name, runs, seconds, longest):
    """(inputs tried, processor seconds, whether one was found)."""
    longest = longest or TARGETS[name][0]
    findings = os.path.join(CACHE, "findings")
    os.makedirs(findings, exist_ok=True)
    # Models that a limit of the compiler refuses may take a second, with sanitizers, before they
    # are.
    command = [
        os.path.join(ROOT, f"build-{preset}", "bin", f"fuzz-{name}"),
        corpus_of(name, longest),
        f"-runs={runs}",
        f"-max_len={longest}",
        "-timeout=20",
        "-rss_limit_mb=3000",
        f"-artifact_prefix={findings}/{name}-",
        "-print_final_stats=1",
        "-reload=0",
    ]
    if name in UNWEIGHED:
        command.append("-entropic=0")
    if seconds:
        command.append(f"-max_total_time={seconds}")
    environment = dict(
        os.environ, ASAN_OPTIONS=ASAN, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
    )
    log = os.path.join(CACHE, f"{preset}-{name}.log")
    before = os.times()
    with open(log, "w") as file:
        code = subprocess.run(command, stdout=file, stderr=file, env=environment).returncode
    after = os.times()
    with open(log, errors="replace") as file:
        text = file.read()
    found = re.search(r"number_of_executed_units: (\d+)", text)
    if code not in (0, INTERRUPTED):
        summary = re.search(r"^SUMMARY: .*|^==\d+==.*ERROR: .*", text, re.MULTILINE)
        print(
            f"fuzz-{name}: {summary.group(0) if summary else f'exit {code}'}; {log}",
            file=sys.stderr,
        )
    spent = sum(after[2:4]) - sum(before[2:4])
    return int(found.group(1)) if found else 0, spent, code not in (0, INTERRUPTED)


def campaign(args, names, preset):
    """Runs targets in turns until each has had its inputs; which found something."""
    table, failed, left = Table.read(), set(), dict.fromkeys(names, args.runs)
    if args.total:
        left = {name: args.total - table.inputs(name) for name in names}
    end = time.monotonic() + args.for_seconds if args.for_seconds else None
    while waiting := [name for name in names if left[name] > 0 and name not in failed]:
        for name in waiting:
            if end and time.monotonic() > end:
                return failed
            inputs, spent, found = run(
                preset, name, left[name], args.turn or args.seconds, args.longest
            )
            left[name] -= inputs
            if found:
                failed.add(name)
            if args.record:
                table = Table.read()
                table.add(name, preset == "sanitize", inputs, datetime.date.today())
                table.write()
            print(
                f"{datetime.datetime.now():%H:%M:%S} {name:14} {inputs:10} inputs "
                f"{inputs / max(spent, 0.01):8.0f} a processor second  "
                f"{'FOUND ONE' if found else 'nothing found'}",
                flush=True,
            )
        if not args.turn:
            break
    return failed


def main(argv):
    parser = argparse.ArgumentParser(prog="./dev fuzz readers", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100000, help="inputs for each target [100000]")
    parser.add_argument(
        "--total",
        type=int,
        default=0,
        help="as many inputs as are missing to this total, those of docs/fuzzing.md counted",
    )
    parser.add_argument("--seconds", type=int, default=0, help="at most so long for each target")
    parser.add_argument(
        "--turn",
        type=int,
        default=0,
        metavar="SECONDS",
        help="targets take turns of so long until each has had its inputs",
    )
    parser.add_argument("--for-seconds", type=int, default=0, help="no turn begins after so long")
    parser.add_argument(
        "--target", action="append", choices=sorted(TARGETS), help="only this one (repeatable)"
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="the build of the preset fuzz: more inputs a second, no AddressSanitizer",
    )
    parser.add_argument(
        "--longest", type=int, default=0, help="bytes of the longest input, in place of the usual"
    )
    parser.add_argument(
        "--record", action="store_true", help="add what ran to the table of docs/fuzzing.md"
    )
    parser.add_argument("--no-build", action="store_true", help="run what is there")
    args = parser.parse_args(argv)
    names = args.target or list(TARGETS)
    preset = "fuzz" if args.fast else "sanitize"
    if not args.no_build:
        try:
            build(preset, names)
        except subprocess.CalledProcessError as error:
            print(f"fuzz readers: error: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
            return 1
    return 1 if campaign(args, names, preset) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
