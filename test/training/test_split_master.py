"""--master split: the bits of float32 masters, in less memory; checkpoints are the same."""
import json
import os
import tempfile
import unittest

from emulated_cuda import emulated
from record_bits import digest
from reference import models, read_metrics

STEPS = 4


def content(path):
    with open(path, "rb") as file:
        return file.read()


class SplitMaster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def compile(self, model, master, mesh, *flags):
        trainer = self.path(f"{master}.{mesh}.trainer")
        model.compile(trainer, mesh, "bf16", "--master", master, *flags, batch=max(model.batch, 4))
        return trainer

    def train(self, model, trainer, name, *flags, steps=STEPS, optimizer="adamw"):
        """Its losses, export and checkpoint."""
        said = model.train(
            trainer,
            "--metrics",
            self.path(name + ".jsonl"),
            "--export-safetensors",
            self.path(name + ".safetensors"),
            "--checkpoint-dir",
            self.path(name),
            *flags,
            steps=steps,
            optimizer=optimizer,
        ).stdout
        lines, _ = read_metrics(self.path(name + ".jsonl"))
        last = os.path.join(self.path(name), f"step-{steps:08}")
        files = {
            os.path.relpath(os.path.join(folder, file), last): digest(
                content(os.path.join(folder, file))
            )
            for folder, _, names in os.walk(last)
            for file in names
            if file.endswith(".safetensors")
        }
        self.assertTrue(files)
        export = digest(content(self.path(name + ".safetensors")))
        return [line["loss"] for line in lines], export, files, said

    def same(self, model, mesh, *flags, train=(), optimizer="adamw"):
        runs = {}
        for master in ("float32", "split"):
            trainer = self.compile(model, master, mesh, "--optimizer", optimizer, *flags)
            name = f"{master}.{mesh}.{optimizer}"
            runs[master] = self.train(model, trainer, name, *train, optimizer=optimizer)
        self.assertEqual(runs["split"][:3], runs["float32"][:3])
        self.assertIn("float32, split)", runs["split"][3])
        return runs

    def test_bits_on_processors(self):
        accumulation = ("--grad-accumulation", "2")
        for name, mesh, optimizer, flags, train in (
            ("gpt2-tiny", "1", "adamw", (), accumulation),
            ("s2-llama-tiny-mask", "2x2", "adamw", ("--strategy", "opt"), ()),
            ("mlp-tiny-loss", "2", "sgd", (), ()),
        ):
            with self.subTest(model=name, mesh=mesh):
                self.same(
                    models()[name],
                    mesh,
                    "--target",
                    "cpu",
                    *flags,
                    train=train,
                    optimizer=optimizer,
                )

    def test_bits_on_gpus(self):
        for name, mesh, flags in (
            ("mlp-tiny-loss", "1", ()),
            ("mlp-tiny-loss", "2", ("--strategy", "opt")),
        ):
            with self.subTest(model=name, mesh=mesh), emulated(2):
                self.same(models()[name], mesh, "--target", "cuda:sm_90", *flags)

    def test_runs_go_on_with_the_other(self):
        model = models()["gpt2-tiny"]
        whole, split = (
            self.compile(model, master, "2", "--target", "cpu") for master in ("float32", "split")
        )
        expected = self.train(model, whole, "whole")[:3]
        for first, second in ((whole, split), (split, whole), (split, split)):
            name = os.path.basename(first) + os.path.basename(second)
            self.train(model, first, name, steps=2)
            # Its metrics go on where the first run's end.
            resumed = self.train(model, second, name, "--resume", "auto")
            self.assertEqual(resumed[:3], expected)

    def test_memory(self):
        model = models()["gpt2-tiny"]
        reports = {}
        for master in ("float32", "split"):
            path = self.path(master + ".json")
            self.compile(model, master, "1", "--target", "cpu", "--report", path)
            reports[master] = json.loads(content(path))
        saved = 0
        for whole, split in zip(reports["float32"]["units"], reports["split"]["units"]):
            if whole["per_rank"]["master"]:
                elements = whole["elements"]
                self.assertEqual(whole["per_rank"]["master"], 4 * elements)
                words = (elements + 63) // 64
                self.assertEqual(
                    split["per_rank"]["master"], (2 * elements + 7) // 8 * 8 + 8 * words
                )
                saved += 4 * elements - split["per_rank"]["master"]
        self.assertGreater(saved, 0)
        persistent = {name: r["memory"]["pools"]["persistent"] for name, r in reports.items()}
        # Buffers begin at multiples of 64 bytes.
        units = len(reports["split"]["units"])
        self.assertAlmostEqual(persistent["float32"] - persistent["split"], saved, delta=64 * units)


if __name__ == "__main__":
    unittest.main()
