"""What ends a run of several processes, and how: each has a rank or two of one mesh. Whoever is
killed, stops, is cut off, fails or disagrees is named by the others, and none is left behind."""
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from reference import BUILD, MODELS, Model

OTHERS = re.compile(r"(SLURM|PMI|OMPI|MPI|RANK|WORLD|LOCAL|MASTER|SHARDC_PROCESS|NUM_NODES|NODE)")
RUN = ("--data", "synthetic:1", "--lr", "1e-3")
ENDLESS = (*RUN, "--steps", 100_000_000)
KILLS = int(os.environ.get("SHARDC_TEST_KILLS", 20))
LOST = 4  # the exit code of who lost another


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes(unittest.TestCase):
    """Trainers of four ranks, flat and 2x2, and ways to start them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        model = Model(os.path.join(MODELS, "gpt2-tiny"))
        model.compile(os.path.join(cls.folder, "flat"), "4", "float32")

    def path(self, name):
        return os.path.join(self.folder, name)

    def popen(self, command, **changes):
        kept = {k: v for k, v in os.environ.items() if not OTHERS.match(k)}
        process = subprocess.Popen(
            [str(word) for word in command],
            env=kept | changes,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(self.end_it, process)
        return process

    @staticmethod
    def end_it(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def start(self, *flags, processes=4, trainer="flat", each=None, wrap=()):
        """By torchrun's variables: nobody looks after them. `each`: flags of one process."""
        port = free_port()
        return [
            self.popen(
                (*wrap, self.path(trainer), *flags, *(each or {}).get(rank, ())),
                RANK=str(rank),
                WORLD_SIZE=str(processes),
                LOCAL_RANK=str(rank),
                LOCAL_WORLD_SIZE=str(processes),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
            )
            for rank in range(processes)
        ]

    def wait_for_steps(self, process):
        """Until the first step's line."""
        line = "."
        while line and not line.startswith("loss"):
            line = process.stdout.readline()
        self.assertTrue(line, "the run has ended before its first step")

    def ends(self, processes, seconds):
        """(exit code, stderr) of each; all within so many seconds."""
        deadline = time.monotonic() + seconds
        found = []
        for process in processes:
            _, errors = process.communicate(timeout=max(0.01, deadline - time.monotonic()))
            found.append((process.returncode, errors))
        return found


class Kills(Processes):
    def test_who_is_killed_is_named(self):
        for number in range(KILLS // 2):
            victim = number % 4
            with self.subTest(number=number, victim=victim):
                processes = self.start(*ENDLESS)
                self.wait_for_steps(processes[0])
                time.sleep(random.random() / 2)
                processes[victim].kill()
                for rank, (code, errors) in enumerate(self.ends(processes, 5)):
                    if rank == victim:
                        continue
                    self.assertEqual((code, errors.count("\n")), (LOST, 1), errors)
                    self.assertRegex(
                        errors,
                        rf"^trainer: error: process {victim} \(rank {victim}, on \S+\) is gone: ",
                    )

    def test_at_any_moment_under_a_supervisor(self):
        for number in range(KILLS - KILLS // 2):
            with self.subTest(number=number):
                process = self.popen((self.path("flat"), *ENDLESS, "--nproc-per-node", 4))
                children = []
                while len(children) < 4:
                    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                        children = file.read().split()
                time.sleep(random.random())
                victim = random.randrange(4)
                os.kill(int(children[victim]), signal.SIGKILL)
                ((code, errors),) = self.ends([process], 5)
                self.assertEqual(code, 128 + signal.SIGKILL, errors)
                self.assertIn(
                    f"trainer: error: process {victim} was ended by signal 9 (Killed)\n", errors
                )
                self.assertFalse([pid for pid in children if os.path.exists(f"/proc/{pid}")])


if __name__ == "__main__":
    unittest.main()
