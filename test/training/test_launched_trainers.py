"""One trainer under every launcher: losses, norms and trained parameters have the bits of the plain
run, on processors and on emulated GPUs. mpirun's are in test_mpirun.py, more splits in
test_processes.py."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

from emulated_cuda import emulated
from reference import MODELS, Model, read_metrics

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")
sys.path.insert(0, TOOLS)
from slurm import Cluster
from two_hosts import PATH, TwoHosts

OTHERS = re.compile(
    r"(SLURM|PMI|OMPI|MPI|NODE|NUM_NODES|RANK|WORLD|LOCAL|MASTER|TORCHELASTIC|PET_)"
)
RUN = ("--data", "synthetic:1", "--lr", "1e-3", "--steps", 4, "--grad-accumulation", 2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Launched(unittest.TestCase):
    model, compiled = "gpt2-tiny", ("2x2", "bf16")

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.trainer = os.path.join(cls.folder, "t")
        Model(os.path.join(MODELS, cls.model)).compile(cls.trainer, *cls.compiled)
        cls.plain = cls.trained([[cls.trainer, *cls.flags()]])

    @classmethod
    def flags(cls, *more):
        metrics, exported = (os.path.join(cls.folder, name) for name in ("m.jsonl", "p"))
        return [*RUN, "--metrics", metrics, "--export-safetensors", exported, *more]

    @classmethod
    def trained(cls, commands, **changes):
        """Losses, norms and parameters of a run whose processes, or groups of them, are started by
        `commands`: each its words, or (words, variables)."""
        kept = {k: v for k, v in os.environ.items() if not OTHERS.match(k)}
        processes = []
        for command in commands:
            words, own = command if isinstance(command, tuple) else (command, {})
            processes.append(
                subprocess.Popen(
                    [str(word) for word in words],
                    env=kept | changes | own,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    text=True,
                )
            )
        texts = []
        try:
            for process in processes:
                texts.append(process.communicate(timeout=120)[0])
        finally:
            for process in processes:
                process.kill()
        if any(process.returncode for process in processes):
            raise AssertionError("\n".join(texts))
        cls.said = texts
        steps, _ = read_metrics(os.path.join(cls.folder, "m.jsonl"))
        os.remove(os.path.join(cls.folder, "m.jsonl"))
        exported = os.path.join(cls.folder, "p")
        with open(exported, "rb") as file:
            parameters = file.read()
        os.remove(exported)
        return [(s["loss"], s["grad_norm"]) for s in steps], parameters

    def check(self, processes, *commands, **changes):
        found = self.trained(commands, **changes)
        self.assertEqual(found[0], self.plain[0])
        self.assertTrue(found[1] == self.plain[1])
        if processes > 1:
            each = f"{4 // processes} rank{'s' if processes < 4 else ''}"
            self.assertIn(f"{processes} processes of {each}, UCX", "\n".join(self.said))
        else:
            self.assertNotIn("processes of", "\n".join(self.said))


class OnGpus:
    """Each process takes the GPUs of its place on the host: two ranks of one have no communicator.
    The plain run has a process for each."""

    model, compiled = "mlp-tiny-loss", ("2x2", "float32", "--target", "cuda:sm_90")

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(emulated(4))
        super().setUpClass()
        if "4 processes of 1 rank, UCX" not in cls.said[0]:
            raise AssertionError(cls.said)


class ByHand(Launched):
    def test_two_nodes(self):
        flags = self.flags("--nnodes", 2, "--master", f"localhost:{free_port()}", "--node-rank")
        self.check(2, *([self.trainer, *flags, node] for node in range(2)))
        port = str(free_port())
        place = {"NUM_NODES": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port}
        place["LOCAL_WORLD_SIZE"] = "2"
        words = [self.trainer, *self.flags()]
        self.check(4, *((words, place | {"NODE_RANK": str(node)}) for node in range(2)))


class OneHost(Launched):
    def test_spawned(self):
        for processes in (1, 2, 4):
            self.check(processes, [self.trainer, *self.flags("--nproc-per-node", processes)])

    def test_stand_in_for_torchrun(self):
        stand_in = [sys.executable, os.path.join(TOOLS, "torchrun_stand_in.py")]
        for processes in (1, 2, 4):
            words = [*stand_in, "--nproc-per-node", processes, self.trainer, *self.flags()]
            self.check(processes, words)

    @unittest.skipUnless(os.environ.get("SHARDC_TEST_TORCH"), "starts torchrun: ./dev test --torch")
    def test_torchrun(self):
        torchrun = [os.environ.get("PYTHON", sys.executable), "-m", "torch.distributed.run"]
        torchrun += ["--no-python", "--nproc-per-node"]
        for processes, more in (
            (2, []),
            (4, ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]),
        ):
            self.check(processes, [*torchrun, processes, *more, self.trainer, *self.flags()])


class OneHostOfGpus(OnGpus, OneHost):
    pass


class TwoNamespaces(Launched):
    def test_two_hosts(self):
        """Which read nothing of each other's memory; those of one host do."""
        with TwoHosts() as hosts:
            for each in (1, 2):
                flags = self.flags("--nnodes", 2, "--master", f"{hosts.addresses[0]}:29500")
                flags += ["--nproc-per-node", each, "--node-rank"]
                self.check(
                    2 * each,
                    *(hosts.command(host, self.trainer, *flags, host) for host in range(2)),
                    PATH=PATH,
                )


class Srun(Launched):
    def test_srun(self):
        with Cluster() as cluster:
            place = {"SLURM_CONF": cluster.configuration}
            for processes in (1, 2, 4):
                words = ["srun", "-n", processes, "--overcommit", self.trainer, *self.flags()]
                self.check(processes, words, **place)
            # A batch script is one process.
            script = os.path.join(cluster.folder, "batch.sh")
            with open(script, "w", encoding="utf-8") as file:
                words = " ".join(str(word) for word in [self.trainer, *self.flags()])
                file.write(f"#!/bin/sh\nexec {words}\n")
            words = ["sbatch", "-W", "-D", cluster.folder, "-o", "batch.txt", "-n", 2, script]
            self.check(1, words, **place)


class SrunOnGpus(OnGpus, Srun):
    pass


if __name__ == "__main__":
    unittest.main()
