"""Rows of a table of embeddings that travel instead of it (--embedding rows): to the bit what
gathering the table and reducing its gradient does."""
import json
import os
import subprocess
import tempfile
import unittest

from emulated_cuda import emulated
from other_runtime import OtherRuntime
from reference import (
    MODELS as FOLDER,
    command,
    models,
    read_metrics,
    read_safetensors,
)

MODELS = models()
LLAMA = "s2-llama-tiny-causal"
# Merged with a block, as auto has it on four ranks, a table stays.
UNITS = r"scope:embed_tokens|layers\.\d+"


def has_table(name):
    """Whether a tiny model's table is a unit by itself, which nothing but lookups read."""
    return "llama" in name and MODELS[name].folder.startswith(FOLDER)


class RowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def train(self, model, trainer, *flags, steps=3, **more):
        """Figures of each step and the parameters in the end, as bits."""
        metrics, final = self.path("m.jsonl"), self.path("f.safetensors")
        for path in (metrics, final):
            if os.path.exists(path):
                os.remove(path)
        words = ("--metrics", metrics, "--export-safetensors", final)
        model.train(trainer, *words, *flags, steps=steps, **more)
        done, _ = read_metrics(metrics)
        figures = [[s.get(key) for key in ("loss", "grad_norm", "lr")] for s in done]
        return figures, {n: v.tobytes() for n, v in read_safetensors(final).items()}

    def check(self, name, mesh, precision, *flags, run=(), optimizer="adamw", travels=True):
        model, trainer = MODELS[name], self.path("t")
        flags = ("--units", UNITS, "--optimizer", optimizer, *flags)
        with self.subTest(model=name, mesh=mesh, precision=precision, flags=flags, run=run):
            kinds = {}
            for way in ("table", "rows"):
                told = ("--embedding", way, "--report", self.path("r.json"))
                model.compile(trainer, mesh, precision, *flags, *told)
                with open(self.path("r.json")) as file:
                    kinds[way] = {c["kind"] for c in json.load(file)["collectives"]}
                trained = self.train(model, trainer, *run, optimizer=optimizer)
                if way == "table":
                    expected = trained
            self.assertNotIn("gather_rows", kinds["table"])
            self.assertEqual("gather_rows" in kinds["rows"], travels)
            self.assertEqual(trained, expected)


class EqualBits(RowsTest):
    def test_every_tiny_model(self):
        for name in filter(has_table, MODELS):
            self.check(name, "2", "float32")
            self.check(name, "2x2", "float64")
            self.check(name, "4", "bf16")

    def test_strategies(self):
        for mesh, strategy, travels in (
            ("2", "none", False),
            ("2", "opt", False),
            ("4", "grad_op", True),
            ("2x2", "full", True),
            ("2x2", "hybrid", True),
            ("2x2", "hybrid_opt", True),
            ("2x2", "hybrid_grad_op", True),
        ):
            self.check(LLAMA, mesh, "float32", "--strategy", strategy, travels=travels)


if __name__ == "__main__":
    unittest.main()
