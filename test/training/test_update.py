"""Units that are updated in backward (--update backward): to the bit what a step does that updates
them at its end and does not clip, in less memory."""
import copy
import json
import os
import subprocess
import sys
import unittest

from edited_plan import edit
from emulated_cuda import emulated
from reference import (
    BUILD,
    MODELS as FOLDER,
    SHARDC,
    command,
    models,
)
from trained_bits import TrainedBits, unclipped

# Of processor time: see test/run.py.
LONG = True

MODELS = models()
CHECK = os.path.join(BUILD, "bin", "shardc-check")
UPDATE = ("--update", "backward")

# Also what repeats a proof: ./dev test --thorough.
THOROUGH = bool(os.environ.get("SHARDC_TEST_THOROUGH"))


class UpdateTest(TrainedBits):
    def check(self, name, mesh, precision, *flags, run=(), disk=False, optimizer="adamw"):
        model, trainer = unclipped(MODELS[name]), self.path("t")
        flags = ("--optimizer", optimizer, *flags)
        if disk:
            run = (*run, "--offload-dir", self.path())
        with self.subTest(model=name, mesh=mesh, precision=precision, flags=flags, run=run):
            model.compile(trainer, mesh, precision, *flags)
            expected = self.train(model, trainer, *run, optimizer=optimizer)
            model.compile(trainer, mesh, precision, *flags, *UPDATE)
            self.assertEqual(self.train(model, trainer, *run, optimizer=optimizer), expected)


class EqualBits(UpdateTest):
    def test_every_tiny_model(self):
        for name in MODELS:
            if "tiny" in name and MODELS[name].folder.startswith(FOLDER):
                self.check(name, "1", "float64")
                self.check(name, "2", "float32")
                self.check(name, "2x2", "bf16")

    def test_strategies(self):
        for mesh, strategy in (
            ("2", "none"),
            ("2", "opt"),
            ("4", "grad_op"),
            ("2x2", "full"),
            ("2x2", "hybrid_opt"),
            ("2x2", "hybrid_grad_op"),
        ):
            for name in ("gpt2-tiny", "preference-tiny"):
                self.check(name, mesh, "float32", "--strategy", strategy)

    def test_every_optimizer(self):
        for optimizer in ("sgd", "lion", "amsgrad", "adam", "adagrad"):
            self.check("mlp-tiny-loss", "2", "float32", optimizer=optimizer)

    def test_micro_batches(self):
        accumulated = ("--grad-accumulation", 2)
        for accumulate in ("sharded", "unsharded"):
            flags = ("--accumulate", accumulate, "--units", "block")
            self.check("gpt2-tiny", "2", "float32", *flags, run=accumulated)

    def test_schedules_and_recomputation(self):
        for flags in (
            ("--remat", "unit", "--units", "block"),
            ("--prefetch", "auto", "--cluster", "dgx-h100", "--units", "block"),
            ("--prefetch", "0", "--reshard-after-forward", "2", "--units", "block"),
        ):
            self.check("s2-llama-tiny-mask", "4", "float32", *flags)

    def test_processes_which_gather_by_copying(self):
        for processes in (2, 4):
            run = ("--nproc-per-node", processes)
            self.check("gpt2-tiny", "4", "float32", "--units", "block", run=run)

    def test_checkpoints_that_are_written_beside_steps(self):
        """What a save has not copied when the first unit is updated, that update waits for."""
        model, trainer = unclipped(MODELS["gpt2-tiny"]), self.path("t")
        model.compile(trainer, "2", "float32", "--units", "block", *UPDATE)
        figures, expected = self.train(model, trainer, steps=5)
        saved = ("--checkpoint-dir", self.path("saved"), "--checkpoint-every", 1)
        self.train(model, trainer, *saved, steps=3)
        resumed = self.train(model, trainer, *saved, "--resume", "auto", steps=5)
        self.assertEqual(resumed, (figures[3:], expected))

    def test_norms_and_looks(self):
        for run in (("--check-finite",), ("--hash-entries", self.path("hashes"))):
            self.check("mlp-tiny-loss", "2", "float32", run=run)

    def test_state_in_a_file(self):
        for what in ("optimizer", "optimizer,activations=1GB"):
            self.check("gpt2-tiny", "2", "bf16", "--offload", what, disk=True)
        flags = ("--units", "block", "--offload", "parameters,optimizer")
        for mesh in ("1", "2"):
            self.check("gpt2-tiny", mesh, "float32", *flags, disk=True)

    def test_emulated_gpus(self):
        both = ("--offload", "optimizer,activations=1GB")
        for flags in ((), ("--master", "split"), both) if THOROUGH else ((), both):
            with emulated():
                self.check("gpt2-tiny", "2", "bf16", "--target", "cuda", *flags)


