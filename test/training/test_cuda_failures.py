"""One of four emulated GPUs fails, or the process that has it, in the middle of a run: all others
end, name the rank, its step, the entry of the plan and the ONNX node, and leave nothing behind.

Each kind of failure runs a few times, at other moments, with ranks started in other ways; with
SHARDC_TEST_FAILURES=20 so many times, and the longest time of each kind is printed."""
import os
import random
import re
import signal
import sys
import tempfile
import time
import unittest
import unittest.mock

import test_faults
from emulated_cuda import emulated
from reference import models

# What takes how long is part of it.
WAITS = True
TIMES = os.environ.get("SHARDC_TEST_FAILURES")
SECONDS = 10  # in which all others have to end
THREADS = ("--nproc-per-node", 1)
PROCESSES = ()  # one for each GPU, which is what a plain start means
PAIRS = ("--nproc-per-node", 2)
WORKERS = None  # as torchrun starts them: nobody ends the others
# Where a rank was. It tells the others every second: some step may have been at its samples.
PLACE = (
    r"step \d+ \(counting from 0\), (?:(?:before )?plan entry \S+ \(train, \w+\), "
    r"(?:before |behind )?ONNX nodes? \S+{}|waiting for its samples to be read|writing outputs)"
)


def running(trainer):
    """Processes of this program."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == trainer:
                found.append(int(pid))
        except OSError:
            pass
    return found


class Failures(test_faults.Processes):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(cls.enterClassContext(tempfile.TemporaryDirectory()))
        os.mkdir(os.path.join(cls.folder, "tmp"))
        cls.enterClassContext(emulated(4))
        cls.enterClassContext(
            unittest.mock.patch.dict(os.environ, TMPDIR=os.path.join(cls.folder, "tmp"))
        )
        cls.trainer = os.path.join(cls.folder, "flat")
        model = models()["mlp-tiny-loss"]
        model.compile(cls.trainer, "4", "float32", "--target", "cuda:sm_90", batch=8)

    def setUp(self):
        self.before = self.things()
        self.longest = 0

    def tearDown(self):
        if TIMES:
            print(f"{self.id()}: {self.longest:.1f} s", file=sys.stderr)

    def things(self):
        """What a run could leave. Sockets without a name are gone with their processes."""
        return (
            running(self.trainer),
            sorted(os.listdir("/dev/shm")),
            sorted(os.listdir(self.folder)),
            os.listdir(os.path.join(self.folder, "tmp")),
        )

    def each(self, fail, *modes):
        """Calls fail(number, mode) again and again."""
        for number in range(int(TIMES or len(modes))):
            mode = modes[number % len(modes)]
            with self.subTest(number=number, mode=mode):
                fail(number, mode)
                # What others do on this machine comes and goes.
                deadline = time.monotonic() + 5
                while self.things() != self.before and time.monotonic() < deadline:
                    time.sleep(0.1)
                self.assertEqual(self.things(), self.before)

    def begin(self, mode, **settings):
        """Processes whose ends are looked at, and those of ranks."""
        changes = {f"SHARDC_EMULATED_{name}": value for name, value in settings.items()}
        if mode is WORKERS:
            with unittest.mock.patch.dict(os.environ, changes):
                processes = self.start(*test_faults.ENDLESS)
            return processes, [process.pid for process in processes]
        words = (self.trainer, *test_faults.ENDLESS, *mode)
        process = self.popen(words, **changes)
        return [process], None

    def children(self, process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]

    def all_end(self, processes, since, named, codes):
        """Within the time, by themselves; every error that is printed has the name."""
        found = self.ends(processes, SECONDS - (time.monotonic() - since))
        self.longest = max(self.longest, time.monotonic() - since)
        self.assertLess(time.monotonic() - since, SECONDS)
        for code, errors in found:
            self.assertIn(code, codes, errors)
            self.assertRegex(errors, named)
        return found

    def hit(self, mode, kind, said):
        """Sends a signal to a process, whose end or stop the others tell."""
        processes, ranks = self.begin(mode)
        self.wait_for_steps(processes[0])
        time.sleep(1 + random.random())  # it has told where it is; graphs are replayed
        ranks = ranks or self.children(processes[0])
        victim = random.randrange(len(ranks))
        since = time.monotonic()
        os.kill(ranks[victim], kind)
        others = processes
        if mode is WORKERS:
            others = processes[:victim] + processes[victim + 1 :]
        rank = victim * 4 // len(ranks)
        of_it = rf"(?:{rank}|{rank + 1})" if len(ranks) == 2 else rank
        named = said.format(victim=victim, rank=of_it, place=PLACE.format(""))
        killed = set() if mode is WORKERS else {128 + signal.SIGKILL}
        self.all_end(others, since, named, {test_faults.LOST} | killed)
        if mode is WORKERS:
            self.end_it(processes[victim])

    def test_a_killed_process(self):
        said = (
            r"trainer: error: process {victim} \(ranks? .*, on \S+\) is gone: .*; where it was"
            r" \S+ s before: rank {rank}, {place}"
        )
        self.each(lambda _, mode: self.hit(mode, signal.SIGKILL, said), PROCESSES, WORKERS, PAIRS)

    def test_a_stopped_process(self):
        said = (
            r"trainer: error: rank {rank} \(process {victim}, on \S+\) does not answer since \S+ s:"
            r" a signal has stopped its process; where it was last: {place}.*; rank \d .*waits for"
            r" it\n"
        )
        self.each(lambda _, mode: self.hit(mode, signal.SIGSTOP, said), PROCESSES, WORKERS)

    def broken(self, mode, said, **settings):
        """A run that fails as its GPUs are told to."""
        processes, _ = self.begin(mode, **settings)
        since = time.monotonic()
        for line in processes[0].stdout:
            since = time.monotonic() if line.startswith("step ") else since
        place = PLACE.format(r"(?:.*, or one of the \d+ behind it, up to plan entry .*)?")
        found = self.all_end(processes, since, rf"rank 2(?:| gave up): {place}", {1, 4})
        self.assertIn(1, [code for code, _ in found])
        for _, errors in found:
            self.assertEqual(errors.count("\n"), 1, errors)
            self.assertIn(said, errors)

    def test_a_kernel_that_fails(self):
        """In the first step, or in one that a graph replays."""

        def fail(number, mode):
            launch = 7 if number % 5 == 4 else 100 + 19 * number
            said = "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"
            self.broken(mode, said, FAIL_LAUNCH=f"2:{launch}")

        self.each(fail, PROCESSES, THREADS, WORKERS, PAIRS)

    def test_a_call_of_nccl_that_fails(self):
        """In the first two steps: a graph calls nothing."""

        def fail(number, mode):
            self.broken(mode, "fails, as it was told to", NCCL_FAIL=f"2:{1 + number % 8}")

        self.each(fail, PROCESSES, THREADS, WORKERS)

    def test_a_collective_that_breaks(self):
        """While it runs: of the first step, or in a graph."""

        def fail(number, mode):
            collective = 2 if number % 5 == 4 else 20 + 7 * number
            self.broken(mode, "breaks, as it was told to", NCCL_BREAK=f"2:{collective}")

        self.each(fail, PROCESSES, THREADS, WORKERS)


if __name__ == "__main__":
    unittest.main()
