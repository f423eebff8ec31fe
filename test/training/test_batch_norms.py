"""Norms by the batch's statistics train as PyTorch trains them, and running statistics follow: of
all ranks together, of each rank, with micro-batches, on GPUs, and over a checkpoint."""
import os
import tempfile
import unittest

import numpy as np

from emulated_cuda import emulated
from parity import COLUMNS, curve_bound, measure, worst_relative
from reference import BUILD, MODELS, CommandFailed, Model, command, read_metrics, read_safetensors

MODEL = Model(os.path.join(MODELS, "resnet-tiny"))
CHECK = os.path.join(BUILD, "bin", "shardc-check")


class BatchNorms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def trained(self, mesh, *flags, run=(), precision="float64", batch=None, steps=None):
        """(losses, parameters and running statistics, the loss of an evaluation at the end)"""
        trainer, metrics, final = map(self.path, ("m.trainer", "m.jsonl", "f.safetensors"))
        MODEL.compile(trainer, mesh, precision, *flags, batch=batch)
        evaluation = [w for n, p in MODEL.data().items() for w in ("--eval-data", f"{n}={p}")]
        run = [*evaluation, "--metrics", metrics, "--export-safetensors", final, *run]
        MODEL.train(trainer, *run, steps=steps)
        steps, events = read_metrics(metrics)
        evaluations = [e["loss"] for e in events if e["event"] == "eval"]
        return [s["loss"] for s in steps], read_safetensors(final), evaluations[-1]

    def assert_running(self, found, recorded):
        want = read_safetensors(os.path.join(MODEL.folder, recorded))
        self.assertEqual(len(want), 12)
        for name, statistic in want.items():
            with self.subTest(name):
                self.assertLess(worst_relative(found[name], statistic), 1e-6)

    def assert_losses(self, found, recorded):
        want = np.ravel(MODEL.reference[recorded])
        self.assertLess(worst_relative(np.ravel(found), want), 1e-7)

    def test_of_all_ranks(self):
        for mesh in ("1", "2", "4", "2x2"):
            for precision in ("float64", "float32"):
                with self.subTest(mesh=mesh, precision=precision):
                    row = measure(MODEL, mesh, precision, self.folder, ["--batch-norm", "sync"])
                    bad = {c: row[c] for c in COLUMNS if not row[c][0] <= row[c][1]}
                    self.assertEqual(bad, {}, "column: (deviation, bound)")
            _, found, evaluated = self.trained(mesh, "--batch-norm", "sync")
            self.assert_running(found, "running.safetensors")
            self.assert_losses(evaluated, "evaluated_f64")

    def test_micro_batches_follow_each_other(self):
        losses, found, evaluated = self.trained(
            "1", run=["--grad-accumulation", "2"], batch=MODEL.batch // 2
        )
        self.assert_losses(losses, "loss_f64_in_two_parts")
        self.assert_running(found, "running_micro_batches.safetensors")
        self.assert_losses(evaluated, "evaluated_f64_in_two_parts")

    def test_ranks_are_averaged(self):
        for strategy in ("full", "grad_op", "none"):
            losses, found, evaluated = self.trained("2", "--strategy", strategy)
            self.assert_losses(losses, "loss_f64_in_two_parts")
            self.assert_running(found, "running_ranks.safetensors")
            self.assert_losses(evaluated, "evaluated_f64_of_two_ranks")

    def test_strategies_and_recomputation_keep_bits(self):
        results = [
            self.trained("4", "--batch-norm", "sync", *flags, precision="bf16")
            for flags in (
                (),
                ("--strategy", "none"),
                ("--strategy", "opt", "--remat", "all"),
                ("--remat", "none", "--prefetch", "0"),
            )
        ]
        for losses, found, evaluated in results[1:]:
            self.assertEqual(losses, results[0][0])
            self.assertEqual(evaluated, results[0][2])
            for name, values in results[0][1].items():
                np.testing.assert_array_equal(found[name], values, name)

    def test_16_bits(self):
        bound = 10 * curve_bound(MODEL.reference["loss"], MODEL.reference["loss_f64"], "float32")
        for precision, slack in (("fp16", 2e-3), ("bf16", 2e-2)):
            losses, found, _ = self.trained("2", "--batch-norm", "sync", precision=precision)
            with self.subTest(precision):
                self.assertLess(
                    worst_relative(losses, MODEL.reference["loss_f64"]), max(slack, bound)
                )
                self.assertLess(
                    worst_relative(
                        found["bn.running_var"],
                        read_safetensors(os.path.join(MODEL.folder, "running.safetensors"))[
                            "bn.running_var"
                        ],
                    ),
                    slack,
                )

    def test_gpus(self):
        with emulated(2):
            for sync in ("rank", "sync"):
                losses, found, _ = self.trained(
                    "2", "--batch-norm", sync, "--target", "cuda:sm_80", steps=4
                )
                recorded = "loss_f64" if sync == "sync" else "loss_f64_in_two_parts"
                self.assertLess(worst_relative(losses, MODEL.reference[recorded][:4]), 1e-7)
                _, of_cpu, _ = self.trained("2", "--batch-norm", sync, "--target", "cpu", steps=4)
                for name, values in of_cpu.items():
                    np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-12)

    def test_a_run_that_goes_on_has_the_same_bits(self):
        _, whole, _ = self.trained("2")
        kept = self.path("kept")
        self.trained("2", run=["--checkpoint-dir", kept], steps=7)
        _, resumed, _ = self.trained("2", run=["--checkpoint-dir", kept, "--resume", "auto"])
        for name, values in whole.items():
            np.testing.assert_array_equal(resumed[name], values, name)

    def test_kept_as_they_are(self):
        _, followed, _ = self.trained("1", steps=1)
        _, frozen, _ = self.trained("1", "--freeze", r"^twice\.running", steps=1)
        self.assertIn("twice.running_var", frozen)
        _, buffers, _ = self.trained("1", "--buffer", r"^twice\.running", steps=1)
        self.assertNotIn("twice.running_var", buffers)
        for found in (frozen, buffers):
            np.testing.assert_array_equal(found["bn.running_var"], followed["bn.running_var"])
        # One step of what stays by 0.99 is near.
        moved = np.abs(frozen["twice.running_var"] - followed["twice.running_var"])
        self.assertGreater(moved.max(), 1e-6)

    def test_statistics_run_whatever_is_trained(self):
        _, followed, _ = self.trained("1", steps=1)
        _, found, _ = self.trained("1", "--trainable", "^head", steps=1)
        np.testing.assert_array_equal(found["bn.running_var"], followed["bn.running_var"])
        self.assertFalse(np.array_equal(found["stem.weight"], followed["stem.weight"]))

    def test_is_checked_against_an_unsharded_step(self):
        flags = ["--remat", "none", "--disable-pass", "step-write-in-place", "--strategy", "none"]
        for sync, mesh in (("rank", "1"), ("sync", "2x2")):
            MODEL.compile(
                self.path("r"),
                mesh,
                "float32",
                "--batch-norm",
                sync,
                *flags,
                batch=MODEL.batch // 4 * int(np.prod([int(d) for d in mesh.split("x")])),
            )
            MODEL.compile(self.path("t"), "2x2", "float32", "--batch-norm", sync)
            said = command(CHECK, self.path("t"), "--reference", self.path("r"))
            self.assertIn("results are the reference's expressions", said.stdout)
        MODEL.compile(self.path("r"), "1", "float32", *flags)
        with self.assertRaisesRegex(CommandFailed, "compile the reference with its --batch-norm"):
            command(CHECK, self.path("t"), "--reference", self.path("r"))

    def test_a_sample_on_each_rank_has_statistics_of_all(self):
        losses, _, _ = self.trained("12", "--batch-norm", "sync", steps=2)
        want = MODEL.reference["loss_f64"][:2]
        self.assertLess(worst_relative(losses, want), 1e-7)

    def test_refusals(self):
        with self.assertRaisesRegex(CommandFailed, "expects more than one value per channel"):
            MODEL.compile(self.path("m"), 1, "float32", batch=1)
        with self.assertRaisesRegex(CommandFailed, "has sums over the samples of all ranks"):
            MODEL.compile(self.path("m"), 2, "float32", "--batch-norm", "sync", "--checkable")
        cnn = Model(os.path.join(MODELS, "vision-cnn-tiny"))
        with self.assertRaisesRegex(CommandFailed, "--batch-norm sync has no effect"):
            cnn.compile(self.path("m"), 2, "float32", "--batch-norm", "sync")
        MODEL.compile(self.path("m"), 1, "float32")
        with self.assertRaisesRegex(CommandFailed, "is found in the name of no trained parameter"):
            MODEL.train(self.path("m"), "--group", "match=running_mean,weight-decay=0.1")


if __name__ == "__main__":
    unittest.main()
