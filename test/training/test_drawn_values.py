"""Numbers that a model draws and uses as they are (noise, reparametrization, sampled masks): those
of docs/randomness.md, on every mesh, in evaluations too."""
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from drawn_runs import FEATURES, GLOBAL, HIDDEN, LENGTH, RATE, SEED, DrawnRuns, initial, written
from dropout_masks import EVALUATION, numbers
from emulated_cuda import emulated
from reference import CommandFailed, command, read_metrics

STEPS = 3
MEAN, SCALE, LOW, HIGH = 0.25, 0.5, -0.5, 1.5


def model(kind=np.float64, changes=()):
    """Noise on activations, transposed; a uniform scale; a mask of learned probabilities; noise of
    a weight; a threshold that is drawn; and a number in the place of one element of four."""
    dtype = {np.float64: TensorProto.DOUBLE, np.float32: TensorProto.FLOAT}[kind]
    node = helper.make_node
    values = [numpy_helper.from_array(np.asarray(v, kind), n) for n, v in initial().items()]
    values.append(numpy_helper.from_array(np.asarray(0.1, kind), "tenth"))
    values.append(numpy_helper.from_array(np.asarray(0.25, kind), "quarter"))
    nodes = [
        node("MatMul", ["x", "w0"], ["h"]),
        node("Transpose", ["h"], ["t"], perm=[1, 0, 2]),
        node("RandomNormalLike", ["t"], ["noise"], mean=MEAN, scale=SCALE, name="noise"),
        node("Add", ["t", "noise"], ["u"]),
        node("Transpose", ["u"], ["back"], perm=[1, 0, 2]),
        node("Tanh", ["back"], ["a"]),
        node("RandomUniformLike", ["a"], ["factors"], low=LOW, high=HIGH),
        node("Mul", ["a", "factors"], ["b"]),
        node("Sigmoid", ["h"], ["p"]),
        node("Bernoulli", ["p"], ["chosen"]),
        node("Mul", ["b", "chosen"], ["c"]),
        node("RandomNormal", [], ["of weights"], shape=[HIDDEN], dtype=dtype),
        node("Mul", ["of weights", "tenth"], ["small"]),
        node("Add", ["c", "small"], ["d"]),
        node("RandomUniformLike", ["x"], ["bounds"]),
        node("Less", ["bounds", "x"], ["is less"]),
        node("Cast", ["is less"], ["less"], to=dtype),
        node("ReduceMean", ["less"], ["share"], keepdims=0),
        node("RandomUniformLike", ["d"], ["luck"]),
        node("GreaterOrEqual", ["luck", "quarter"], ["stays"]),
        node("Where", ["stays", "d", "tenth"], ["e"]),
        node("MatMul", ["e", "w1"], ["y"]),
        node("Mul", ["y", "y"], ["square"]),
        node("ReduceMean", ["square"], ["mean"], keepdims=0),
        node("Add", ["mean", "share"], ["loss"]),
    ]
    return written(nodes, values, dtype, 17, changes)


def forward(rows, values, step, first=0):
    samples, whole = range(first, first + len(rows)), (LENGTH, HIDDEN)
    draw = lambda site, *rest, **more: numbers(SEED, step, site, *rest, **more)
    h = rows @ values["w0"]
    a = np.tanh(h + MEAN + SCALE * draw(0, samples, whole, normal=True))
    factors = LOW + (HIGH - LOW) * draw(1, samples, whole)
    chosen = draw(2, samples, whole) < 1 / (1 + np.exp(-h))
    v = a * factors * chosen + 0.1 * draw(3, None, (HIDDEN,), normal=True)
    share = (draw(4, samples, (LENGTH, FEATURES)) < rows).mean()
    stays = draw(5, samples, whole) >= 0.25
    return a, factors * chosen * stays, np.where(stays, v, 0.1), share


def losses_and_parameters(x, steps=STEPS):
    """By plain gradient descent."""
    values, losses = initial(), []
    for step in range(steps):
        rows = x[step * GLOBAL : (step + 1) * GLOBAL]
        a, factors, v, share = forward(rows, values, step)
        y = v @ values["w1"]
        losses.append((y * y).mean() + share)
        dy = 2 * y / y.size
        da = dy @ values["w1"].T * factors * (1 - a * a)
        dw1, dw0 = np.einsum("bsh,bso->ho", v, dy), np.einsum("bsf,bsh->fh", rows, da)
        values = {"w0": values["w0"] - RATE * dw0, "w1": values["w1"] - RATE * dw1}
    return losses, values


