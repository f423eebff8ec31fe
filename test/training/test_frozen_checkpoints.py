"""Runs that go on where something is not trained: its values are those of the saved run."""
import json
import os
import shutil
import subprocess
import time

from checkpoint_test import CheckpointTest, MLP, SAVED, STEPS
from reference import BUILD, SHARDC, command, read_safetensors

CKPT = os.path.join(BUILD, "bin", "shardc-ckpt")

FROZEN = r"^layers\.0\."
NAMES = {"layers.0.weight", "layers.0.bias"}


class FrozenCheckpoints(CheckpointTest):
    def saved(self, trainer, name, *flags, steps=SAVED):
        _, values = self.train(
            trainer, name, "--checkpoint-dir", self.path(name), *flags, steps=steps
        )
        return values

    def at(self, name, step=SAVED):
        return self.path(name, f"step-{step:08}")

    def manifest(self, name, step=SAVED):
        with open(os.path.join(self.at(name, step), "manifest.json")) as file:
            return json.load(file)

    def test_what_is_frozen_later_stays_as_it_was_trained(self):
        for mesh, precision in (("1", "float32"), ("2x2", "bf16")):
            with self.subTest(mesh=mesh, precision=precision):
                tag = mesh + precision
                trained = self.saved(self.compile(mesh, precision), "all" + tag)
                frozen = self.compile(mesh, precision, "--freeze", FROZEN)
                go_on = ("--resume", self.at("all" + tag))
                rest = self.saved(frozen, "rest" + tag, *go_on, steps=STEPS)
                for name in NAMES:
                    self.assertEqual(rest[name].tobytes(), trained[name].tobytes(), name)
                changed = [n for n in rest if rest[n].tobytes() != trained[n].tobytes()]
                self.assertEqual(set(rest) - set(changed), NAMES)
                # Nothing else has these values: the checkpoint does, for whoever goes on from it.
                saved = self.tensors(self.at("rest" + tag, STEPS))
                for name in NAMES:
                    self.assertEqual(saved[name].tobytes(), trained[name].tobytes(), name)
                    self.assertNotIn(f"state.{name}.step", saved)
                command(CKPT, "verify", self.path("rest" + tag))
                self.saved(frozen, "half" + tag, *go_on, steps=STEPS - 1)
                again = self.saved(frozen, "half" + tag, "--resume", "auto", steps=STEPS)
                self.assert_equal_values(again, rest)

    def test_other_values_of_what_is_frozen_are_refused(self):
        self.train(self.compile(), "w", steps=2)
        weights = ("--weights", self.path("w.safetensors"))
        frozen = self.compile("2", "float32", "--freeze", FROZEN)
        values = self.saved(frozen, "c", *weights)
        self.assertEqual(set(self.manifest("c")["not_trained"]), NAMES)
        self.assertEqual(set(self.tensors(self.at("c"))) & NAMES, set())
        saves = ("--checkpoint-dir", self.path("c"), "--resume", "auto")
        self.assertRegex(
            self.fails(*self.words(frozen, *saves, steps=STEPS)),
            r"layers\.0\.\w+ is not trained, and has other values than in the run that wrote .*"
            rf"step-0+{SAVED}, where they were from .*w\.safetensors; give the same --weights",
        )
        # Values decide, not files; neither precision nor mesh changes them.
        os.rename(self.path("w.safetensors"), self.path("moved"))
        moved = ("--weights", self.path("moved"))
        for mesh, precision in (("2", "float32"), ("4", "bf16"), ("1", "float64")):
            trainer = self.compile(mesh, precision, "--freeze", FROZEN)
            command(*self.words(trainer, *saves, *moved, "--dry-run", steps=STEPS))
        self.saved(frozen, "c", "--resume", "auto", *moved, steps=STEPS)
        whole = self.saved(frozen, "d", *moved, steps=STEPS)
        self.assert_equal_values(read_safetensors(self.path("c.safetensors")), whole)
        self.assertTrue(any(whole[n].tobytes() != values[n].tobytes() for n in values))

    def test_weights_that_nothing_is_read_of(self):
        trainer = self.compile()
        self.saved(trainer, "c")
        os.rename(self.path("c.safetensors"), self.path("w.safetensors"))
        weights = ("--weights", self.path("w.safetensors"))
        for resume in (self.at("c"), self.path("c")):
            text = self.fails(*self.words(trainer, "--resume", resume, *weights, steps=STEPS))
            self.assertIn("--weights changes nothing beside --resume", text)
        # One command for a job that is started again and again.
        self.saved(trainer, "c", "--resume", "auto", *weights, steps=STEPS)

    def test_values_that_the_checkpoint_has_are_read_nowhere_else(self):
        model, trainer, kept = self.path("m.onnx"), self.path("t"), self.path("kept.onnx")
        shutil.copy(MLP.onnx, model)
        size = ("--dim", f"batch={MLP.batch}")
        command(SHARDC, model, *size, "-q", "-o", trainer)
        weights = ("--weights", self.path("w.safetensors"))
        self.train(trainer, "w", steps=0)
        whole = self.saved(trainer, "whole", *weights, steps=STEPS)
        self.saved(trainer, "c", *weights)
        os.rename(model, kept)
        os.remove(weights[1])
        words = self.words(trainer, "--checkpoint-dir", self.path("d"), steps=STEPS)
        self.assertIn("m.onnx", self.fails(*words))
        again = self.saved(trainer, "c", "--resume", "auto", *weights, steps=STEPS)
        self.assert_equal_values(again, whole)
        self.train(trainer, "e", "--weights", self.at("c"), steps=1)
        command(CKPT, "export", self.path("c"), "--to", "onnx", "--trainer", trainer, "-o", model)
        self.assertEqual(os.path.getsize(model), os.path.getsize(kept))


class Folders(CheckpointTest):
    def test_two_runs_in_one_folder(self):
        trainer, folder = self.compile(), self.path("c")
        saves = ("--checkpoint-dir", folder)
        first = subprocess.Popen(
            self.words(trainer, *saves, "--checkpoint-every", 1, steps=10**7),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            while not os.path.exists(os.path.join(folder, "step-00000001")):
                time.sleep(0.05)
            for resume in ("auto", "none"):
                text = self.fails(*self.words(trainer, *saves, "--resume", resume, steps=STEPS))
                self.assertRegex(
                    text,
                    r"another run writes its checkpoints there "
                    rf"\(process {first.pid} of \S+\); wait until it has ended",
                )
            command(*self.words(trainer, *saves, "--resume", "auto", "--dry-run", steps=10**7))
        finally:
            first.kill()
            first.communicate()
        # What was killed locks nothing, and what has ended leaves nothing.
        self.train(trainer, "b", *saves, "--resume", "none", steps=2)
        self.assertEqual(sorted(os.listdir(folder)), ["earlier-1", "step-00000002"])
