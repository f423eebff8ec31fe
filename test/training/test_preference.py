"""Preference tuning: a policy and a frozen reference, each run for chosen and for rejected answers,
learn what PyTorch's do, and a rank gathers a unit of them at a time."""
import json
import os
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from emulated_cuda import emulated
from parity import COLUMNS, measure, worst_relative
from reference import MODELS, Model, read_metrics, read_safetensors

MODEL = Model(os.path.join(MODELS, "preference-tiny"))


class Preference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def report(self, mesh, *flags):
        MODEL.compile(
            self.path("m.trainer"), mesh, "float32", "--report", self.path("r.json"), *flags
        )
        with open(self.path("r.json")) as file:
            return json.load(file)

    def test_learns_what_pytorch_learns(self):
        for mesh in ("1", "2", "4", "2x2"):
            for precision in ("float64", "float32"):
                with self.subTest(mesh=mesh, precision=precision):
                    row = measure(MODEL, mesh, precision, self.folder)
                    bad = {c: row[c] for c in COLUMNS if not row[c][0] <= row[c][1]}
                    self.assertEqual(bad, {}, "column: (deviation, bound)")

    def test_on_emulated_gpus(self):
        trainer, metrics = self.path("g.trainer"), self.path("g.jsonl")
        MODEL.compile(trainer, "2", "float32", "--target", "cuda:sm_80")
        with emulated(2):
            MODEL.train(trainer, "--metrics", metrics)
        losses = [s["loss"] for s in read_metrics(metrics)[0]]
        self.assertLess(
            worst_relative(np.ravel(losses), np.ravel(MODEL.reference["loss_f64"])), 1e-4
        )

    def test_reference_stays_as_it_is(self):
        trainer, final = self.path("m.trainer"), self.path("f.safetensors")
        MODEL.compile(trainer, "2", "float32")
        MODEL.train(trainer, "--export-safetensors", final)
        end = read_safetensors(final)
        frozen = [name for name in end if name.startswith("reference.")]
        self.assertEqual(len(frozen), len(end) // 2)
        begin = {i.name: numpy_helper.to_array(i) for i in onnx.load(MODEL.onnx).graph.initializer}
        for name in frozen:
            np.testing.assert_array_equal(begin[name], end[name])

    def test_units_are_layers_that_are_held_one_at_a_time(self):
        for mesh in ("2", "4"):
            alone, ahead, kept = (
                self.report(mesh, *flags)
                for flags in (
                    ["--units", "block", "--prefetch", "0"],
                    ["--units", "block", "--prefetch", "1"],
                    ["--units", "block", "--reshard-after-forward", "never"],
                )
            )
            names = [unit["name"] for unit in alone["units"]]
            for i in range(3):
                for tower, end in (("policy", ""), ("reference", ".frozen")):
                    layer = f"{tower}.model.layers.{i}"
                    self.assertEqual(
                        sum(layer in n and n.endswith(end) for n in names), 1, (layer, names)
                    )
            gathered = {unit["name"]: unit["bytes"] for unit in alone["units"]}
            root, layer = gathered["root"], gathered["policy.model.layers.0"]
            # Without a choice of units, too, nothing lives from one forward to the next.
            self.assertNotIn("shared", " ".join(u["name"] for u in self.report(mesh)["units"]))
            pools = [r["memory"]["kinds"]["gather"] for r in (alone, ahead, kept)]
            # A layer, beside what is used before and after the layers; with another one ahead.
            self.assertLessEqual(pools[0], root + layer)
            self.assertLessEqual(pools[1], root + 2 * layer)
            self.assertGreater(pools[2], sum(gathered.values()) * 0.9)


if __name__ == "__main__":
    unittest.main()
