"""Section `scaling`: what the compiler takes for graphs of one form in doubling sizes; work and
memory grow as the graph does.

Of a size: the processor seconds (of all threads, the least of several runs) and the peak memory
beyond those of the same form at size 1, which is what starting, linking the kernels and writing the
runtime into the trainer cost. A factor is such a difference over that of half the size.

With --instructions: what valgrind counts in place of seconds, which is the same on every machine,
however busy it is; seconds also have what the processor waits for memory."""
import os
import re
import subprocess
import sys

from machine import BIN, failed
from make_scaling import FORMS
from report import Target

HERE = os.path.dirname(os.path.abspath(__file__))
# Sizes at which a form takes long enough to be measured; each is doubled so often.
FIRST = {
    "pieces": 512,
    "pieces-of-rows": 1024,
    "split-concat": 1024,
    "concat-parameters": 512,
    "concat-mixed": 512,
    "gathers": 512,
    "slices": 64,
    "cuts": 512,
    "stack": 512,
    "stack-chain": 1024,
    "sum": 2048,
    "max": 2048,
    "mean": 2048,
    "growing-concat": 64,
    "calls": 2048,
    "functions": 2048,
    "doubling": 4096,
    "nested": 3000,
    "nested-if": 7,
    "ifs": 4096,
    "chain": 10000,
    "constants": 16384,
    "two-before": 4096,
    "layers": 1024,
    "views": 10000,
    "moved-chain": 4096,
    "norms": 1024,
    "residuals": 1024,
    "fan-in": 4096,
    "one-parameter": 4096,
    "outputs": 1024,
    "inputs": 1024,
}
DOUBLINGS, QUICK_DOUBLINGS, RUNS, MOST = 2, 1, 7, 2.2
FEW_SECONDS, FEW_MIB, FEW_INSTRUCTIONS = 0.15, 16, 0.3  # smaller ones say nothing about growth


def words_to_compile(form, size, folder):
    path = os.path.join(folder, f"{form}-{size}.onnx")
    if not os.path.exists(path):
        # Not here: what this process has at most counts as its children's.
        subprocess.run(
            [sys.executable, os.path.join(HERE, "make_scaling.py"), form, str(size), "-o", path],
            check=True,
        )
    return [
        os.path.join(BIN, "shardc"),
        path,
        "--mesh",
        "1",
        "--loss",
        "output:loss",
        "--quiet",
        "-o",
        os.path.join(folder, "scaling.trainer"),
    ]


def compile_once(form, size, folder):
    """(processor seconds, MiB)"""
    words = words_to_compile(form, size, folder)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        failed(f"{' '.join(words)} ended with {process.returncode}\n  {errors.strip()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def count_once(form, size, folder):
    """(instructions / 10^9, nothing of memory)"""
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    words = [*counter, *words_to_compile(form, size, folder)]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        failed(f"{' '.join(words)} ended with {done.returncode}\n  {done.stderr.strip()[-2000:]}")
    return int(found.group(1).replace(",", "")) / 1e9, 0


def measure(form, sizes, folder, runs, once):
    """{size: (processor seconds, MiB)}, the least of several runs: sizes in turn, so that a slow
    moment of the machine is none of one size."""
    best = {size: (float("inf"), float("inf")) for size in sizes}
    for _ in range(runs):
        for size in sizes:
            best[size] = tuple(map(min, best[size], once(form, size, folder)))
    return best


def factor(small, large, few):
    """None where the smaller difference is too small to tell."""
    return large / small if small >= few else None


def bench(folder, quick, forms=None, counts=False):
    """(figures, targets)"""
    what = "10^9 in." if counts else "seconds"
    few = FEW_INSTRUCTIONS if counts else FEW_SECONDS
    print(
        f"\n{'scaling':20} {'size':>7} {what:>8} {'MiB':>7} {f'x {what}':>10} {'x MiB':>7}  "
        " beyond size 1"
    )
    figures, targets = [], []
    for form in forms or FORMS:
        runs = 1 if quick or counts else RUNS
        sizes = [
            FIRST[form] << doubling
            for doubling in range((QUICK_DOUBLINGS if quick else DOUBLINGS) + 1)
        ]
        measured = measure(form, [1, *sizes], folder, runs, count_once if counts else compile_once)
        before = None
        for size in sizes:
            seconds, mib = (a - b for a, b in zip(measured[size], measured[1]))
            row = {"form": form, "size": size, what: seconds, "mib": mib}
            grown = (None, None)
            if before:
                slower = factor(before[what], seconds, few)
                grown = slower, factor(before["mib"], mib, FEW_MIB)
                row[f"x {what}"], row["x MiB"] = grown
                for of, value in ((what, grown[0]), ("memory", grown[1])):
                    if value:
                        targets.append(
                            Target(
                                f"{form}, {size} over {size // 2}: {of}", value, MOST, False, "x"
                            )
                        )
            text = [f"{value:.2f}" if value else "" for value in grown]
            print(
                f"{form:20} {size:7} {seconds:8.2f} {mib:7.0f} {text[0]:>10} {text[1]:>7}",
                flush=True,
            )
            figures.append(row)
            before = row
    return figures, targets
