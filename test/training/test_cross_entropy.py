"""Cross entropies whose labels are smoothed (--loss cross-entropy:...,label-smoothing=S) or weighed
by class (class-weights=W:W:...), against numpy: logits of a linear layer, capped ones, and ones
that are no linear layer's, on any mesh."""
import os
import unittest

import edited_plan
import numpy as np
import test_softcaps
from reference import BUILD, CommandFailed, command, read_metrics
from test_softcaps import BATCH, CAP, CLASSES, HEADS, LENGTH, SIZE, after_a_step, constant, node

IGNORED = -100
WEIGHTS = [0.25 * (c % 5) for c in range(CLASSES)]  # exact in float32


class CrossEntropy(test_softcaps.Trained):
    def setUp(self):
        super().setUp()
        numbers, width = np.random.default_rng(9), HEADS * SIZE
        draw = lambda *shape: numbers.standard_normal(shape).astype(np.float32)
        self.numbers = {
            "x": draw(BATCH, LENGTH, width),
            "t": numbers.integers(0, CLASSES, (BATCH, LENGTH)),
            "head": draw(width, CLASSES),
        }
        self.numbers["t"][:, 3::7] = IGNORED
        self.numbers["t"][0, 9:60] = IGNORED  # ranks have unequal numbers of labels

    def loss(self, numbers, kind, smoothing, shift, weights=None):
        weights = np.ones(CLASSES) if weights is None else np.array(weights)
        logits = numbers["x"].astype(np.float64) @ numbers["head"].astype(np.float64)
        if kind == "capped":
            logits = CAP * np.tanh(logits / CAP)
        if kind == "bent":
            logits = logits * np.abs(logits)
        labels = numbers["t"]
        if shift:
            logits, labels = logits[:, :-shift], labels[:, shift:]
        valid = labels != IGNORED
        likely = np.log(np.exp(logits).sum(-1))
        labels = np.where(valid, labels, 0)
        picked = likely - np.take_along_axis(logits, labels[..., None], -1)[..., 0]
        alike = ((likely[..., None] - logits) * weights).mean(-1)
        own = weights[labels]
        losses = (1 - smoothing) * own * picked + smoothing * alike
        return (losses * valid).sum() / (own * valid).sum()

    def compile(self, kind, smoothing, shift, ranks, weights=""):
        nodes = [node("MatMul", ["x", "head"], "y" if kind == "linear" else "products")]
        if kind == "capped":
            nodes += [
                constant(np.float32(CAP), "cap"),
                node("Div", ["products", "cap"], "small"),
                node("Tanh", ["small"], "bounded"),
                node("Mul", ["bounded", "cap"], "y"),
            ]
        if kind == "bent":
            nodes += [
                node("Abs", ["products"], "sizes"),
                node("Mul", ["products", "sizes"], "y"),
            ]
        self.save(nodes, CLASSES, ["head"])
        loss = (
            f"cross-entropy:logits=y,labels=t,shift={shift},label-smoothing={smoothing}" + weights
        )
        return list(self.words(loss, ranks))

    def certify(self):
        check = os.path.join(BUILD, "bin", "shardc-check")
        command(check, self.path("trainer"), self.path("model.onnx"))

    def test_losses_and_gradients(self):
        for kind in ("linear", "capped", "bent"):
            for smoothing, shift, ranks in ((0.1, 1, 2), (0.5, 0, 1), (1, 2, 1)):
                with self.subTest(kind=kind, smoothing=smoothing, shift=shift, ranks=ranks):
                    words = self.compile(kind, smoothing, shift, ranks)
                    program = command(*words, "--compile-to=raise").stdout
                    fused = "nn.linear_cross_entropy" in program
                    self.assertEqual(fused, kind != "bent")
                    self.assertIn(f"smoothing = {smoothing:e}".split("e")[0], program)
                    losses = self.train(words)
                    loss = lambda numbers: self.loss(numbers, kind, smoothing, shift)
                    self.assertAlmostEqual(losses[0], loss(self.numbers), delta=1e-12)
                    after = after_a_step(self.numbers, ["head"], loss)
                    self.assertAlmostEqual(losses[1], after, delta=1e-8)
                    self.certify()

    def test_weights_of_classes(self):
        text = ",class-weights=" + ":".join(str(weight) for weight in WEIGHTS)
        for kind in ("linear", "capped", "bent"):
            for smoothing, shift, ranks in ((0, 1, 1), (0, 0, 2), (0.25, 1, 2)):
                with self.subTest(kind=kind, smoothing=smoothing, shift=shift, ranks=ranks):
                    words = self.compile(kind, smoothing, shift, ranks, text)
                    losses = self.train(words)
                    loss = lambda numbers: self.loss(numbers, kind, smoothing, shift, WEIGHTS)
                    self.assertAlmostEqual(losses[0], loss(self.numbers), delta=1e-12)
                    after = after_a_step(self.numbers, ["head"], loss)
                    self.assertAlmostEqual(losses[1], after, delta=1e-8)
                    self.certify()
        words = self.compile("bent", 0.25, 0, 2, text)
        words[words.index("--precision") + 1] = "bf16"
        loss = lambda numbers: self.loss(numbers, "bent", 0.25, 0, WEIGHTS)
        self.assertAlmostEqual(self.train(words)[0] / loss(self.numbers), 1, delta=0.03)

    def test_a_plan_that_weighs_otherwise_is_refused(self):
        text = ",class-weights=" + ":".join(str(weight) for weight in WEIGHTS)
        command(*self.compile("linear", 0, 0, 1, text), "-o", self.path("trainer"))

        def of_the_loss(plan):
            plan.loss.class_weights[1] += 1

        def of_the_entries(plan):
            for program in (plan.train, plan.eval):
                for entry in program.entries:
                    if entry.HasField("linear_cross_entropy"):
                        entry.linear_cross_entropy.ClearField("class_weights")

        for change in (of_the_loss, of_the_entries):
            with self.subTest(change.__name__):
                edited_plan.edit(self.path("trainer"), self.path("edited"), change)
                with self.assertRaises(CommandFailed) as raised:
                    command(os.path.join(BUILD, "bin", "shardc-check"), self.path("edited"))
                self.assertIn("weighs the classes otherwise than the loss", str(raised.exception))

    def test_what_are_no_weights(self):
        for wrong, says in (
            ("1:2", f"--loss: expects class-weights to be {CLASSES}, one for each class of"),
            ("1:-2", "a weight of class-weights to be a number of 0 or more, got '-2'"),
            ("1::2", "a weight of class-weights to be a number of 0 or more, got ''"),
            ("0:0", "expects a weight of class-weights to be above 0, got '0:0'"),
        ):
            words = self.compile("linear", 0, 0, 1, ",class-weights=" + wrong)
            with self.assertRaises(CommandFailed) as raised:
                command(*words, "-o", self.path("trainer"))
            self.assertIn(says, str(raised.exception))

    def test_16_bits(self):
        for kind in ("linear", "bent"):
            for precision, bound in (("bf16", 0.03), ("float16", 0.004)):
                with self.subTest(kind=kind, precision=precision):
                    words = self.compile(kind, 0.2, 0, 2)
                    words[words.index("--precision") + 1] = precision
                    loss = lambda numbers: self.loss(numbers, kind, 0.2, 0)
                    losses = self.train(words)
                    self.assertAlmostEqual(losses[0] / loss(self.numbers), 1, delta=bound)
                    after = after_a_step(self.numbers, ["head"], loss)
                    self.assertAlmostEqual(losses[1] / after, 1, delta=2 * bound)

    def test_evaluations_have_the_same_loss(self):
        self.evaluate(0.3, "", None)

    def test_evaluations_weigh_classes(self):
        self.evaluate(0, ",class-weights=" + ":".join(map(str, WEIGHTS)), WEIGHTS)

    def evaluate(self, smoothing, text, weights):
        words = self.compile("linear", smoothing, 0, 1, text)
        command(*words, "-o", self.path("trainer"))
        data, metrics = [], self.path("metrics.jsonl")
        for name in "xt":
            np.save(self.path(f"{name}.npy"), self.numbers[name])
            data += ["--data", f"{name}={self.path(name)}.npy"]
            data += ["--eval-data", f"{name}={self.path(name)}.npy"]
        told = ["--steps", "1", "--eval-every", "1", "--lr", "1", "--metrics", metrics]
        command(self.path("trainer"), *told, *data)
        first = [event for event in read_metrics(metrics)[1] if event["event"] == "eval"][0]
        self.assertAlmostEqual(
            first["loss"], self.loss(self.numbers, "linear", smoothing, 0, weights), delta=1e-12
        )
        self.assertEqual("perplexity" in first, weights is None)

    def test_no_part_of_a_label(self):
        for wrong in ("1.5", "-0.1", "nan", "some"):
            words = self.compile("linear", wrong, 0, 1)
            with self.assertRaises(CommandFailed) as raised:
                command(*words, "-o", self.path("trainer"))
            self.assertIn(
                f"--loss: expects label-smoothing to be a number from 0 to 1, got '{wrong}'",
                str(raised.exception),
            )


if __name__ == "__main__":
    unittest.main()
