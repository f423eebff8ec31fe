"""Every compile is proved: shardc-check finds nothing in the plans of the models, on every mesh
and strategy, and computes the expressions of the unsharded step. What it would find: mutants.

SHARDC_TEST_PLANS=all: every model with every strategy and recomputation, and 432 mutants."""
import math
import os
import subprocess
import sys
import tempfile
import unittest

import plan_mutants
from plan_mutants import CHECK, REFERENCE
from reference import MODELS, SHARDC, command, models

ALL = os.environ.get("SHARDC_TEST_PLANS") == "all"
STRATEGIES = (
    ("2", "full"),
    ("2x2", "full"),
    ("4", "grad_op"),
    ("2x4", "hybrid"),
    ("2x2", "hybrid_grad_op"),
    ("2x2", "hybrid_opt"),
    ("4", "opt"),
    ("2x4", "none"),
)
FLAGS = (
    ["--remat", "unit"],
    ["--accumulate", "unsharded", "--remat", "all"],
    ["--precision", "bf16"],
    ["--target", "cuda:sm_90"],
    ["--reshard-after-forward", "2", "--units", "block"],
    ["--target", "cuda:sm_90", "--precision", "bf16", "--master", "split"],
    ["--freeze", "bias|norm|ln", "--prefetch", "2"],
    ["--optimizer", "lion", "--disable-pass", "step-write-in-place"],
    ["--offload", "parameters,optimizer,activations=1GB", "--precision", "bf16"],
    ["--update", "backward"],
    ["--update", "backward", "--remat", "unit", "--accumulate", "unsharded"],
    ["--update", "backward", "--target", "cuda:sm_90", "--precision", "bf16"],
    ["--update", "backward", "--offload", "optimizer,activations=1GB", "--precision", "bf16"],
)
MATRIX_STRATEGIES = (
    ("1", "full"),
    ("2", "full"),
    ("4", "full"),
    ("2x2", "full"),
    ("2x2", "hybrid"),
    ("2x2", "hybrid_opt"),
    ("1", "none"),
    ("2", "none"),
    ("4", "none"),
    ("2x2", "none"),
)
MATRIX_FLAGS = (
    [],
    ["--units", "block", "--remat", "all"],
    ["--precision", "bf16"],
    ["--accumulate", "unsharded", "--freeze", "bias|norm|ln"],
)


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.references = folder.name, {}

    def compile(self, model, name, mesh, flags):
        ranks = math.prod(map(int, mesh.split("x")))
        # Of one sample there are no statistics.
        batch = max(2 if model.is_of_batch else 1, model.batch // 8)
        path = os.path.join(self.folder, name)
        precision = "float32"
        if "--precision" in flags:
            precision = flags[flags.index("--precision") + 1]
            flags = [f for f in flags if f not in ("--precision", precision)]
        model.compile(path, mesh, precision, *flags, batch=batch * ranks)
        return path

    def reference(self, model, flags):
        """The unsharded step of what is trained alike: flags that say how it is computed."""
        kept = []
        for flag, value in zip(flags, flags[1:]):
            if flag in ("--precision", "--target", "--freeze", "--master", "--optimizer"):
                kept += [flag, value]
        key = (model.name, *kept)
        if key not in self.references:
            path = f"{len(self.references)}.reference"
            self.references[key] = self.compile(model, path, "1", [*REFERENCE, *kept])
        return self.references[key]

    def certify(self, model, mesh, strategy, flags):
        with self.subTest(model=model.name, mesh=mesh, strategy=strategy, flags=flags):
            if "--reshard-after-forward" in flags and (
                strategy not in ("full", "hybrid") or mesh in ("2", "2x2")
            ):
                flags = flags[2:]
            trainer = self.compile(model, "t", mesh, ["--strategy", strategy, *flags])
            words = [CHECK, trainer, model.onnx, "--reference", self.reference(model, flags)]
            process = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual((process.returncode, process.stderr), (0, ""), process.stderr)

    def test_models_are_the_unsharded_step(self):
        cases = 0
        tiny = [m for name, m in sorted(models().items()) if "tiny" in name]
        # Those of the repository: beside it there may be some that shardc does not compile.
        for i, model in enumerate(m for m in tiny if m.folder.startswith(MODELS)):
            for j, strategy in enumerate(STRATEGIES):
                for k, flags in enumerate(FLAGS):
                    # Of the sample, each model has one row of the table.
                    if ALL or (j == i % len(STRATEGIES) and k == (i * 2 + 1) % len(FLAGS)):
                        self.certify(model, *strategy, flags)
                        cases += 1
        self.assertGreaterEqual(cases, 8)

    def test_whole_matrices_are_those_of_the_unsharded_step(self):
        # Of the convolutional one the head alone is a matrix, which Muon leaves to AdamW.
        tiny = [
            m
            for name, m in sorted(models().items())
            if "tiny" in name and name != "vision-cnn-tiny"
        ]
        cases = 0
        for i, model in enumerate(m for m in tiny if m.folder.startswith(MODELS)):
            for j, strategy in enumerate(MATRIX_STRATEGIES):
                for k, flags in enumerate(MATRIX_FLAGS):
                    # Of the sample, each model has two rows of the table, with flags by turns.
                    if ALL or (j % 5 == i % 5 and k == (i + j) % len(MATRIX_FLAGS)):
                        self.certify(model, *strategy, ["--optimizer", "muon", *flags])
                        cases += 1
        self.assertGreaterEqual(cases, 16)

    def test_8b_on_8_ranks(self):
        path = lambda name: os.path.join(self.folder, name)
        command(
            sys.executable,
            os.path.join(MODELS, "unpack.py"),
            os.path.join(MODELS, "s1-llama31-8b", "model.onnx.xz"),
            path("8b.onnx"),
        )
        loss = "cross-entropy:logits=logits,labels=labels,shift=1"
        words = [SHARDC, path("8b.onnx"), "--dim", "batch=1", "--dim"]
        words += ["sequence=8192", "--init", "random", "--quiet", "--loss", loss]
        command(*words, "--mesh", 8, "-o", path("t"))
        command(*words, "--mesh", 1, *REFERENCE, "-o", path("reference"))
        said = command(CHECK, path("t"), path("8b.onnx"), "--reference", path("reference"))
        self.assertIn("updates: 291 parameters", said.stdout)


class Mutants(unittest.TestCase):
    def test_what_changes_a_result_is_caught_and_named(self):
        with tempfile.TemporaryDirectory() as folder:
            tally = plan_mutants.measure(folder, 432 if ALL else 48, 17)
        self.assertEqual(tally.missed, [])
        made, changing, caught, named = tally.total()
        self.assertEqual(made, 432 if ALL else 48)
        self.assertGreater(changing, made / 2)
        self.assertGreaterEqual(named, 0.95 * caught, "\n".join(tally.misnamed))


if __name__ == "__main__":
    unittest.main()
