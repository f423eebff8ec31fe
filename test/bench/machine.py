"""Running programs one at a time, and how far each had the machine to itself."""
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from workloads import ROOT

BIN = os.path.join(ROOT, "build", "bin")
TICK = os.sysconf("SC_CLK_TCK")
IDLE, IDLE_SECONDS = 0.97, 3  # share of all processors, for so long, before a run starts


def processor_seconds():
    """Of all processors since boot: (any use, idle, taken by the host)."""
    with open("/proc/stat") as file:
        user, nice, system, idle, waiting, irq, softirq, steal = (
            int(v) / TICK for v in file.readline().split()[1:9]
        )
    return user + nice + system + irq + softirq, idle + waiting, steal


def wait_until_idle(limit):
    """Returns whether the processors were idle for IDLE_SECONDS at last; `limit` seconds are waited
    for it at most. Not the load average: it remembers the last run."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        before = processor_seconds()
        time.sleep(IDLE_SECONDS)
        _, idle, _ = (b - a for a, b in zip(before, processor_seconds()))
        if idle >= IDLE * IDLE_SECONDS * os.cpu_count():
            return True
    return False


@dataclass(frozen=True)
class Ran:
    out: str
    seconds: float
    peak_mib: float  # the largest process: VmHWM
    foreign: float  # share of the machine that others used meanwhile
    steal: float  # share that the host took


def failed(message):
    print(f"bench: error: {message}", file=sys.stderr)
    sys.exit(1)


def hold_instructions(cpu):
    """Every program that is run from now on uses at most those of `cpu`: the environment says so
    to the trainer's loops and products, to PyTorch, oneDNN and MKL."""
    if cpu == "x86-64-v3":
        os.environ.update(
            SHARDC_CPU=cpu,
            ATEN_CPU_CAPABILITY="avx2",
            ONEDNN_MAX_CPU_ISA="AVX2",
            MKL_ENABLE_INSTRUCTIONS="AVX2",
        )


def held_cpu():
    """What shardc compiles for: its --cpu."""
    return os.environ.get("SHARDC_CPU", "native")


def run(*words, **environment):
    """To the end; a failure ends the bench with the program's own last lines."""
    words = [str(w) for w in words]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        before, start = processor_seconds(), time.monotonic()
        process = subprocess.Popen(
            words,
            stdout=out,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env=dict(os.environ, **environment),
        )
        # Usage has the descendants that were waited for, too.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        used, _, steal = (b - a for a, b in zip(before, processor_seconds()))
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), errors.seek(0)
        if process.returncode:
            last = errors.read().strip().splitlines()[-12:]
            failed("\n  ".join([f"{' '.join(words)} ended with {process.returncode}", *last]))
        whole = seconds * os.cpu_count()
        return Ran(
            out.read(),
            seconds,
            usage.ru_maxrss / 1024,
            max(0.0, used - usage.ru_utime - usage.ru_stime) / whole,
            steal / whole,
        )


def gemm_rate(threads):
    """GFLOP/s of the GEMM library on 1024^3 float32, on so many threads at once."""
    return float(run(os.path.join(BIN, "gemm-bench"), threads).out)


def describe():
    """The machine, for who reads the figures elsewhere."""
    with open("/proc/cpuinfo") as file:
        model = next(
            (line.split(":")[1].strip() for line in file if line.startswith("model name")),
            "unknown processor",
        )
    with open("/proc/meminfo") as file:
        memory = (
            next(int(line.split()[1]) for line in file if line.startswith("MemTotal")) / 2**20
        )
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "kernel": os.uname().release,
    }
