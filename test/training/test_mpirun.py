"""Trainers as Open MPI's and MPICH's mpirun start them: the bits are those of one process, over MPI
and over UCX; how they end. The same with srun and --transport mpi. And the conformance suites of
test/runtime/comm/mpi-tests.cpp."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from emulated_cuda import emulated
from reference import BUILD, MODELS, Model, read_metrics

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from slurm import Cluster

# Of processor time: see test/run.py.
LONG = True

TESTS = os.path.join(BUILD, "bin", "mpi-tests")
OTHERS = re.compile(r"(SLURM|PMI|OMPI|MPI|RANK|WORLD|LOCAL|MASTER)")
RUN = ("--data", "synthetic:1", "--lr", "1e-3")
LIBRARIES = ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12")
ENDLESS = (*RUN, "--steps", 100_000_000)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def loaded(pid):
    """Names of what a process has mapped."""
    return {os.path.basename(line.split(maxsplit=5)[-1]) for line in read_maps(pid)}


def read_maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return [line.strip() for line in file]


class Trainers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        model = Model(os.path.join(MODELS, "gpt2-tiny"))
        for name, mesh, precision, *flags in (
            ("flat", "4", "float32"),
            ("mesh", "2x2", "bf16", "--strategy", "hybrid"),
        ):
            model.compile(os.path.join(cls.folder, name), mesh, precision, *flags)
        model = Model(os.path.join(MODELS, "mlp-tiny-loss"))
        path = os.path.join(cls.folder, "gpus")
        model.compile(path, "4", "float32", "--target", "cuda:sm_90", batch=8)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *command, **changes):
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

    def end_it(self, process):
        if process.poll() is None:
            for pid in [*self.trainers(process), process.pid]:
                os.kill(pid, signal.SIGKILL)
        process.communicate()

    def run_all(self, *command, timeout=120, **changes):
        process = self.start(*command, **changes)
        out, errors = process.communicate(timeout=timeout)
        return process.returncode, out, errors

    def below(self, pid):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                children = [int(word) for word in file.read().split()]
        except FileNotFoundError:
            return []
        return children + [each for child in children for each in self.below(child)]

    def trainers(self, process):
        """Those that it has started, by their executable."""
        found = []
        for pid in self.below(process.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe").startswith(self.folder):
                    found.append(pid)
            except OSError:
                pass
        return found

    def assert_none_left(self, pids):
        deadline = time.monotonic() + 5
        while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([pid for pid in pids if os.path.exists(f"/proc/{pid}")], [])

    changes = {}  # of the environment

    def trained(self, name, *launcher, flags=()):
        """Losses, norms and what was exported."""
        metrics, exported = self.path(f"{name}.jsonl"), self.path(f"{name}.safetensors")
        code, _, errors = self.run_all(
            *(*launcher, self.path(name), *RUN, "--steps", 4, "--grad-accumulation", 2),
            *("--metrics", metrics, "--export-safetensors", exported, *flags),
            **self.changes,
        )
        self.assertEqual(code, 0, errors)
        self.warnings = errors
        steps, _ = read_metrics(metrics)
        numbers = [(step["loss"], step["grad_norm"]) for step in steps]
        self.assertEqual(len(numbers), 4)
        bits = read(exported)
        for path in (metrics, exported):
            os.remove(path)
        return numbers, bits


def hiding_mpi(testcase):
    """A command in front of another, which then finds no MPI library that can be loaded."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        testcase.skipTest("hiding a library needs root and unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        testcase.skipTest("no namespaces of mounts here")
    folder = "/usr/lib/x86_64-linux-gnu"
    found = [f"{folder}/{name}" for name in LIBRARIES if os.path.exists(f"{folder}/{name}")]
    hide = "".join(f"mount --bind /dev/null {os.path.realpath(path)} && " for path in found)
    return "unshare", "-m", "sh", "-c", f'{hide}exec "$0" "$@"'


