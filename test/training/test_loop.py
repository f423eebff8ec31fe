"""What ends a run, what is kept of it, and what it says when it is done."""
import json
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

from reference import BUILD, MODELS, CommandFailed, Model, command, read_metrics, read_safetensors

MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
CKPT = os.path.join(BUILD, "bin", "shardc-ckpt")

# A command of --eval-command: how many of the next tokens are right.
RIGHT = """
import json, os, sys
import numpy as np
labels, logits = (np.load(path) for path in sys.argv[1:])
wanted, guessed = labels[:, 1:], logits[:, :-1].argmax(-1)
right = float((guessed == wanted)[wanted != -100].mean())
print("judged")
print(json.dumps({"right": right, "wrong": 1 - right, "number": int(os.environ["SHARDC_STEP"])}))
"""


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

    def test_evaluations_behind_epochs(self):
        def evaluated(*flags, steps):
            _, events = self.run_lines(*flags, steps=steps)
            return [event["step"] for event in events if event["event"] == "eval"]

        # 256 samples in batches of 32.
        self.assertEqual(evaluated("--eval-every", "1e", steps=20), [0, 8, 16, 20])
        self.assertEqual(evaluated("--eval-every", "2e", "--shuffle", steps=32), [0, 16, 32])
        # 250 samples: an epoch in order has 7 13/16 steps, a shuffled one 7.
        limit = ("--eval-every", "1e", "--data-limit", 250)
        self.assertEqual(evaluated(*limit, steps=24), [0, 8, 16, 24])
        self.assertEqual(evaluated(*limit, "--shuffle", steps=24), [0, 7, 14, 21, 24])
        # A run that goes on is not evaluated twice after the same step.
        saves = ("--eval-every", "1e", "--checkpoint-dir", self.path("c"))
        self.assertEqual(evaluated(*saves, steps=16), [0, 8, 16])
        self.assertEqual(evaluated(*saves, "--resume", "auto", steps=30), [0, 8, 16, 24, 30])
        for wrong in ("0e", "e", "1x", "-1", ""):
            with self.subTest(wrong=wrong):
                self.assertIn("--eval-every expects an", self.fails(1, "--eval-every", wrong))

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

    def test_accuracy_counts_labels_that_are_right(self):
        held = {name: np.load(path)[:251] for name, path in MLP.data().items()}
        words = []
        for name, values in held.items():
            np.save(self.path(name + ".npy"), values)
            words += ["--eval-data", f"{name}={self.path(name + '.npy')}"]
        final, metrics = self.path("p.safetensors"), self.path("m.jsonl")
        for mesh, precision in (("1", "float64"), ("2x2", "float32"), ("4", "bfloat16")):
            with self.subTest(mesh=mesh, precision=precision):
                trainer = self.path(mesh + ".trainer")
                MLP.compile(trainer, mesh, precision, "--metric", "accuracy")
                flags = (*self.words(evaluates=False, steps=20), *words)[1:]
                outputs = ("--export-safetensors", final, "--metrics", metrics)
                text = command(trainer, *flags, *outputs).stdout
                _, events = read_metrics(metrics)
                (event,) = (e for e in events if e["event"] == "eval")
                top = mlp_logits(read_safetensors(final), held["x"]).argmax(axis=1)
                right = (top == held["labels"]).sum()
                # Rounding may decide between two that are close.
                most = 8 if precision == "bfloat16" else 0
                self.assertAlmostEqual(event["accuracy"] * 251, right, delta=most + 1e-9)
                self.assertGreater(right, 251 / 5)
                self.assertIn(f"accuracy {event['accuracy']:.6g}"[:14], text)
        saves = ("--eval-every", 1, "--checkpoint-dir", self.path("c"), "--checkpoint-keep", 1)
        command(
            *(trainer, *self.words(evaluates=False)[1:], *words, *saves),
            *("--keep-best", "accuracy", "--metrics", metrics),
        )
        _, events = read_metrics(metrics)
        by_step = {e["step"]: e["accuracy"] for e in events if e["event"] == "eval"}
        best = max(by_step, key=by_step.get)  # the first of equal ones
        self.assertEqual(os.readlink(self.path("c", "best")), f"step-{best:08d}")
        self.assertEqual(self.best(self.path("c", "best"))["value"], by_step[best])
        error = self.fails(1, *saves, "--keep-best", "accuracy")
        self.assertIn("shardc --metric accuracy", error)

    def test_predictions_are_the_graphs_outputs(self):
        gpt2 = Model(os.path.join(MODELS, "gpt2-tiny"))
        ids = np.load(gpt2.data()["input_ids"])
        labels = np.load(gpt2.data()["labels"])
        words = ["--steps", 3, "--lr", 1e-3]
        for name, values in (("input_ids", ids), ("labels", labels)):
            np.save(self.path(name + ".npy"), values[:11])
            words += ["--data", f"{name}={gpt2.data()[name]}"]
            words += ["--eval-data", f"{name}={self.path(name + '.npy')}"]
        out, metrics = self.path("out.npy"), self.path("m.jsonl")
        first = None
        for mesh, precision, tolerance in (
            ("1", "float64", 0),
            ("2", "float64", 1e-9),
            ("2x2", "float32", 1e-4),
            ("4", "bfloat16", 0.2),
        ):
            with self.subTest(mesh=mesh, precision=precision):
                trainer = self.path(mesh + ".trainer")
                outputs = ("--output-values", "logits", "--metric", "accuracy")
                gpt2.compile(trainer, mesh, precision, *outputs)
                command(trainer, *words, "--predict", out, "--metrics", metrics)
                got = np.load(out)
                self.assertEqual(got.shape, (11, ids.shape[1], 512))
                self.assertEqual(got.dtype, np.float64 if precision == "float64" else np.float32)
                first = got if first is None else first
                np.testing.assert_allclose(got, first, atol=tolerance, rtol=0)
                # The loss and the accuracy that the run computed, taken from the file.
                _, events = read_metrics(metrics)
                (event,) = (e for e in events if e["event"] == "eval")
                rows, wanted = got[:, :-1].astype(np.float64), labels[:11, 1:]
                valid = wanted != -100
                wanted = np.where(valid, wanted, 0)[..., None]
                shifted = rows - rows.max(-1, keepdims=True)
                losses = np.log(np.exp(shifted).sum(-1))
                losses -= np.take_along_axis(shifted, wanted, -1)[..., 0]
                close = 1e-5 if precision != "bfloat16" else 1e-2
                self.assertAlmostEqual(losses[valid].mean(), event["loss"], delta=close)
                right = (rows.argmax(-1) == wanted[..., 0])[valid].mean()
                close = 1e-12 if precision != "bfloat16" else 0.02
                self.assertAlmostEqual(event["accuracy"], right, delta=close)

    def test_a_command_makes_metrics_of_predictions(self):
        gpt2 = Model(os.path.join(MODELS, "gpt2-tiny"))
        trainer, script, metrics = (self.path(n) for n in ("t", "right.py", "m.jsonl"))
        gpt2.compile(trainer, "2", "float32", "--output-values", "logits", "--metric", "accuracy")
        with open(script, "w") as file:
            file.write(RIGHT)
        words = ["--steps", 4, "--eval-every", 2, "--predict", self.path("out.npy")]
        for name, path in gpt2.data().items():
            values = np.load(path)[:11]
            np.save(self.path(name + ".npy"), values)
            words += ["--data", f"{name}={path}", "--eval-data", f"{name}={self.path(name)}.npy"]
        judged = ("--eval-command", f"{sys.executable} {script} {self.path('labels.npy')}")
        kept = (
            "--checkpoint-dir",
            self.path("c"),
            "--keep-best",
            "min:wrong",
            "--metrics",
            metrics,
        )
        for more in ((), ("--nproc-per-node", 2)):
            with self.subTest(more):
                text = command(trainer, *words, *judged, *kept, *more).stdout
                events = [e for e in read_metrics(metrics)[1] if e["event"] == "eval"]
                self.assertEqual([event["step"] for event in events], [0, 2, 4])
                for event in events:
                    self.assertAlmostEqual(event["right"], event["accuracy"], delta=1e-12)
                    self.assertEqual(event["number"], event["step"])
                    self.assertRegex(
                        text, rf"after step {event['step']}: .* right {event['right']:.6g}, "
                    )
                best = min(events, key=lambda event: event["wrong"])
                led = os.readlink(os.path.join(self.path("c"), "best"))
                self.assertEqual(led, f"step-{best['step']:08}")
                shutil.rmtree(self.path("c"))
                os.remove(metrics)
        # What is wrong with it costs the evaluation its metrics alone.
        done = command(trainer, *words, "--eval-command", "exit 3 #", "--metrics", metrics)
        said = "--eval-command after step 0: it ended with exit code 3; this evaluation is without"
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stderr.count("--eval-command after step"), 3)
        events = [e for e in read_metrics(metrics)[1] if e["event"] == "eval"]
        self.assertTrue(all("accuracy" in e and "right" not in e for e in events))
        os.remove(metrics)
        nowhere = {"TMPDIR": self.path("nowhere")}
        with unittest.mock.patch.dict(os.environ, nowhere):
            done = command(trainer, *words, *judged, "--metrics", metrics)
        self.assertEqual(done.stderr.count("cannot make the folder"), 3)
        other = ("--keep-best", "f1", "--checkpoint-dir", self.path("c"))
        done = command(trainer, *words, *judged, *other)
        self.assertIn("--keep-best f1: --eval-command after step 0 gives no such", done.stderr)
        self.assertNotIn("best", os.listdir(self.path("c")))
        self.assertEqual(os.listdir(self.path("")).count("out.npy"), 1)

    def test_a_run_without_steps_needs_no_data(self):
        gpt2 = Model(os.path.join(MODELS, "gpt2-tiny"))
        trainer = self.path("gpt2.trainer")
        gpt2.compile(trainer, "2", "float32", "--output-values", "logits")
        data = [w for n, p in gpt2.data().items() for w in ("--data", f"{n}={p}")]
        held = [w.replace("--data", "--eval-data") for w in data]
        saves = ("--checkpoint-dir", self.path("c"))
        first, again = self.path("first.npy"), self.path("again.npy")
        final = self.path("final.safetensors")
        outputs = ("--predict", first, "--export-safetensors", final)
        command(trainer, *data, "--shuffle", *held, "--steps", 3, *saves, *outputs)
        for values in (("--resume", self.path("c")), ("--weights", final)):
            with self.subTest(values=values):
                command(trainer, *held, "--steps", 0, *values, "--predict", again)
                np.testing.assert_array_equal(np.load(again), np.load(first))
                command(trainer, *held, "--steps", 0, *values, "--dry-run")
        # Predictions need no labels; what has a loss does.
        ids = ("--eval-data", f"input_ids={gpt2.data()['input_ids']}", "--predict", again)
        words = (trainer, *ids, "--steps", 0, "--weights", final)
        os.remove(again)
        self.assertNotIn("eval after", command(*words).stdout)
        np.testing.assert_array_equal(np.load(again), np.load(first))
        command(*words, "--dry-run")
        for flag in (("--eval-every", 1), ("--expect-loss-below", 9)):
            with self.assertRaises(CommandFailed) as caught:
                command(*words, *flag)
            said = f"{flag[0]} needs labels; give --eval-data labels=FILE.npy"
            self.assertIn(said, str(caught.exception))
        # What it saves is gone on with by the run that has the data.
        copy = ("--checkpoint-dir", self.path("copy"))
        command(trainer, "--steps", 0, "--resume", self.path("c"), *copy)
        command(CKPT, "diff", self.path("c"), self.path("copy"))
        losses = []
        for folder in ("c", "copy"):
            metrics, words = self.path(folder + ".jsonl"), ("--resume", self.path(folder))
            command(trainer, *data, "--shuffle", *words, "--steps", 6, "--metrics", metrics)
            losses.append([step["loss"] for step in read_metrics(metrics)[0]])
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(losses[0]), 3)
        for words in (held, [*held, "--steps", 1]):
            with self.assertRaises(CommandFailed) as caught:
                command(trainer, *words)
            self.assertIn("input_ids has no values; give --data", str(caught.exception))

    def test_predictions_that_cannot_be(self):
        out = self.path("out.npy")
        self.assertIn("shardc --output-values", self.fails(1, "--predict", out))
        self.assertIn("without --eval-data", self.fails(1, "--predict", out, evaluates=False))
        gpt2 = Model(os.path.join(MODELS, "gpt2-tiny"))
        trainer = self.path("gpt2.trainer")
        with self.assertRaises(CommandFailed) as caught:
            gpt2.compile(trainer, "1", "float32", "--output-values", "nothing")
        self.assertIn("no output 'nothing'; outputs are logits", str(caught.exception))
        gpt2.compile(trainer, "1", "float32", "--output-values", "logits")
        words = ["--steps", 0]
        for name, path in gpt2.data().items():
            words += ["--data", f"{name}={path}", "--eval-data", f"{name}={path}"]
        for flags, text in (
            (("--predict", f"hidden={out}"), "no output 'hidden' was compiled"),
            (("--predict", out, "--predict", f"logits={out}2"), "'logits' twice"),
            (("--predict", self.path("nowhere", "out.npy")), "nowhere"),
            (("--predict", gpt2.data()["labels"]), "labels.npy"),
        ):
            with self.subTest(flags=flags), self.assertRaises(CommandFailed) as caught:
                command(trainer, *words, *flags)
            self.assertIn(text, str(caught.exception).split("\n")[2])
        self.assertEqual(os.listdir(self.path()), ["gpt2.trainer"])

    def test_initial_values_by_name(self):
        def drawn(*flags, trainer=self.trainer):
            final = self.path("drawn.safetensors")
            words = self.words("--init", "random", *flags, "--export-safetensors", final, steps=0)
            command(trainer, *words[1:])
            return read_safetensors(final)

        plain = drawn()
        names = sorted(plain)
        name = max(names, key=lambda n: plain[n].size)
        (out, fan_in), size = plain[name].shape, plain[name].size
        regex = f"^{name}$".replace(".", "[.]")
        kaiming, xavier = np.sqrt(2 / fan_in), np.sqrt(2 / (out + fan_in))
        for distribution, mean, deviation, most in (
            ("normal=3,0.5", 3, 0.5, np.inf),
            ("uniform=1,2", 1.5, np.sqrt(1 / 12), 2),
            ("trunc_normal=0,0.02", 0, 0.02, 2),
            ("trunc_normal=0,1,-1,1", 0, 0.53956, 1),
            ("xavier_uniform", 0, xavier, np.sqrt(3) * xavier),
            ("xavier_normal=2", 0, 2 * xavier, np.inf),
            ("kaiming_uniform", 0, kaiming, np.sqrt(3) * kaiming),
            ("kaiming_normal=fan_out,3", 0, np.sqrt(2 / 10 / out), np.inf),
            ("constant=-1.5", -1.5, 0, 1.5),
            ("zeros", 0, 0, 0),
            ("ones", 1, 0, 1),
        ):
            with self.subTest(distribution=distribution):
                got = drawn("--init-group", f"match={regex},{distribution}")
                values = got.pop(name).astype(np.float64)
                error = 6 * deviation / np.sqrt(size)
                self.assertAlmostEqual(values.mean(), mean, delta=error)
                self.assertAlmostEqual(values.std(), deviation, delta=error)
                self.assertLessEqual(np.abs(values).max(), most * (1 + 1e-6))
                for other, value in got.items():
                    self.assertEqual(value.tobytes(), plain[other].tobytes(), other)
        # The first group that matches holds, and no mesh changes anything.
        groups = ("--init-group", f"match={regex},trunc_normal=0,1,-1,1", "--init-group")
        got = drawn(*groups, "match=.,ones")
        other = self.path("other.trainer")
        MLP.compile(other, "2x2", "float32")
        for trainer in (self.trainer, other):
            again = drawn(*groups, "match=.,ones", trainer=trainer)
            self.assertEqual(again[name].tobytes(), got[name].tobytes())
            for rest in set(names) - {name}:
                self.assertTrue((again[rest] == 1).all())

    def test_initial_values_that_cannot_be(self):
        for group, *words in (
            ("match=nothing,ones", "is found in the name of no parameter", "there are"),
            ("match=bias,xavier_normal", "needs at least two dims", "has 1"),
            ("match=.,normal=0", "normal expects 2 numbers, got 1"),
            ("match=.,normal=0,-1", "a standard deviation of 0 or more"),
            ("match=.,uniform=2,1", "LOW,HIGH"),
            ("match=.,trunc_normal=0,1,5,6", "at least a tenth"),
            ("match=.,kaiming_normal=fan", "fan_in or fan_out"),
            ("match=.,cauchy=0,1", "expects match=REGEX,DISTRIBUTION"),
            ("match=(,ones", "is no regex"),
        ):
            with self.subTest(group=group):
                error = self.fails(1, "--init", "random", "--init-group", group)
                for word in words:
                    self.assertIn(word, error)
        error = self.fails(1, "--init-group", "match=.,ones")
        self.assertIn("--init-group has no effect without --init random", error)

    def test_flags_without_effect(self):
        saves = ("--checkpoint-dir", self.path("c"))
        for words, flags, settings in (
            ("without --checkpoint-dir", ("--keep-best", "eval_loss", "--eval-every", 1), {}),
            ("without --eval-every", ("--keep-best", "eval_loss", *saves), {}),
            ("without --keep-best", ("--export-best", "--export-onnx", self.path("o"), *saves), {}),
            ("without --eval-every", ("--early-stop", 2), {}),
            ("without --eval-every", ("--stop-below", 2), {}),
            ("there is no loss", ("--expect-loss-below", 2), {"steps": 0, "evaluates": False}),
            (
                "0 steps of warm-up and --decay-steps 13 are more than the 12 steps",
                ("--schedule", "warmup_stable_decay", "--decay-steps", 13),
                {},
            ),
            (
                "2 steps of warm-up and --decay-steps 11 are more than the 12 steps",
                (
                    *("--schedule", "warmup_stable_decay", "--decay-steps", 11),
                    *("--warmup-ratio", 0.1),
                ),
                {},
            ),
        ):
            with self.subTest(flags=flags):
                self.assertIn(words, self.fails(1, *flags, **settings))


def mlp_logits(parameters, x):
    """Of mlp-tiny-loss."""
    for layer, activation in ((0, lambda v: np.maximum(v, 0)), (2, np.tanh), (4, lambda v: v)):
        weight, bias = (parameters[f"layers.{layer}.{part}"] for part in ("weight", "bias"))
        x = activation(x @ weight.T.astype(np.float64) + bias)
    return x


if __name__ == "__main__":
    unittest.main()
