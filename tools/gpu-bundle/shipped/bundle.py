"""What lies in the bundle, how its programs are run, and what is said of them."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.abspath(__file__))


def contents(root=ROOT):
    with open(os.path.join(root, "bundle.json")) as file:
        return json.load(file)


def library_path():
    """Where programs look for NVIDIA's libraries: also in the folders of PyPI's packages that this
    python3 knows, behind those that LD_LIBRARY_PATH has."""
    folders = [os.environ.get("LD_LIBRARY_PATH")]
    for folder in sys.path:
        folders += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib")))
    return ":".join(filter(None, folders))


class Report:
    """A line for each check; the reason of what did not pass is part of its name."""

    def __init__(self):
        self.passes = self.fails = self.skips = 0

    def passed(self, name, detail=""):
        self.passes += 1
        self._say("passed", name, detail)

    def failed(self, name, why):
        self.fails += 1
        self._say("failed", name, why)

    def skipped(self, name, why):
        self.skips += 1
        self._say("skipped", name, why)

    def check(self, name, is_good, detail):
        (self.passed if is_good else self.failed)(name, detail)

    @staticmethod
    def _say(what, name, detail):
        print(f"{what:8}{name}{': ' if detail else ''}{detail}", flush=True)


class Failed(Exception):
    """A program that did not end well; its text is one line."""


class Bundle:
    """The bundle, for one part of the tests."""

    def __init__(self, gpu, folder, deadline, models=None, root=ROOT):
        self.gpu = gpu
        self.root = root
        self.folder = folder  # for what is written; gone after the part
        self.deadline = deadline
        self.contents = contents(root)
        self.wanted = models.split(",") if models else None

    def path(self, *names):
        return os.path.join(self.root, *names)

    def runs(self, kind):
        """The runs of "parity", "launches", "sanitizer" or "speed", as bundle.json has them."""
        return [
            run for run in self.contents[kind] if self.wanted is None or run["model"] in self.wanted
        ]

    def trainer(self, name):
        """The trainer's path. All trainers begin with the same runtime, which is packed once."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            with open(path, "wb") as trainer:
                for part in (self.path("bin", "runtime"), self.path("trainers", name)):
                    with open(part, "rb") as file:
                        shutil.copyfileobj(file, trainer)
            os.chmod(path, 0o755)
        return path

    def flags(self, run, steps):
        """A trainer's flags."""
        words = ["--steps", str(steps), "--device", "cuda"] + run["flags"]
        for name, path in run.get("data", {}).items():
            words += ["--data", f"{name}={self.path(path)}"]
        return words

    def command(self, words, environment=(), good=(0,)):
        """Runs a program to its end, or to that of the part's time; what it said."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise Failed("the part's time is over")
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": library_path(), **dict(environment)},
            start_new_session=True,
        )
        try:
            said = process.communicate(timeout=seconds)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise Failed(f"{os.path.basename(words[0])} was still running after {seconds:.0f} s")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode not in good:
            lines = [line for line in said.strip().splitlines() if line.strip()]
            told = next((line for line in lines if "error" in line.lower()), (lines or [""])[-1])
            raise Failed(f"{os.path.basename(words[0])} ends with {process.returncode}: {told}")
        return said


def read_metrics(path):
    """(steps, the summary) of a --metrics file."""
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    steps = [line for line in lines if "event" not in line]
    return steps, next(line for line in lines if line.get("event") == "summary")
