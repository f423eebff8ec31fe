"""--check N of a trainer (shardc --checkable): every Nth step has the bits of the unsharded one; a
trainer that computes something else is told so."""
import copy
import os
import subprocess
import tempfile
import unittest

from edited_plan import edit
from emulated_cuda import emulated
from reference import BUILD, MODELS as FOLDER, SHARDC, CommandFailed, command, models

MODELS = models()
CHECK = os.path.join(BUILD, "bin", "shardc-check")
SAME = "the unsharded step has the same bits"


class StepCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def run_trainer(self, model, trainer, *flags, steps=4, optimizer="adamw"):
        words = (trainer, *model.train_flags(steps, optimizer=optimizer), *flags)
        return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)

    def check(self, name, mesh, precision, *flags, run=(), optimizer="adamw", batch=None):
        model, trainer = MODELS.get(name, name), self.path("t")
        with self.subTest(model=model.onnx, mesh=mesh, precision=precision, flags=flags, run=run):
            flags = ("--checkable", "--optimizer", optimizer, *flags)
            model.compile(trainer, mesh, precision, *flags, batch=batch)
            run = ("--check", 2, *run)
            process = self.run_trainer(model, trainer, *run, optimizer=optimizer)
            self.assertEqual(process.returncode, 0, process.stderr)
            told = [line for line in process.stdout.splitlines() if SAME in line]
            steps = [line.split(":")[0] for line in told]
            self.assertEqual(steps, ["step 2", "step 4"], process.stdout)
            # It is the reference of who proves the same without running it.
            proved = command(CHECK, trainer, model.onnx).stdout
            self.assertIn("results are the unsharded step's expressions", proved)


class EqualBits(StepCheckTest):
    def test_every_tiny_model(self):
        for name in MODELS:
            if "tiny" in name and MODELS[name].folder.startswith(FOLDER):
                self.check(name, "2", "float32")

    def test_precisions(self):
        self.check("gpt2-tiny", "2", "float64")
        self.check("gpt2-tiny", "4", "bf16")
        self.check("gpt2-tiny", "4", "bf16", "--master", "split")
        # Two steps are skipped.
        scaled = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**24)
        self.check("mlp-tiny-loss", "2", "float16", run=scaled)

    def test_strategies(self):
        self.check("mlp-tiny-loss", "2x2", "float32", "--strategy", "full")
        for strategy in ("none", "opt", "grad_op"):
            self.check("gpt2-tiny", "2", "float32", "--strategy", strategy)
        units = ("--units", "block", "--reshard-after-forward", "2")
        self.check("gpt2-tiny", "4", "bf16", *units)

    def test_optimizers(self):
        for optimizer in ("lion", "amsgrad", "muon"):
            self.check("gpt2-tiny", "2", "float32", optimizer=optimizer)

    def test_micro_batches(self):
        run = ("--grad-accumulation", 2)
        self.check("mlp-tiny-loss", "2", "float32", batch=4, run=run)

    def test_updates_in_backward(self):
        model = copy.copy(MODELS["gpt2-tiny"])
        model.recipe = {**model.recipe, "clip": 0}
        for mesh, precision in (("2", "float32"), ("4", "bf16")):
            self.check(model, mesh, precision, "--update", "backward")

    def test_processes(self):
        self.check("gpt2-tiny", "4", "float32", run=("--nproc-per-node", 2))

    def test_what_leaves_memory(self):
        run = ("--offload-dir", self.path())
        offload = ("--offload", "optimizer,activations=1GB")
        self.check("gpt2-tiny", "2", "bf16", *offload, run=run)

    def test_emulated_gpus(self):
        with emulated():
            self.check("mlp-tiny-loss", "2", "bf16", "--target", "cuda")
            self.check("gpt2-tiny", "2", "float32", "--target", "cuda")


class Differences(StepCheckTest):
    def told(self, change, *flags):
        """What a run says whose plan was changed."""
        model = MODELS["mlp-tiny-loss"]
        model.compile(self.path("t"), "2", "float32", "--checkable", *flags)
        edit(self.path("t"), self.path("e"), change)
        process = self.run_trainer(model, self.path("e"), "--check", 3)
        self.assertEqual(process.returncode, 1, process.stdout)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertIn("--check: step 2 (counting from 0) has other bits", process.stderr)
        return process.stderr

    def test_a_unit_that_is_not_updated(self):
        def change(plan):
            steps = [i for i, e in enumerate(plan.train.entries) if e.HasField("optimizer_step")]
            del plan.train.entries[steps[0]]

        # The steps before have gone on without it: only the third one is looked at.
        self.assertRegex(
            self.told(change), r"element 0 of parameter \S+ is [-0-9.e]+ instead of [-0-9.e]+"
        )

    def test_a_gradient_that_is_another_one(self):
        """It is what was in its memory before."""

        def change(plan):
            products = [i for i, e in enumerate(plan.train.entries) if e.HasField("gemm")]
            del plan.train.entries[products[-1]]

        self.assertRegex(self.told(change), r"the gradient norm is \S+ instead of \S+;")


class BadInput(StepCheckTest):
    def test_trainers_without_it(self):
        model = MODELS["mlp-tiny-loss"]
        model.compile(self.path("t"), "2", "float32")
        process = self.run_trainer(model, self.path("t"), "--check", 1)
        self.assertEqual(process.returncode, 1)
        self.assertIn("compile it with shardc --checkable", process.stderr)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)

    def test_runs_that_no_unsharded_one_is_like(self):
        model = MODELS["mlp-tiny-loss"]
        flags = ("--checkable", "--accumulate", "unsharded")
        model.compile(self.path("t"), "2", "float32", *flags, batch=4)
        run = ("--check", 1, "--grad-accumulation", 2)
        process = self.run_trainer(model, self.path("t"), *run)
        self.assertEqual(process.returncode, 1)
        self.assertIn("--accumulate unsharded, which rounds and adds", process.stderr)

    def test_compilations_that_no_unsharded_one_is_like(self):
        text = "strategy hybrid adds up gradients dimension by dimension"
        with self.assertRaisesRegex(CommandFailed, text):
            MODELS["mlp-tiny-loss"].compile(self.path("t"), "2x2", "float32", "--checkable")
        self.assertFalse(os.path.exists(self.path("t")))
        words = (SHARDC, MODELS["mlp-tiny-loss"].onnx, "--checkable", "--compile-to", "plan")
        process = subprocess.run(words, capture_output=True, text=True)
        self.assertIn("writes no trainer; drop --checkable", process.stderr)


if __name__ == "__main__":
    unittest.main()
