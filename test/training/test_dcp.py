"""Checkpoints that PyTorch wrote, and those that it reads."""
import hashlib
import json
import os
import subprocess
import unittest

import numpy as np

from checkpoint_test import CheckpointTest, MLP, STEPS
from reference import BUILD, command, read_metrics, read_safetensors

# Reads a checkpoint as torch does, into tensors of the shapes that stand in the JSON on stdin, and
# prints the sum of each.
TORCH_READ = """
import json, sys
import torch
import torch.distributed.checkpoint as dcp
folder, shapes = sys.argv[1], json.load(sys.stdin)
state = {key: torch.full(shape, float("nan")) for key, shape in shapes.items()}
dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(path=folder))
print(json.dumps({key: value.flatten().tolist() for key, value in state.items()}))
"""


DCP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dcp")
live = unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
)


class Dcp(CheckpointTest):
    """With what dcp/make_checkpoint.py has stored, and with what it makes where torch is."""

    def test_what_torch_wrote_is_gone_on_with(self):
        self.check_what_torch_wrote(DCP)

    def test_what_torch_makes_of_ours(self):
        self.check_what_torch_read(DCP)

    @live
    def test_what_the_torch_that_is_here_writes_and_reads(self):
        made = subprocess.run(
            [os.environ["PYTHON"], os.path.join(DCP, "make_checkpoint.py"), self.path("dcp")],
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        self.check_what_torch_wrote(self.path("dcp"))
        self.check_what_torch_read(self.path("dcp"))

    def check_what_torch_wrote(self, dcp):
        with open(os.path.join(dcp, "steps.json")) as file:
            expected = json.load(file)
        for mesh, wrote in (("1", "torch"), ("4", "torch"), ("1", "torch-2"), ("4", "torch-2")):
            with self.subTest(mesh=mesh, wrote=wrote):
                self.check_resume(mesh, os.path.join(dcp, wrote), expected)

    def check_resume(self, mesh, folder, expected):
        trainer = self.compile(mesh)
        words = [trainer] + [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
        outputs = ["--metrics", self.path("m.jsonl"), "--export-safetensors", self.path("f")]
        resume = ["--resume", folder, "--lr", 1e-2]
        command(*words, *resume, "--steps", 6, *outputs)
        steps, _ = read_metrics(self.path("m.jsonl"))
        os.remove(self.path("m.jsonl"))
        self.assertEqual([s["step"] for s in steps], [3, 4, 5])
        np.testing.assert_allclose([s["loss"] for s in steps], expected["losses"][3:], rtol=1e-6)
        final = read_safetensors(self.path("f"))
        for name, values in expected["parameters"].items():
            np.testing.assert_allclose(
                final[name].ravel()[:5], values, rtol=1e-5, atol=1e-6, err_msg=name
            )
        # The parameters alone, as the values that another run begins with.
        weights = ["--weights", os.path.join(folder, "model"), "--steps", 0]
        command(*words, *weights, "--export-safetensors", self.path("w"))
        command(*words, *resume[:2], "--steps", 3, "--export-safetensors", self.path("v"))
        self.assert_equal_values(read_safetensors(self.path("w")), read_safetensors(self.path("v")))

    def check_what_torch_read(self, dcp):
        saved = os.path.join(dcp, "shardc")
        ckpt = os.path.join(BUILD, "bin", "shardc-ckpt")
        # Its consolidation, to the bit.
        with open(os.path.join(dcp, "read.json")) as file:
            expected = json.load(file)["consolidated"]
        command(ckpt, "export", saved, "--to", "hf", "-o", self.path("hf"))
        exported = read_safetensors(self.path("hf", "model.safetensors"))
        hashes = {n: hashlib.sha256(v.tobytes()).hexdigest() for n, v in exported.items()}
        self.assertEqual(hashes, expected)
        # The step that torch's AdamW takes from our state.
        after = read_safetensors(os.path.join(dcp, "next.safetensors"))
        for mesh in ("1", "4"):
            words = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
            words += ["--resume", saved, "--lr", 1e-2, "--steps", 4]
            command(self.compile(mesh), *words, "--export-safetensors", self.path("n"))
            got = read_safetensors(self.path("n"))
            self.assertEqual(got.keys(), after.keys())
            for name, values in after.items():
                np.testing.assert_allclose(got[name], values, rtol=0, atol=1e-6, err_msg=name)
                # A step, and not the values that it began with.
                self.assertGreater(np.abs(exported[name] - values).max(), 1e-3, name)

    @live
    def test_torch_reads_what_was_saved(self):
        for mesh, strategy in (("1", "full"), ("4", "full"), ("2x2", "hybrid_opt")):
            trainer, folder = self.compile(mesh, "float32", "--strategy", strategy), self.path(mesh)
            self.train(trainer, "t" + mesh, "--checkpoint-dir", folder)
            saved = os.path.join(folder, f"step-{STEPS:08}")
            expected = self.tensors(saved)
            exported = self.path("dcp" + mesh)
            command(
                os.path.join(BUILD, "bin", "shardc-ckpt"),
                *("export", saved, "--to", "dcp", "-o", exported, "--shard-size", "10KB"),
            )
            for read in (saved, exported):
                self.assert_torch_reads(read, expected)

    def assert_torch_reads(self, folder, expected):
        for part in ("model", "optim"):
            mine = {
                k: v for k, v in expected.items() if k.startswith("state.") == (part == "optim")
            }
            run = subprocess.run(
                [os.environ["PYTHON"], "-c", TORCH_READ, os.path.join(folder, part)],
                input=json.dumps({k: v.shape for k, v in mine.items()}),
                capture_output=True,
                text=True,
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            read = json.loads(run.stdout)
            self.assertEqual(read.keys(), mine.keys())
            for key, values in read.items():
                self.assertEqual(values, mine[key].ravel().tolist(), key)


if __name__ == "__main__":
    unittest.main()
