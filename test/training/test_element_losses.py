"""Losses that --loss attaches to an output and a target of its shape, against numpy: the loss, a
step's gradients by central differences, and evaluations, on any mesh."""
import unittest

import numpy as np

import test_softcaps
from reference import CommandFailed, command, read_metrics
from test_softcaps import BATCH, CLASSES, HEADS, LENGTH, SIZE, after_a_step, node


def softplus(x):
    return np.logaddexp(0, x)


def huber(d, delta):
    d = np.abs(d)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


WEIGHTS = np.array([0.5, 2, 1, 0, 3, 1, 1.5, 1, 0.25, 1, 4])


def words(weights):
    return ":".join(f"{weight:g}" for weight in weights)


def soft(o, t, smoothing, weights):
    return -(weights * ((1 - smoothing) * t + smoothing / CLASSES) * log_softmax(o)).sum(-1)


# A part that float32 has, as it has that of each class.
SMOOTHED = f"label-smoothing=0.34375,class-weights={words(WEIGHTS)}"

# What --loss says, and of the output and the target the values whose mean it is.
LOSSES = {
    "mse:output=y,target=t": lambda o, t: (o - t) ** 2,
    "l1:output=y,target=t": lambda o, t: np.abs(o - t),
    "huber:output=y,target=t": lambda o, t: huber(o - t, 1),
    "huber:output=y,target=t,delta=0.5": lambda o, t: huber(o - t, 0.5),
    "smooth-l1:output=y,target=t,beta=0.25": lambda o, t: huber(o - t, 0.25) / 0.25,
    "smooth-l1:output=y,target=t,beta=0": lambda o, t: np.abs(o - t),
    "binary-cross-entropy:logits=y,target=t": lambda o, t: t * softplus(-o) + (1 - t) * softplus(o),
    "binary-cross-entropy:logits=y,target=t,pos-weight=3": lambda o, t: 3 * t * softplus(-o)
    + (1 - t) * softplus(o),
    f"binary-cross-entropy:logits=y,target=t,pos-weight={words(WEIGHTS)}": lambda o, t: WEIGHTS
    * t
    * softplus(-o)
    + (1 - t) * softplus(o),
    "soft-cross-entropy:logits=y,target=t": lambda o, t: -(t * log_softmax(o)).sum(-1),
    f"soft-cross-entropy:logits=y,target=t,{SMOOTHED}": lambda o, t: soft(o, t, 0.34375, WEIGHTS),
}


class ElementLosses(test_softcaps.Trained):
    def setUp(self):
        super().setUp()
        numbers, width = np.random.default_rng(4), HEADS * SIZE
        draw = lambda *shape: numbers.standard_normal(shape).astype(np.float32)
        self.numbers = {
            "x": draw(BATCH, LENGTH, width),
            "t": numbers.random((BATCH, LENGTH, CLASSES)).astype(np.float32),
            "head": draw(width, CLASSES),
        }
        self.save([node("MatMul", ["x", "head"], "y")], CLASSES, ["head"])

    @staticmethod
    def loss(numbers, values):
        x, head, target = (numbers[name].astype(np.float64) for name in ("x", "head", "t"))
        return values(x @ head, target).mean()

    def test_losses_and_gradients(self):
        for flag, values in LOSSES.items():
            for ranks in (1, 2):
                with self.subTest(loss=flag, ranks=ranks):
                    losses = self.train(self.words(flag, ranks))
                    loss = lambda numbers: self.loss(numbers, values)
                    self.assertAlmostEqual(losses[0], loss(self.numbers), delta=1e-12)
                    after = after_a_step(self.numbers, ["head"], loss)
                    self.assertAlmostEqual(losses[1], after, delta=1e-7)

    def test_evaluations(self):
        """Of three samples where a batch has two: the last one is filled up."""
        held = {
            name: np.concatenate([self.numbers[name], self.numbers[name][:1] / 2]) for name in "xt"
        }
        for flag, values in LOSSES.items():
            with self.subTest(loss=flag):
                command(*self.words(flag, 2), "-o", self.path("trainer"))
                words, metrics = [], self.path("metrics.jsonl")
                for name in "xt":
                    np.save(self.path(f"{name}.npy"), self.numbers[name])
                    np.save(self.path(f"{name}.held.npy"), held[name])
                    words += ["--data", f"{name}={self.path(name)}.npy"]
                    words += ["--eval-data", f"{name}={self.path(name)}.held.npy"]
                words += ["--steps", "1", "--eval-every", "1", "--lr", "0", "--metrics", metrics]
                said = command(self.path("trainer"), *words)
                first = [e["loss"] for e in read_metrics(metrics)[1] if e["event"] == "eval"][0]
                wanted = self.loss({**self.numbers, **held}, values)
                self.assertAlmostEqual(first, wanted, delta=1e-12)
                of = "rows" if flag.startswith("soft") else "elements"
                self.assertIn(f", the mean over all {of} of a step\n", said.stdout)

    def test_16_bits(self):
        for flag, values in LOSSES.items():
            with self.subTest(loss=flag):
                words = list(self.words(flag, 2))
                words[words.index("--precision") + 1] = "bf16"
                losses = self.train(words)
                wanted = self.loss(self.numbers, values)
                self.assertAlmostEqual(losses[0] / wanted, 1, delta=0.02)
                self.assertLess(losses[1], losses[0])

    def test_large_logits_are_finite(self):
        self.numbers["head"] *= 1000
        self.numbers["t"] = (self.numbers["t"] > 0.5).astype(np.float32)
        self.save([node("MatMul", ["x", "head"], "y")], CLASSES, ["head"])
        flag = "binary-cross-entropy:logits=y,target=t"
        words = list(self.words(flag, 1))
        words[words.index("--precision") + 1] = "float32"
        losses = self.train(words)
        wanted = self.loss(self.numbers, LOSSES[flag])
        self.assertAlmostEqual(losses[0] / wanted, 1, delta=1e-5)
        self.assertTrue(np.isfinite(losses[1]))

    def test_mistakes(self):
        for flag, text in (
            ("huber:output=y,target=t,delta=0", "expects delta to be a number above 0, got '0'"),
            ("smooth-l1:output=y,target=t,beta=-1", "expects beta to be a number of 0 or more"),
            ("l1:output=y,target=t,beta=1", "unknown key 'beta' of l1"),
            ("binary-cross-entropy:output=y,target=t", "unknown key 'output' of binary-cross"),
            ("soft_cross_entropy:logits=y,target=t", "unknown kind 'soft_cross_entropy'"),
            ("huber:output=y", "huber needs target=NAME"),
            ("binary-cross-entropy:logits=y,target=t,pos-weight=1:2", "pos-weight to be 11, one"),
            ("soft-cross-entropy:logits=y,target=t,class-weights=2", "class-weights to be 11, one"),
            ("mse:output=y,target=t,pos-weight=2", "unknown key 'pos-weight' of mse"),
            ("binary-cross-entropy:logits=y,target=t,pos-weight=-1", "to be a number of 0 or more"),
        ):
            with self.subTest(loss=flag):
                with self.assertRaises(CommandFailed) as raised:
                    command(*self.words(flag, 1), "-o", self.path("trainer"))
                self.assertIn(text, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