class OneProcess(Trainers):
    def test_loads_nothing_of_mpi(self):
        process = self.start(self.path("flat"), *ENDLESS, "--log-format", "text")
        process.stdout.readline()
        names = loaded(process.pid)
        self.assertFalse([n for n in names if re.search("mpi|pmix|ucx|ucs|ofi|fabric", n)], names)
        process.terminate()
        process.communicate(timeout=20)

    def test_mpi_needs_its_launcher(self):
        for flags in ((), ("--nproc-per-node", 2)):
            code, _, errors = self.run_all(
                self.path("flat"), *RUN, "--steps", 1, "--transport", "mpi", *flags
            )
            self.assertEqual((code, errors.count("\n")), (1, 1), errors)
            self.assertIn("trainer: error: --transport mpi, and MPI knows nothing of", errors)


class Mpirun:
    """What holds under each: kind, launcher, flags, library, and what it ends with where a process
    ends with 1."""

    failures = (1,)

    def mpirun(self, processes):
        return self.launcher, *self.flags, "-n", processes

    def setUp(self):
        if not shutil.which(self.launcher):
            self.skipTest(f"{self.launcher} is not installed")

    def test_conformance(self):
        for processes in (2, 4):
            code, out, errors = self.run_all(
                *self.mpirun(processes), TESTS, self.kind, "--gtest_brief=1", **self.shares
            )
            self.assertEqual(code, 0, out[-4000:] + errors)
            self.assertRegex(out, rf"{self.version}\S*, {processes} processes")
            (ran,) = re.findall(r"(\d+) tests from \d+ test suites ran", out)
            self.assertGreater(int(ran), 300)

    def test_bits_are_those_of_one_process(self):
        for name in ("flat", "mesh"):
            expected = self.trained(name)
            for processes in (2, 4):
                with self.subTest(name=name, processes=processes):
                    self.assertEqual(self.trained(name, *self.mpirun(processes)), expected)

    def test_gpus_have_the_bits_of_the_plain_start(self):
        with emulated(4):
            expected = self.trained("gpus")
            for processes in (2, 4):
                with self.subTest(processes=processes):
                    self.assertEqual(self.trained("gpus", *self.mpirun(processes)), expected)

    def test_ucx_carries_them_as_well(self):
        expected = self.trained("flat")
        found = self.trained("flat", *self.mpirun(2), flags=("--transport", "ucx"))
        self.assertEqual(found, expected)

    def endless(self, processes=4):
        """mpirun and its trainers, which are in the middle of a run."""
        process = self.start(*self.mpirun(processes), self.path("flat"), *ENDLESS)
        line = "."
        while line and not line.startswith("loss"):
            line = process.stdout.readline()
        time.sleep(0.5)
        trainers = self.trainers(process)
        self.assertEqual(len(trainers), processes)
        return process, trainers

    def test_the_launchers_library_is_loaded(self):
        process, trainers = self.endless(2)
        for pid in trainers:
            names = loaded(pid)
            self.assertTrue([n for n in names if n.startswith(self.library)], names)
        os.kill(trainers[1], signal.SIGTERM)
        out, errors = process.communicate(timeout=20)
        # All have stopped after the same step, and MPI has come to its end.
        self.assertIn("trainer: stopped by Terminated", out + errors)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assert_none_left(trainers)

    def test_a_killed_process_ends_all(self):
        process, trainers = self.endless()
        os.kill(trainers[2], signal.SIGKILL)
        process.communicate(timeout=20)
        self.assertNotEqual(process.returncode, 0)
        self.assert_none_left(trainers)

    def test_an_error_of_one_process_is_the_runs(self):
        code, _, errors = self.run_all(
            *self.mpirun(2), self.path("flat"), *RUN, "--steps", 3, "--metrics", "/nowhere/m.jsonl"
        )
        self.assertIn("trainer: error: cannot write /nowhere/m.jsonl", errors)
        # That of the process which has no place to write; the other has lost it.
        self.assertIn(code, self.failures, errors)

    def test_processes_disagree(self):
        rest = (self.path("flat"), *RUN, "--steps", 3)
        for flag, values in (("--transport", ("mpi", "ucx")), ("--weight-decay", ("0.1", "0.2"))):
            first, second = [(*rest, flag, value) for value in values]
            code, _, errors = self.run_all(*self.mpirun(1), *first, ":", "-n", 1, *second)
            self.assertIn(code, self.failures, errors)
            self.assertRegex(
                errors, rf"trainer: error: .* disagree about {flag}: {values[0]} and {values[1]}"
            )

    def test_a_library_that_is_not_there_is_said(self):
        hidden = hiding_mpi(self)
        code, _, errors = self.run_all(*self.mpirun(2), *hidden, self.path("flat"), *RUN)
        self.assertEqual(code, 1)
        self.assertRegex(
            errors,
            "trainer: error: mpirun started this process, and it found no library of"
            f" {self.says}; looked for .*{re.escape(self.library)}.*; install it",
        )
        for name in LIBRARIES:
            self.assertIn(name, errors)


