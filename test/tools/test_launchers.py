"""Processes as launchers start them: who they are, where they meet, how they end together. Runs
test/runtime/launch/launched.cpp, which does what a trainer does before its first step."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import uuid

import two_hosts
from slurm import Cluster

# What takes how long is part of it.
WAITS = True
LAUNCHED = os.path.join(os.path.abspath(os.environ.get("SHARDC_BUILD", "build")), "bin/launched")
HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
PLACE_VARIABLES = re.compile(
    r"(SLURM|PMI|OMPI|MPI|SHARDC_|NODE|NUM_NODES|RANK|WORLD|LOCAL|GROUP|MASTER|TORCHELASTIC|PET_)"
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def places(processes):
    """What process 0 prints: each process and its place on the host, whatever it is bound to."""
    return [f"{p} is {p} of {processes}" for p in range(processes)]


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.mark = f"LAUNCHED_MARK={uuid.uuid4()}"

    def environment(self, **changes):
        kept = {k: v for k, v in os.environ.items() if not PLACE_VARIABLES.match(k)}
        name, value = self.mark.split("=")
        return kept | {name: value} | changes

    def start(self, *command, **changes):
        return subprocess.Popen(
            [str(word) for word in command],
            env=self.environment(**changes),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def end(self, process, timeout=60):
        """Its exit code and what it printed, once it has ended."""
        try:
            out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, out, errors

    def run_all(self, *command, **changes):
        return self.end(self.start(*command, **changes))

    def left(self):
        """Processes that this test has started and that are still there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.mark.encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def assert_none_left(self):
        deadline = time.monotonic() + 5
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.left(), [])

    def assert_met(self, out, processes):
        found = [line.partition(", on ")[0] for line in out.splitlines() if " is " in line]
        self.assertEqual(found, places(processes), out)

    def tearDown(self):
        self.assert_none_left()


class ByHand(LaunchTest):
    def test_alone(self):
        code, out, errors = self.run_all(LAUNCHED)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(out.splitlines()[0], "alone")
        self.assert_met(out, 1)

    def test_two_nodes_by_flags_and_by_variables(self):
        port = free_port()
        flags = [LAUNCHED, "--nnodes", 2, "--master", f"localhost:{port}", "--node-rank"]
        second = self.start(*flags, 1)
        code, out, errors = self.run_all(*flags, 0)
        self.assertEqual((code, errors), (0, ""))
        self.assert_met(out, 2)
        self.assertEqual(self.end(second), (0, "by hand, process 1 of 2\n", ""))
        variables = dict(NUM_NODES="2", MASTER_ADDR="localhost", MASTER_PORT=str(port))
        second = self.start(LAUNCHED, NODE_RANK="1", LOCAL_WORLD_SIZE="2", **variables)
        code, out, errors = self.run_all(LAUNCHED, NODE_RANK="0", LOCAL_WORLD_SIZE="2", **variables)
        self.assertEqual((code, errors), (0, ""))
        self.assert_met(out, 4)
        self.assertEqual(self.end(second)[::2], (0, ""))

    def test_who_does_not_come_is_named(self):
        port = free_port()
        flags = [LAUNCHED, "--nnodes", 3, "--master", f"localhost:{port}", "--start-timeout", 1]
        second = self.start(*flags, "--node-rank", 2)
        code, _, errors = self.run_all(*flags, "--node-rank", 0)
        self.assertEqual(code, 4)
        self.assertRegex(
            errors,
            r"within \d\S* s, process 1 of 3 has not come; here: 0 \(on \S+\), 2 \(on \S+\)",
        )
        self.assertEqual(self.end(second)[0], 4)
        code, _, errors = self.run_all(*flags, "--node-rank", 1)
        self.assertEqual(code, 4)
        self.assertIn("process 0 serves no store: found no store of this run", errors)

    def test_a_taken_port_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            code, _, errors = self.run_all(
                LAUNCHED, "--nnodes", 2, "--node-rank", 0, "--master", f"localhost:{port}"
            )
        self.assertEqual(code, 1)
        self.assertIn(f"port {port} of this host is taken by another process", errors)

    def test_wrong_flags_are_one_line(self):
        for flags in (
            ["--nnodes", 0],
            ["--nnodes", 2],
            ["--nproc-per-node", "two"],
            ["--master", "here"],
            ["--launcher", "sruns"],
            ["--start-timeout", 0],
            ["--max-restarts", 1],
        ):
            code, out, errors = self.run_all(LAUNCHED, *flags)
            self.assertEqual((code, out, errors.count("\n")), (1, "", 1), errors)
            self.assertTrue(errors.startswith("launched: error: "), errors)


