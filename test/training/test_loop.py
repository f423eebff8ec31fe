"""What ends a run, what is kept of it, and what it says when it is done."""
import json
import os
import tempfile
import unittest

import numpy as np

from reference import BUILD, MODELS, CommandFailed, Model, command, read_metrics, read_safetensors

MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
CKPT = os.path.join(BUILD, "bin", "shardc-ckpt")


class Loop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.trainer = os.path.join(folder.name, "mlp.trainer")
        MLP.compile(cls.trainer, "2", "float32")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def words(self, *flags, lr=1e-2, steps=12, evaluates=True):
        words = [self.trainer, "--steps", steps, "--lr", lr]
        for name, path in MLP.data().items():
            words += ["--data", f"{name}={path}"]
            words += ["--eval-data", f"{name}={path}"] if evaluates else []
        return [*words, *flags]

    def run_lines(self, *flags, **settings):
        """Its steps, and its events."""
        metrics = self.path("m.jsonl")
        command(*self.words("--metrics", metrics, *flags, **settings))
        return read_metrics(metrics)

    def fails(self, code, *flags, **settings):
        with self.assertRaises(CommandFailed) as caught:
            command(*self.words(*flags, **settings))
        text = str(caught.exception)
        self.assertEqual(text.split("\n")[1], f"exit {code}")
        errors = [line for line in text.split("\n") if "error:" in line]
        self.assertEqual(len(errors), 1, text)
        return errors[0]

    def checkpoints(self):
        return sorted(os.listdir(self.path("c")))

    def best(self, folder):
        with open(os.path.join(folder, "manifest.json")) as file:
            return json.load(file)["best"]

    def test_the_best_evaluation_is_kept(self):
        saves = ("--checkpoint-dir", self.path("c"), "--checkpoint-keep", 1, "--eval-every", 2)
        keeps = (*saves, "--keep-best", "eval_loss")
        # Learns, and then with a rate that is far too high unlearns.
        _, events = self.run_lines(*keeps, "--checkpoint-every", 3, steps=6)
        losses = {e["step"]: e["loss"] for e in events if e["event"] == "eval"}
        self.assertEqual(min(losses, key=losses.get), 6)
        _, events = self.run_lines(*keeps, "--resume", "auto", lr=5, steps=12)
        more = {e["step"]: e["loss"] for e in events if e["event"] == "eval" and e["step"] > 6}
        self.assertGreater(min(more.values()), losses[6])
        self.assertEqual(self.checkpoints(), ["best", "step-00000006", "step-00000012"])
        self.assertEqual(os.readlink(self.path("c", "best")), "step-00000006")
        for step, since in ((6, 0), (12, len(more))):
            best = self.best(self.path("c", f"step-{step:08d}"))
            self.assertEqual(
                best,
                {
                    "metric": "eval_loss",
                    "value": losses[6],
                    "step": 6,
                    "evaluations_since": since,
                },
            )
        self.assertIn(
            "best eval_loss so far",
            command(CKPT, "inspect", self.path("c", "step-00000012")).stdout,
        )
        command(CKPT, "prune", self.path("c"), "--keep", 1)
        self.assertEqual(self.checkpoints(), ["best", "step-00000006", "step-00000012"])
        # The link is a checkpoint to go on from, and goes where the others do.
        self.run_lines("--resume", self.path("c", "best"), steps=7)
        self.run_lines(*saves, "--resume", "none", steps=2)
        self.assertEqual(os.readlink(self.path("c", "earlier-1", "best")), "step-00000006")

    def test_a_better_one_takes_its_place(self):
        saves = ("--checkpoint-dir", self.path("c"), "--keep-best", "eval_loss")
        self.run_lines(*saves, "--eval-every", 2, "--checkpoint-keep", 2, steps=8)
        self.assertEqual(self.checkpoints(), ["best", "step-00000006", "step-00000008"])
        self.assertEqual(os.readlink(self.path("c", "best")), "step-00000008")

    def test_early_stop_counts_over_a_resume(self):
        flags = ("--eval-every", 1, "--early-stop", 4, "--checkpoint-dir", self.path("c"))
        steps, events = self.run_lines(*flags, lr=0, steps=50)
        # The first is the best; equal ones are no better.
        self.assertEqual(len(steps), 4)
        self.assertEqual([e["step"] for e in events if e["event"] == "eval"], [0, 1, 2, 3, 4])
        flags = ("--resume", "none", *flags)
        self.run_lines(*flags, lr=0, steps=2)
        final = self.path("final.safetensors")
        text = command(
            *self.words("--resume", "auto", *flags[2:], lr=0, steps=50),
            "--export-safetensors",
            final,
        ).stdout
        self.assertIn("stopped after step 4 by --early-stop: eval_loss was best after step 0", text)
        self.assertTrue(read_safetensors(final))
        self.assertEqual(self.checkpoints()[-1], "step-00000004")

    def test_stop_below(self):
        steps, events = self.run_lines("--eval-every", 1, steps=12)
        evals = {e["step"]: e["loss"] for e in events if e["event"] == "eval"}
        reached, _ = self.run_lines(
            "--eval-every", 1, "--stop-below", np.nextafter(evals[5], np.inf), steps=12
        )
        self.assertEqual(len(reached), 5)
        losses = [step["loss"] for step in steps]
        below = next(i for i, loss in enumerate(losses) if loss < losses[0] * 0.999)
        reached, _ = self.run_lines("--stop-below", losses[0] * 0.999, evaluates=False)
        self.assertEqual(len(reached), below + 1)

    def test_expected_losses_decide_the_exit_code(self):
        _, events = self.run_lines(steps=4)
        loss = next(e["loss"] for e in events if e["event"] == "eval")
        command(*self.words("--expect-loss-below", loss * 1.001, steps=4))
        final = self.path("final.safetensors")
        error = self.fails(3, "--expect-loss-below", loss, "--export-safetensors", final, steps=4)
        self.assertIn("the loss of the last evaluation is", error)
        self.assertTrue(read_safetensors(final))
        error = self.fails(3, "--expect-loss-below", 1e-9, steps=4, evaluates=False)
        self.assertIn("the loss of the last step is", error)

    def test_flags_without_effect(self):
        saves = ("--checkpoint-dir", self.path("c"))
        for words, flags, settings in (
            ("without --checkpoint-dir", ("--keep-best", "eval_loss", "--eval-every", 1), {}),
            ("without --eval-every", ("--keep-best", "eval_loss", *saves), {}),
            ("without --eval-every", ("--early-stop", 2), {}),
            ("without --eval-every", ("--stop-below", 2), {}),
            ("there is no loss", ("--expect-loss-below", 2), {"steps": 0, "evaluates": False}),
            (
                "are more than the 12 steps",
                ("--schedule", "warmup_stable_decay", "--decay-steps", 13),
                {},
            ),
        ):
            with self.subTest(flags=flags):
                self.assertIn(words, self.fails(1, *flags, **settings))


if __name__ == "__main__":
    unittest.main()
