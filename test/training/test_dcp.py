"""Checkpoints that PyTorch wrote, and those that it reads."""
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


class Dcp(CheckpointTest):
    def test_what_torch_wrote_is_gone_on_with(self):
        dcp = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dcp")
        with open(os.path.join(dcp, "steps.json")) as file:
            expected = json.load(file)
        for mesh in ("1", "4"):
            trainer = self.compile(mesh)
            data = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
            outputs = ["--metrics", self.path("m.jsonl"), "--export-safetensors", self.path("f")]
            resume = ["--resume", os.path.join(dcp, "torch"), "--lr", 1e-2, "--steps", 6]
            command(trainer, *data, *resume, *outputs)
            steps, _ = read_metrics(self.path("m.jsonl"))
            self.assertEqual([s["step"] for s in steps], [3, 4, 5])
            np.testing.assert_allclose(
                [s["loss"] for s in steps], expected["losses"][3:], rtol=1e-6
            )
            final = read_safetensors(self.path("f"))
            for name, values in expected["parameters"].items():
                np.testing.assert_allclose(
                    final[name].ravel()[:5], values, rtol=1e-5, atol=1e-6, err_msg=name
                )
            # The parameters alone, as the values that another run begins with.
            command(
                trainer,
                *data,
                "--weights",
                os.path.join(dcp, "torch", "model"),
                "--steps",
                0,
                "--export-safetensors",
                self.path("w"),
            )
            command(
                trainer, *data, *resume[:2], "--steps", 3, "--export-safetensors", self.path("v")
            )
            self.assert_equal_values(
                read_safetensors(self.path("w")), read_safetensors(self.path("v"))
            )
            os.remove(self.path("m.jsonl"))

    @unittest.skipUnless(
        os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
    )
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