class Spawned(LaunchTest):
    def spawn(self, count, *flags, do=""):
        return self.start(LAUNCHED, "--nproc-per-node", count, *flags, LAUNCHED_DO=do)

    def wait_for(self, process, lines):
        """Lines of output until each process has said that it is there."""
        return [process.stdout.readline() for _ in range(lines)]

    def test_processes_meet(self):
        code, out, errors = self.end(self.spawn(4))
        self.assertEqual((code, errors), (0, ""))
        self.assert_met(out, 4)
        for process in range(4):
            self.assertIn(f"--nproc-per-node, process {process} of 4\n", out)

    def test_each_has_its_share_of_the_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest("this machine has one core")
        _, out, _ = self.end(self.spawn(2))
        bound = re.findall(r"^\d is .*, on (\S+)$", out, re.MULTILINE)
        self.assertEqual(len(set(bound)), 2, out)

    def test_a_killed_process_ends_the_others(self):
        begin = time.monotonic()
        code, _, errors = self.end(self.spawn(4, do="0:wait,1:kill9,2:hang,3:wait"))
        self.assertEqual(code, 128 + 9)
        self.assertEqual(errors, "trainer: error: process 1 was ended by signal 9 (Killed)\n")
        self.assertLess(time.monotonic() - begin, 20)

    def test_the_first_failures_code_is_the_runs(self):
        code, _, errors = self.end(self.spawn(3, do="0:wait,2:exit7"))
        self.assertEqual((code, errors), (7, ""))
        # Those that have lost another are not the cause.
        code, _, errors = self.end(self.spawn(3, do="0:exit4,1:exit4,2:fail"))
        self.assertEqual(code, 1)
        self.assertEqual(errors, "[process 2] launched: error: the disk of this one is full\n")

    def test_signals_reach_all_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGXCPU):
            process = self.spawn(3, do="0:wait,1:wait,2:wait")
            self.wait_for(process, 6)
            process.send_signal(number)
            code, _, errors = self.end(process)
            self.assertEqual((code, errors), (128 + number, ""))

    def test_a_second_signal_ends_at_once(self):
        process = self.spawn(3, do="0:hang,1:hang,2:wait")
        self.wait_for(process, 6)
        process.terminate()
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.terminate()
        begin = time.monotonic()
        code, _, _ = self.end(process)
        # That of the one which ended well-behaved, after the first.
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - begin, 5)

    def test_none_outlives_its_supervisor(self):
        process = self.spawn(4, do="0:hang,1:hang,2:wait,3:wait")
        self.wait_for(process, 8)
        self.assertEqual(len(self.left()), 5)
        process.kill()
        self.end(process)
        self.assert_none_left()

    def test_faults_are_tried_again(self):
        code, out, errors = self.end(self.spawn(3, "--max-restarts", 2, do="2:kill11,0:wait"))
        self.assertEqual(code, 0, errors)
        self.assertEqual(
            errors,
            "trainer: warning: process 2 was ended by signal 11 (Segmentation fault); all 3 "
            "processes are started again (restart 1 of 2)\n",
        )
        self.assertIn("process 2 of 3, restart 1\n", out)
        code, _, errors = self.end(self.spawn(1, "--max-restarts", 1, do="0:exit4"))
        self.assertEqual(code, 0, errors)

    def test_errors_and_stops_are_not_tried_again(self):
        code, out, errors = self.end(self.spawn(2, "--max-restarts", 3, do="1:fail,0:exit4"))
        self.assertEqual(code, 1)
        self.assertNotIn("restart", out + errors)
        process = self.spawn(2, "--max-restarts", 3, do="0:wait,1:wait")
        self.wait_for(process, 4)
        process.terminate()
        code, out, errors = self.end(process)
        self.assertEqual(code, 143)
        self.assertNotIn("restart", out + errors)

    def test_restarts_end(self):
        code, _, errors = self.run_all(
            LAUNCHED, "--nproc-per-node", 1, "--max-restarts", 2, LAUNCHED_LOST="1"
        )
        self.assertEqual(code, 4)
        self.assertEqual(errors.count("started again"), 2)
        self.assertIn("ended with exit code 4; this was restart 2 of 2", errors)

    def test_random_kills_leave_nobody(self):
        for victim in range(6):
            process = self.spawn(4, do=",".join(f"{p}:wait" for p in range(4)))
            self.wait_for(process, 4 + victim % 4)
            children = [p for p in self.left() if p != process.pid]
            killed = children[victim % len(children)]
            os.kill(killed, signal.SIGKILL)
            code, _, errors = self.end(process)
            self.assertEqual(code, 137, errors)
            self.assertIn("was ended by signal 9", errors)
            self.assert_none_left()


