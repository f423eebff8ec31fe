"""What ends a run of several processes, and how: each has a rank or two of one mesh. Whoever is
killed, stops, is cut off, fails or disagrees is named by the others, and none is left behind."""
import os
import random
import re
import signal
import socket
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from reference import MODELS, Model

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from cable import Cable

# What takes how long is part of it.
WAITS = True
OTHERS = re.compile(r"(SLURM|PMI|OMPI|MPI|RANK|WORLD|LOCAL|MASTER|SHARDC_PROCESS|NUM_NODES|NODE)")
RUN = ("--data", "synthetic:1", "--lr", "1e-3")
ENDLESS = (*RUN, "--steps", 100_000_000)
KILLS = int(os.environ.get("SHARDC_TEST_KILLS", 20))
UNSAVED = "without --checkpoint-dir nothing is saved"
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
            # Under nohup it is ignored, and a trainer respects that.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        self.addCleanup(self.end_it, process)
        return process

    @staticmethod
    def end_it(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def start(
        self, *flags, processes=4, others=None, wrap=None, master="127.0.0.1", trainer="flat"
    ):
        """By torchrun's variables: nobody looks after them. `others`: trainers, and `wrap`: what
        stands before the command, of single processes."""
        port = free_port()
        return [
            self.popen(
                (
                    *(wrap or {}).get(rank, ()),
                    self.path((others or {}).get(rank, trainer)),
                    *(flags[0](rank) if callable(flags[0]) else flags),
                ),
                RANK=str(rank),
                WORLD_SIZE=str(processes),
                LOCAL_RANK=str(rank),
                LOCAL_WORLD_SIZE=str(processes),
                MASTER_ADDR=master,
                MASTER_PORT=str(port),
            )
            for rank in range(processes)
        ]

    def wait_for_steps(self, process):
        """Until the first step's line."""
        line = "."
        while line and not line.startswith("step 1/"):
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


class Stops(Processes):
    def wait_for_steps(self, process):
        super().wait_for_steps(process)
        time.sleep(1)  # each has told more than once where its ranks are

    def assert_named(self, errors, rank, why, limit):
        self.assertRegex(
            errors,
            rf"^trainer: error: rank {rank} \(process {rank}, on \S+\) does not answer since \S+ s:"
            rf" {why}.*step \d+ \(counting from 0\).*; rank \d .*waits for it{limit}\n$",
        )

    def test_a_stopped_process_is_named(self):
        """Seen, or given time."""
        apart = ("--no-host-memory", "--timeout", 3)
        for victim, flags, why, limit in (
            (2, (), "a signal has stopped its process;", ""),
            (0, apart, "its process has stopped, or the network to it;", r" \(--timeout 3\)"),
        ):
            with self.subTest(victim=victim):
                processes = self.start(*ENDLESS, *flags)
                self.wait_for_steps(processes[0])
                processes[victim].send_signal(signal.SIGSTOP)
                others = processes[:victim] + processes[victim + 1 :]
                found = self.ends(others, 10)
                for code, errors in found:
                    self.assertEqual(code, LOST, errors)
                    self.assert_named(errors, victim, why, limit)
                # Which finds that it is alone now, and may hear why.
                processes[victim].send_signal(signal.SIGCONT)
                ((code, errors),) = self.ends([processes[victim]], 10)
                self.assertEqual(code, LOST, errors)
                if " stood still for " not in errors:
                    self.assert_named(errors, victim, why, limit)
                    continue
                self.assertRegex(
                    errors,
                    rf"^trainer: error: process {victim} \(rank {victim}, on \S+\) stood still for"
                    r" \S+ s \(a signal stopped it, .*\), and process \d \(.*\) is gone: .*\n$",
                )

    def test_a_stopped_process_is_no_cause_under_a_supervisor(self):
        """It is killed for the others' end, and the exit code is theirs."""
        process = self.popen((self.path("flat"), *ENDLESS, "--nproc-per-node", 4))
        self.wait_for_steps(process)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = file.read().split()
        os.kill(int(children[1]), signal.SIGSTOP)
        ((code, errors),) = self.ends([process], 10)
        self.assertEqual(code, LOST, errors)
        lines = errors.splitlines()
        self.assertRegex(
            lines.pop(0), "^trainer: process 1, which a signal has stopped, is killed$"
        )
        self.assertRegex(lines.pop(0), "error: rank 1 .* a signal has stopped its process; ")
        self.assertRegex(lines.pop(0), "^trainer: error: process . ended with exit code 4$")
        self.assertEqual(lines, [])
        self.assertFalse([pid for pid in children if os.path.exists(f"/proc/{pid}")])

    def test_a_short_pause_ends_nothing(self):
        processes = self.start(*RUN, "--steps", 200)
        self.wait_for_steps(processes[0])
        processes[1].send_signal(signal.SIGSTOP)
        time.sleep(2)
        processes[1].send_signal(signal.SIGCONT)
        self.assertEqual([end[0] for end in self.ends(processes, 60)], [0] * 4)

    def test_a_cut_cable_is_noticed(self):
        cable, timeout = Cable(self), 4
        processes = self.start(
            *(*ENDLESS, "--timeout", timeout),
            wrap={rank: cable.on(rank // 2) for rank in range(4)},
            master=cable.addresses[0],
        )
        self.wait_for_steps(processes[0])
        cable.cut()
        for rank, (code, errors) in enumerate(self.ends(processes, timeout + 5)):
            self.assertEqual(code, LOST, errors)
            # Each side names one of the other.
            other = 1 - rank // 2
            self.assertRegex(errors, rf"error: (rank|process) \d \(.*on host{other}\) ")


class Errors(Processes):
    def test_of_one_process_are_the_runs(self):
        """The third process's copy of the samples is cut off while it reads them."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        flags, own = [], []
        for name, path in Model(os.path.join(MODELS, "gpt2-tiny")).data().items():
            copy = shutil.copy(path, f"{folder}/{name}.npy")
            flags += ["--data", f"{name}={path}"]
            own += ["--data", f"{name}={copy}"]
        rest = ("--lr", "1e-3", "--steps", 100_000_000)
        processes = self.start(lambda rank: (*(own if rank == 2 else flags), *rest))
        self.wait_for_steps(processes[0])
        os.truncate(copy, 64)
        found = self.ends(processes, 10)
        code, errors = found.pop(2)
        self.assertEqual((code, errors.count("\n")), (1, 1), errors)
        self.assertIn(copy, errors)
        for code, errors in found:
            self.assertEqual((code, errors.count("\n")), (LOST, 1), errors)
            self.assertRegex(
                errors, r"error: (process 2 \(rank 2, on \S+\) is gone|rank 2 gave up): "
            )

    def test_a_small_disk_of_one_host(self):
        """What it has no room for is an error of all; that it is one host's own, before a step."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a small file system needs root and unshare")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        mount = f'mount -t tmpfs -o size=128k none {folder} && exec "$0" "$@"'
        small = ("unshare", "-m", "sh", "-c", mount)
        export = ("--export-safetensors", f"{folder}/out")
        save = ("--checkpoint-dir", f"{folder}/saves", "--checkpoint-every", 2)
        full = r"cannot write .*(No space left on|left on its file system)"
        for flags, said in ((export, full), (save, "is not one folder for all processes: rank 1")):
            with self.subTest(flags=flags):
                processes = self.start(*RUN, "--steps", 4, *flags, wrap={0: small})
                found = self.ends(processes, 30)
                # All ranks come to know that a save has failed, and one is the first to say so.
                self.assertIn(1, [code for code, _ in found], found)
                for code, errors in found:
                    self.assertIn(code, (1, LOST), errors)
                    self.assertRegex(errors, f"error: .*{said}")


class Disagreements(Processes):
    def refused(self, *flags, **settings):
        """What all say of it, which is the same."""
        found = self.ends(self.start(*flags, **settings), 30)
        lines = {errors for _, errors in found}
        self.assertEqual({code for code, _ in found}, {1}, found)
        self.assertEqual(len(lines), 1, lines)
        line = lines.pop()
        self.assertRegex(
            line,
            r"^trainer: error: process 0 \(rank 0, on \S+\) and process 2 \(rank 2, on \S+\)"
            r" disagree about .*: .* and .*; start all with the same\n$",
        )
        return line

    def test_flags(self):
        for flag, one, other in (("--weight-decay", "0.1", "0.2"), ("--seed", "1", "2")):
            random_values = ("--init", "random")
            line = self.refused(
                lambda rank: (*RUN, "--steps", 2, *random_values, flag, (one, other)[rank == 2])
            )
            self.assertIn(f"{flag}", line)
            self.assertIn(f"{one} and {other};", line)

    def test_plan_and_kernels(self):
        source = Model(os.path.join(MODELS, "gpt2-tiny"))
        source.compile(self.path("plan"), "4", "float32", "--optimizer", "sgd")
        self.assertIn("the trainer's plan", self.refused(*RUN, "--steps", 2, others={2: "plan"}))

    def test_inputs(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        source = Model(os.path.join(MODELS, "gpt2-tiny"))
        for name, path in source.data().items():
            values = np.load(path)
            np.save(os.path.join(folder, f"{name}.npy"), values)
            values.reshape(-1)[5] += 1
            np.save(os.path.join(folder, f"{name}-2.npy"), values)
        names = list(source.data())
        for changed in names:

            def flags(rank):
                words = ["--steps", 2, "--lr", "1e-3"]
                for name in names:
                    version = "-2" if name == changed and rank == 2 else ""
                    words += ["--data", f"{name}={folder}/{name}{version}.npy"]
                return words

            line = self.refused(flags)
            self.assertIn(f"--data {changed}", line)


class Signals(Processes):
    def test_one_process_is_told_and_all_stop(self):
        kinds = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP]
        for number in range(max(4, KILLS // 4)):
            kind = kinds[number % 4]
            with self.subTest(number=number, signal=kind):
                processes = self.start(*ENDLESS)
                self.wait_for_steps(processes[0])
                time.sleep(random.random() / 10)
                processes[random.randrange(4)].send_signal(kind)
                for rank, (code, errors) in enumerate(self.ends(processes, 10)):
                    self.assertEqual(code, 128 + kind, errors)
                    said = f"trainer: stopped by {signal.strsignal(kind)}; {UNSAVED}; nothing"
                    self.assertEqual(errors, f"{said} was exported\n" if rank == 0 else "")

    def test_all_save_the_same_step(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        processes = self.start(*ENDLESS, "--checkpoint-dir", folder)
        self.wait_for_steps(processes[0])
        processes[3].send_signal(signal.SIGUSR1)
        found = self.ends(processes, 20)
        self.assertEqual([code for code, _ in found], [128 + signal.SIGUSR1] * 4, found)
        saved = re.search(r"stopped by User defined signal 1; step (\d+) is saved; ", found[0][1])
        self.assertTrue(saved, found[0][1])
        steps = int(saved[1]) + 1
        found = self.ends(self.start(*RUN, "--steps", steps, "--resume", folder), 20)
        self.assertEqual([code for code, _ in found], [0] * 4, found)

    def test_a_second_one_ends_at_once(self):
        processes = self.start(*ENDLESS)
        self.wait_for_steps(processes[0])
        # No step comes to its end.
        processes[2].send_signal(signal.SIGSTOP)
        processes[1].send_signal(signal.SIGTERM)
        time.sleep(0.5)
        self.assertIsNone(processes[1].poll())
        processes[1].send_signal(signal.SIGTERM)
        self.assertEqual(self.ends([processes[1]], 2)[0][0], -signal.SIGTERM)
        for code, errors in self.ends([processes[0], processes[3]], 5):
            self.assertEqual(code, LOST)
            self.assertRegex(errors, r"error: process 1 \(rank 1, on \S+\) is gone")


if __name__ == "__main__":
    unittest.main()
