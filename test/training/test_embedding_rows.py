"""Rows of a table of embeddings that travel instead of it (--embedding rows): to the bit what
gathering the table and reducing its gradient does."""
import json
import os
import unittest
import unittest.mock

import reference
from emulated_cuda import emulated
from other_runtime import OtherRuntime
from reference import BUILD, MODELS as FOLDER, command, models
from trained_bits import TrainedBits, unclipped

MODELS = models()
CHECK = os.path.join(BUILD, "bin", "shardc-check")
LLAMA = "s2-llama-tiny-causal"
# Merged with a block, as auto has it on four ranks, a table stays.
UNITS = r"scope:embed_tokens|layers\.\d+"


def has_table(name):
    """Whether a tiny model's table is a unit by itself, which nothing but lookups read."""
    return "llama" in name and MODELS[name].folder.startswith(FOLDER)


class RowsTest(TrainedBits):
    def check(self, name, mesh, precision, *flags, run=(), optimizer="adamw", travels=True):
        model, trainer = MODELS[name], self.path("t")
        if "--update" in flags:
            model = unclipped(model)
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

    def test_micro_batches(self):
        for run in (("--grad-accumulation", 2), ("--grad-accumulation", 3)):
            self.check(LLAMA, "2", "float32", run=run)
        flags = ("--accumulate", "unsharded")
        self.check(LLAMA, "2", "float32", *flags, run=run, travels=False)

    def test_optimizers_and_updates_in_backward(self):
        for optimizer in ("sgd", "muon"):
            self.check(LLAMA, "2", "float32", optimizer=optimizer)
        self.check(LLAMA, "4", "float32", "--update", "backward")

    def test_precisions(self):
        """What is rounded before it is added over ranks stays a table's gradient."""
        for precision, travels in (
            ("float16", True),
            ("param=bf16", True),
            ("param=bf16,reduce=bf16", False),
        ):
            self.check(LLAMA, "4", precision, travels=travels)

    def test_schedules_and_recomputation(self):
        for flags in (
            ("--remat", "unit"),
            ("--remat", "all"),
            ("--prefetch", "auto", "--cluster", "dgx-h100"),
            ("--prefetch", "0", "--reshard-after-forward", "2"),
        ):
            self.check(LLAMA, "4", "float32", *flags)

    def test_processes(self):
        for processes in (2, 4):
            self.check(LLAMA, "4", "float32", run=("--nproc-per-node", processes))

    def test_state_in_a_file(self):
        run = ("--offload-dir", self.path())
        for what in ("optimizer", "parameters", "parameters,optimizer,activations=1GB"):
            self.check(LLAMA, "2", "float32", "--offload", what, run=run)

    def test_frozen_tables(self):
        self.check(LLAMA, "2", "float32", "--freeze", "embed_tokens")

    def test_emulated_gpus(self):
        for flags in (("--offload", "parameters,optimizer"), ("--master", "split")):
            with emulated():
                self.check(LLAMA, "2", "bf16", "--target", "cuda", *flags)


class Guarded(OtherRuntime, RowsTest):
    """On a device whose memory knows who may read what (test/runtime/device/GuardedDevice.h)."""

    runtime = "guarded-runtime"

    def test_rows(self):
        with unittest.mock.patch.object(reference, "SHARDC", self.shardc):
            self.check(LLAMA, "4", "bf16")
            self.check(LLAMA, "2x2", "float32", run=("--grad-accumulation", 2))


class Checked(RowsTest):
    def test_updates_are_those_of_the_table(self):
        """By shardc-check, expression by expression."""
        model = MODELS[LLAMA]
        for way in ("table", "rows"):
            model.compile(
                self.path(way), "4", "bf16", "--units", UNITS, "--embedding", way, "--checkable"
            )
        rows = self.path("rows")
        for more in ((), ("--reference", self.path("table"))):
            said = command(CHECK, rows, model.onnx, *more).stdout
            self.assertRegex(said, r"values: \d+ results are the")
        model.train(rows, "--check", 1, steps=2)


if __name__ == "__main__":
    unittest.main()