class OpenMpi(Mpirun, Trainers):
    kind, launcher, library = "openmpi", "mpirun.openmpi", "libmpi.so.40"
    version, says = "Open MPI v", "Open MPI"
    flags = ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
    # Thousands of collectives of processes that poll: each gives its core to the others.
    shares = {"OMPI_MCA_mpi_yield_when_idle": "1"}

    def test_a_place_that_mpi_does_not_know_is_said(self):
        code, _, errors = self.run_all(
            *(self.path("flat"), *RUN, "--steps", 1),
            OMPI_COMM_WORLD_RANK="1",
            OMPI_COMM_WORLD_SIZE="2",
        )
        self.assertEqual(code, 1)
        self.assertIn("mpirun started this as process 1 of 2, and Open MPI", errors)
        self.assertIn("takes it for process 0 of 1; start it with the launcher", errors)


class Mpich(Mpirun, Trainers):
    kind, launcher, library = "mpich", "mpirun.mpich", "libmpich.so.12"
    version, says = "MPICH Version: ", "MPICH"
    flags, shares = (), {}
    # Hydra ends what is left of a run by signal 9, and may say that number.
    failures = (1, 9)


class Srun(Trainers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(Cluster())

    def srun(self, plugin, *command):
        # Quiet: it says that it waits while the node still clears up behind the job before.
        return "srun", "--quiet", f"--mpi={plugin}", "-n", 2, "--overcommit", *command

    def trained_by(self, *launcher, flags=()):
        with unittest.mock.patch.object(
            self, "changes", {"SLURM_CONF": self.cluster.configuration}
        ):
            return self.trained("flat", *launcher, flags=flags)

    def test_mpi_carries_where_it_is_asked_for(self):
        expected = self.trained("flat")
        for plugin in ("pmi2", "pmix"):
            with self.subTest(plugin=plugin):
                found = self.trained_by(*self.srun(plugin), flags=("--transport", "mpi"))
                self.assertEqual(found, expected)
                self.assertEqual(self.warnings, "")

    def test_ucx_carries_where_no_library_is(self):
        hidden = hiding_mpi(self)
        expected = self.trained("flat")
        found = self.trained_by(*self.srun("pmi2", *hidden), flags=("--transport", "mpi"))
        self.assertEqual(found, expected)
        self.assertRegex(
            self.warnings,
            r"^trainer: warning: --transport mpi: process 0 found no library of MPICH and Open MPI;"
            r" looked for .*libmpi.so.40.*libmpi.so.12.*; UCX carries the messages\n$",
        )

    def test_a_task_without_a_place_in_mpi_is_said(self):
        code, _, errors = self.run_all(
            *self.srun("none", self.path("flat"), *RUN, "--steps", 1, "--transport", "mpi"),
            SLURM_CONF=self.cluster.configuration,
        )
        self.assertEqual(code, 1)
        self.assertIn("trainer: error: --transport mpi, and srun has told this process", errors)


if __name__ == "__main__":
    unittest.main()