class TwoHosts(LaunchTest):
    @classmethod
    def setUpClass(cls):
        cls.hosts = cls.enterClassContext(two_hosts.TwoHosts())

    def on_host(self, host, *flags, **changes):
        words = ["--nnodes", 2, "--node-rank", host, "--master", "10.213.7.1:29500", *flags]
        return self.start(*self.hosts.command(host, LAUNCHED, *words), PATH=PATH, **changes)

    def test_processes_of_two_hosts_meet(self):
        second = self.on_host(1, "--nproc-per-node", 2)
        code, out, errors = self.end(self.on_host(0, "--nproc-per-node", 2))
        self.assertEqual((code, errors), (0, ""))
        found = [line.partition(", on ")[0] for line in out.splitlines() if " is " in line]
        # Each counts the processes of its own host.
        self.assertEqual(found, ["0 is 0 of 2", "1 is 1 of 2", "2 is 0 of 2", "3 is 1 of 2"])
        self.assertEqual(self.end(second)[::2], (0, ""))

    def test_a_host_that_is_missing_is_said(self):
        code, _, errors = self.end(self.on_host(1, "--start-timeout", 1))
        self.assertEqual(code, 4)
        self.assertIn("cannot connect to 10.213.7.1:29500", errors)
        code, _, errors = self.end(self.on_host(0, "--start-timeout", 1))
        self.assertEqual(code, 4)
        self.assertIn("process 1 of 2 has not come; here: 0 (on host0)", errors)


class Mpirun(LaunchTest):
    def check(self, name, *command):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        code, out, errors = self.run_all(name, *command, "-np", 2, LAUNCHED)
        self.assertEqual(code, 0, errors)
        for process in range(2):
            self.assertIn(f"mpirun, process {process} of 2\n", out)
        self.assert_met(out, 2)

    def test_open_mpi(self):
        self.check("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe")

    def test_a_single_core_is_said(self):
        if not shutil.which("mpirun.openmpi"):
            self.skipTest("mpirun.openmpi is not installed")
        cores = os.cpu_count()
        if cores < 2:
            self.skipTest("this machine has one core")
        command = ["mpirun.openmpi", "--allow-run-as-root", "-np", 1, "--bind-to"]
        code, out, errors = self.run_all(*command, "core", LAUNCHED)
        self.assertEqual((code, out.splitlines()[0]), (0, "mpirun"), errors)
        self.assertIn(f"has bound this process to one of {cores} processors", errors)
        self.assertEqual(self.run_all(*command, "none", LAUNCHED)[2], "")

    def test_mpich(self):
        self.check("mpirun.mpich")