class Defects(UpdateTest):
    def test_an_update_before_the_loss_is_known(self):
        """It could not be left out where the loss is not finite: shardc-check says so."""
        model = unclipped(MODELS["gpt2-tiny"])
        model.compile(self.path("t"), "2", "float32", "--units", "block", *UPDATE)
        command(CHECK, self.path("t"), model.onnx)

        def change(plan):
            entries = plan.train.entries
            known = next(i for i, e in enumerate(entries) if e.HasField("metric"))
            update = next(i for i, e in enumerate(entries) if e.HasField("optimizer_step"))
            self.assertLess(known, update)
            metric = copy.deepcopy(entries[known])
            del entries[known]
            entries.insert(update, metric)

        edit(self.path("t"), self.path("e"), change)
        process = subprocess.run([CHECK, self.path("e")], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1, process.stdout)
        self.assertRegex(process.stderr, r"optimizer_step: updates before the loss is known")


class Memory(UpdateTest):
    def plan(self, *flags, mesh=8):
        report, model = self.path("r.json"), self.path("8b.onnx")
        if not os.path.exists(model):
            packed = os.path.join(FOLDER, "s1-llama31-8b", "model.onnx.xz")
            command(sys.executable, os.path.join(FOLDER, "unpack.py"), packed, model)
        words = [SHARDC, model, "--dim", "batch=1", "--dim", "sequence=8192", "--init", "random"]
        words += ["--loss", "cross-entropy:logits=logits,labels=labels,shift=1", "--quiet"]
        words += ["--mesh", mesh, "--target", "cuda:sm_90", "--cluster", "dgx-h100"]
        words += ["--precision", "bf16", "--report", report]
        command(*words, "-o", self.path("t"), *flags)
        with open(report) as file:
            made = json.load(file)
        return {**made["memory"], "step_seconds": made["timeline"]["step_seconds"]}

    def test_8b_in_30_gib(self):
        """What leaves for the host takes 3 % of a step at most, recomputation included."""
        full = self.plan("--remat", "none")
        small = self.plan(
            *("--remat", "all", "--offload", "auto", "--memory-limit", "30GiB"), *UPDATE
        )
        self.assertLessEqual(small["peak_bytes"], 30 * 2**30)
        self.assertLessEqual(small["step_seconds"], 1.03 * full["step_seconds"])

    def test_8b_on_one_gpu_of_any_size(self):
        """Parameters come to be read, and backward waits for updates that are slower than it."""
        for limit in (12e9, 24e9, 80e9):
            flags = ("--remat", "unit", "--offload", "auto", "--memory-limit", int(limit))
            made = self.plan(*flags, *UPDATE, mesh=1)
            self.assertLessEqual(made["peak_bytes"], limit)
            self.assertGreater(made["live_bound_bytes"], 0.99 * made["peak_bytes"])
            self.assertLess(made["kinds"]["gradient"], 6e9)

    def test_gradients_of_8b_leave_when_they_are_used(self):
        """Docs say so (docs/memory.md): in 22.0 GiB."""
        kept = self.plan("--remat", "unit", "--prefetch", "1")
        left = self.plan("--remat", "unit", "--prefetch", "1", *UPDATE)
        self.assertLess(left["kinds"]["gradient"], kept["kinds"]["gradient"] - 3e9)
        self.assertLess(left["peak_bytes"], kept["peak_bytes"] - 1.2e9)
        small = self.plan("--remat", "unit", "--memory-limit", 22 * 2**30, *UPDATE)
        self.assertLessEqual(small["peak_bytes"], 22 * 2**30)


class Refusals(UpdateTest):
    def failure(self, *words):
        process = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        self.assertNotEqual(process.returncode, 0, process.stdout)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        return process.stderr

    def test_what_needs_all_gradients(self):
        model, trainer = MODELS["mlp-tiny-loss"], self.path("t")
        for precision, *flags, text in (
            ("float32", "--optimizer", "muon", "muon takes whole matrices"),
            ("float16", "gradients in float16 are scaled"),
        ):
            with self.assertRaisesRegex(Exception, text):
                model.compile(trainer, "2", precision, *flags, *UPDATE)
            self.assertFalse(os.path.exists(trainer))
        model.compile(trainer, "2", "float32", *UPDATE)
        for flag, value in (
            ("--clip", 1),
            ("--export-gradients", self.path("g.safetensors")),
            ("--loss-scale", 8),
        ):
            words = unclipped(model).train_flags(1)
            if flag == "--clip":
                words[words.index(flag) + 1] = value
            else:
                words += [flag, value]
            told = self.failure(trainer, *words)
            self.assertIn(f"{flag}: this trainer updates each unit in backward", told)
            self.assertIn("--update step", told)


if __name__ == "__main__":
    unittest.main()