class DrawnValues(DrawnRuns):
    STEPS = STEPS

    def setUp(self):
        super().setUp()
        self.write(model())

    def test_every_mesh_and_strategy_draws_the_numbers(self):
        want = losses_and_parameters(self.x)
        for mesh, flags in (
            ("1", ()),
            ("2", ()),
            ("4", ("--strategy", "none")),
            ("2x2", ("--remat", "none")),
            ("2", ("--remat", "unit")),
        ):
            with self.subTest(mesh=mesh, flags=flags):
                self.compile(mesh, *flags)
                self.agrees(self.train(), want)

    def test_micro_batches_draw_them(self):
        self.compile("2", micro=2)
        self.agrees(self.train("--grad-accumulation", 2), losses_and_parameters(self.x))

    def test_they_are_normal_and_uniform(self):
        drawn = numbers(1, 2, 3, range(64), (1024,), normal=True)
        self.assertLess(abs(drawn.mean()), 4 / 256)
        self.assertLess(abs((drawn**2).mean() - 1), 4 * 2**0.5 / 256)
        self.assertLess(abs((drawn**4).mean() - 3), 4 * 96**0.5 / 256)
        drawn = numbers(1, 2, 3, range(64), (1024,))
        self.assertLess(abs(drawn.mean() - 0.5), 4 * 12**-0.5 / 256)
        self.assertLess(abs((drawn**2).mean() - 1 / 3), 4 * (4 / 45) ** 0.5 / 256)

    def test_every_evaluation_draws_the_same(self):
        self.compile("2")
        held = np.random.default_rng(4).standard_normal((2 * GLOBAL, LENGTH, FEATURES))
        np.save(self.path("e.npy"), held)
        self.train("--eval-data", f"x={self.path('e.npy')}", "--eval-every", 1)
        events = [e for e in read_metrics(self.path("m.jsonl"))[1] if e["event"] == "eval"]
        self.assertEqual(len(events), STEPS + 1)
        for step, event in enumerate(events):
            values, want = losses_and_parameters(self.x, step)[1], []
            for first in (0, GLOBAL):
                *_, v, share = forward(held[first : first + GLOBAL], values, EVALUATION, first)
                want.append(((v @ values["w1"]) ** 2).mean() + share)
            self.assertAlmostEqual(event["loss"], np.mean(want), 12)

    def test_a_gpu_draws_them(self):
        self.write(model(np.float32))
        np.save(self.path("x.npy"), self.x.astype(np.float32))
        self.compile("2", "--target", "cuda", precision="float32")
        x = self.x.astype(np.float32).astype(np.float64)
        with emulated():
            self.agrees(self.train(), losses_and_parameters(x), 1e-5)

    def test_a_run_says_what_it_draws(self):
        self.compile()
        words = ("--data", f"x={self.path('x.npy')}", "--lr", 1, "--dry-run")
        said = command(self.path("m.trainer"), *words).stdout
        self.assertIn("numbers at 6 sites, drawn from --seed 0", said)
        with self.assertRaisesRegex(CommandFailed, "--dropout has no effect"):
            command(self.path("m.trainer"), *words, "--dropout", "off")

    def test_a_site_is_of_masks_or_of_numbers(self):
        node = helper.make_node
        both = [
            node("Greater", ["factors", "tenth"], ["is"]),
            node("CastLike", ["is", "a"], ["mask"]),
            node("Mul", ["a", "mask"], ["kept"]),
            node("Mul", ["kept", "factors"], ["b"]),
        ]
        self.write(model(changes=[("b", both)]))
        with self.assertRaisesRegex(CommandFailed, "supported is one or the other"):
            self.compile()
        values_first = [node("Mul", ["a", "factors"], ["b0"]), *both[:3]]
        values_first.append(node("Mul", ["b0", "kept"], ["b"]))
        self.write(model(changes=[("b", values_first)]))
        self.compile()
        self.train(steps=1)


if __name__ == "__main__":
    unittest.main()