class Srun(LaunchTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster())

    def srun(self, *command, **changes):
        return self.run_all("srun", *command, SLURM_CONF=self.cluster.configuration, **changes)

    def test_tasks_meet(self):
        code, out, errors = self.srun("-n", 4, "--overcommit", LAUNCHED)
        self.assertEqual(code, 0, errors)
        self.assert_met(out, 4)

    def test_two_steps_at_once_have_stores_of_their_own(self):
        # The script itself is one process.
        script = os.path.join(self.cluster.folder, "batch.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(
                "#!/bin/sh\n"
                f"{LAUNCHED}\n"
                f"srun --overlap --overcommit -n 3 {LAUNCHED} > first.txt &\n"
                f"srun --overlap --overcommit -n 2 {LAUNCHED} > second.txt &\n"
                "wait\n"
            )
        code, _, errors = self.run_all(
            "sbatch",
            "-W",
            *("-D", self.cluster.folder, "-o", "batch.txt", "-n", 2, script),
            SLURM_CONF=self.cluster.configuration,
        )
        self.assertEqual(code, 0, errors)
        texts = {}
        for name in ("batch", "first", "second"):
            with open(os.path.join(self.cluster.folder, f"{name}.txt"), encoding="utf-8") as file:
                texts[name] = file.read()
        self.assertEqual(texts["batch"].splitlines()[0], "alone")
        self.assert_met(texts["first"], 3)
        self.assert_met(texts["second"], 2)


class StandIn(LaunchTest):
    """torchrun_stand_in.py in place of torchrun."""

    command = [sys.executable, os.path.join(HERE, "torchrun_stand_in.py")]

    def torchrun(self, *flags, do="", **changes):
        return self.run_all(*self.command, *flags, LAUNCHED, LAUNCHED_DO=do, **changes)

    def test_workers_meet_at_the_agents_store(self):
        code, out, errors = self.torchrun("--nproc-per-node", 3)
        self.assertEqual(code, 0, errors)
        self.assert_met(out, 3)

    def test_workers_are_started_again(self):
        code, out, errors = self.torchrun(
            "--nproc-per-node", 2, "--max-restarts", 1, do="1:kill9,0:wait"
        )
        self.assertEqual(code, 0, errors)
        # At the same agent's store, where the first attempt's keys still are.
        first, _, second = out.partition(", restart 1\n")
        self.assert_met(first, 2)
        self.assert_met(second, 2)

    def test_a_workers_error_is_shown(self):
        code, _, errors = self.torchrun("--nproc-per-node", 2, do="1:fail,0:wait")
        self.assertEqual(code, 1)
        self.assertIn("traceback : trainer: error: the disk of this one is full", errors)


class StandInStore(unittest.TestCase):
    def test_it_answers_what_torch_answered(self):
        recorded = os.path.join(HERE, "..", "runtime", "store")
        files = [os.path.join(recorded, f"{side}-client.txt") for side in ("torch", "own")]
        process = subprocess.run([*StandIn.command, "--check", *files], timeout=60, check=False)
        self.assertEqual(process.returncode, 0)


@unittest.skipUnless(os.environ.get("SHARDC_TEST_TORCH"), "starts torchrun: ./dev test --torch")
class Torchrun(StandIn):
    command = [os.environ.get("PYTHON", sys.executable), "-m", "torch.distributed.run"]
    command.append("--no-python")

    def test_workers_meet_by_c10d(self):
        code, out, errors = self.torchrun(
            *("--nproc-per-node", 3, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0")
        )
        self.assertEqual(code, 0, errors)
        self.assert_met(out, 3)

    def test_workers_serve_a_store_themselves(self):
        code, out, errors = self.torchrun(
            *("--nproc-per-node", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"),
            TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",
        )
        self.assertEqual(code, 0, errors)
        self.assert_met(out, 2)


if __name__ == "__main__":
    unittest.main()
