"""Dropout and drop path as exporters write them: uniform numbers, what is made of them, and the
masks of docs/randomness.md that this has to be, on every mesh."""
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from dropout_masks import masks
from drawn_runs import GLOBAL, HIDDEN, LENGTH, OUT, RATE, SEED, DrawnRuns, initial, written
from emulated_cuda import emulated
from reference import CommandFailed, read_metrics

STEPS = 3
KEPT = {"path": 0.8, "dropped": 0.7, "columns": 0.6, "chosen": 0.75}


def model(kind=np.float64, changes=()):
    """timm's and transformers' drop path, torch's decomposed dropout, Bernoulli, and a choice."""
    dtype = {np.float64: TensorProto.DOUBLE, np.float32: TensorProto.FLOAT}[kind]
    node, values = helper.make_node, {**initial(), **KEPT}
    values = [numpy_helper.from_array(np.asarray(v, kind), n) for n, v in values.items()]
    columns = numpy_helper.from_array(np.full(HIDDEN, KEPT["columns"], kind), "p")
    values.append(numpy_helper.from_array(np.array([1, 2]), "axes"))
    values.append(numpy_helper.from_array(np.asarray(0.25, kind), "least"))
    values.append(numpy_helper.from_array(np.asarray(0, kind), "zero"))
    nodes = [
        node("MatMul", ["x", "w0"], ["h"]),
        node("ReduceMean", ["x", "axes"], ["each"], keepdims=1),
        node("RandomUniformLike", ["each"], ["r0"], name="first"),
        node("Add", ["path", "r0"], ["moved"]),
        node("Floor", ["moved"], ["whole"]),
        node("Div", ["h", "path"], ["more"]),
        node("Mul", ["more", "whole"], ["d"]),
        node("Tanh", ["d"], ["a"]),
        node("RandomUniformLike", ["a"], ["r1"], dtype=TensorProto.FLOAT),
        node("CastLike", ["dropped", "r1"], ["bound"]),
        node("Less", ["r1", "bound"], ["below"]),
        node("CastLike", ["below", "a"], ["sampled"]),
        node("Div", ["sampled", "dropped"], ["noise"]),
        node("Mul", ["a", "noise"], ["b"]),
        node("Constant", [], ["p"], value=columns),
        node("Bernoulli", ["p"], ["drawn"]),
        node("Div", ["drawn", "columns"], ["scales"]),
        node("Mul", ["b", "scales"], ["c"]),
        node("RandomUniformLike", ["a"], ["r3"], low=-1.0, high=1.0),
        node("Div", ["r3", "two"], ["half"]),
        node("Sub", ["middle", "half"], ["turned"]),  # uniform in (0, 1]
        node("Greater", ["turned", "least"], ["is"]),
        node("Where", ["is", "c", "zero"], ["e"]),
        node("Not", ["is"], ["not"]),
        node("Cast", ["not"], ["number"], to=TensorProto.INT64),
        node("Cast", ["number"], ["gone"], to=dtype),
        node("ReduceMean", ["gone"], ["share"], keepdims=0),
        node("MatMul", ["e", "w1"], ["y"]),
        node("Mul", ["y", "y"], ["square"]),
        node("ReduceMean", ["square"], ["mean"], keepdims=0),
        node("Add", ["mean", "share"], ["loss"]),
    ]
    values.append(numpy_helper.from_array(np.asarray(2, kind), "two"))
    values.append(numpy_helper.from_array(np.asarray(0.5, kind), "middle"))
    return written(nodes, values, dtype, 18, changes)


def drawn(step):
    rates = {name: round(1 - kept, 6) for name, kept in KEPT.items()}
    samples = range(GLOBAL)
    whole = (LENGTH, HIDDEN)
    return (
        masks(SEED, step, 0, rates["path"], samples, (1, 1)),
        masks(SEED, step, 1, rates["dropped"], samples, whole),
        masks(SEED, step, 2, rates["columns"], None, (HIDDEN,)),
        masks(SEED, step, 3, rates["chosen"], samples, whole) * KEPT["chosen"],
    )


def losses_and_parameters(x, steps=STEPS, off=False):
    """By plain gradient descent."""
    values, losses = initial(), []
    for step in range(steps):
        rows = x[step * GLOBAL : (step + 1) * GLOBAL]
        path, dropped, columns, chosen = (1, 1, 1, np.ones(1)) if off else drawn(step)
        a = np.tanh(rows @ values["w0"] * path)
        # Evaluations have the probability of what a Where keeps or makes zero.
        part = KEPT["chosen"] if off else chosen
        v = a * dropped * columns * part
        y = v @ values["w1"]
        losses.append((y * y).mean() + 1 - chosen.mean())
        dy = 2 * y / y.size
        da = dy @ values["w1"].T * dropped * columns * part
        dw1 = np.einsum("bsh,bso->ho", v, dy)
        dw0 = np.einsum("bsf,bsh->fh", rows, da * (1 - a * a) * path)
        values = {"w0": values["w0"] - RATE * dw0, "w1": values["w1"] - RATE * dw1}
    return losses, values


class DrawnNumbers(DrawnRuns):
    STEPS = STEPS

    def setUp(self):
        super().setUp()
        self.write(model())

    def test_every_mesh_draws_the_masks(self):
        want = losses_and_parameters(self.x)
        for mesh in ("1", "2", "4", "2x2"):
            with self.subTest(mesh=mesh):
                self.compile(mesh)
                self.agrees(self.train(), want)

    def test_evaluations_and_runs_without_dropout_drop_nothing(self):
        self.compile("2")
        np.save(self.path("e.npy"), self.x[:GLOBAL])
        self.train("--eval-data", f"x={self.path('e.npy')}", "--eval-every", 1, steps=1)
        events = read_metrics(self.path("m.jsonl"))[1]
        (before,) = [event["loss"] for event in events if event["event"] == "eval"][:1]
        want = losses_and_parameters(self.x, off=True)
        self.assertAlmostEqual(before, want[0][0], 12)
        self.agrees(self.train("--dropout", "off"), want)

    def test_a_gpu_draws_them(self):
        self.write(model(np.float32))
        np.save(self.path("x.npy"), self.x.astype(np.float32))
        self.compile("2", "--target", "cuda", precision="float32")
        with emulated():
            self.agrees(self.train(), losses_and_parameters(self.x), 1e-5)

    def test_an_event_that_is_sure_is_a_constant(self):
        sure = helper.make_node("Less", ["r1", "one"], ["below"])
        one = helper.make_node("Constant", [], ["one"], value_float=1.5)
        self.write(model(changes=[("below", [one, sure])]))
        self.compile()
        got, want = self.train(steps=1)[0][0], losses_and_parameters(self.x, 1)[0][0]
        self.assertNotAlmostEqual(got, want, 6)

    def test_what_is_made_of_them_otherwise_is_refused(self):
        """What is made of numbers that make a mask, too, and is needed as the mask is."""
        node, to = helper.make_node, TensorProto.DOUBLE
        mask = node("Mul", ["more", "whole"], ["masked"])
        for at, other, said in (
            (
                "b",
                [
                    node("Mul", ["a", "noise"], ["masked"]),
                    node("Cast", ["r1"], ["numbers"], to=to),
                    node("Mul", ["masked", "numbers"], ["b"]),
                ],
                "supported is one or the other",
            ),
            (
                "d",
                [mask, node("Exp", ["r0"], ["power"]), node("Mul", ["masked", "power"], ["d"])],
                "supported is one or the other",
            ),
            (
                "d",
                [
                    mask,
                    node("Cast", ["r0"], ["counted"], to=TensorProto.INT64),
                    node("Cast", ["counted"], ["numbers"], to=to),
                    node("Mul", ["masked", "numbers"], ["d"]),
                ],
                "one or the other",
            ),
            (
                "e",
                [
                    node("Less", ["r3", "least"], ["is2"]),
                    node("Where", ["is2", "c", "zero"], ["e"]),
                ],
                "another number",
            ),
            ("loss", [node("Identity", ["below"], ["loss"])], "output 'loss' is a mask"),
            ("r1", [node("RandomUniformLike", ["a"], ["r1"], dtype=TensorProto.INT64)], "floats"),
        ):
            with self.subTest(said), self.assertRaisesRegex(CommandFailed, said):
                self.write(model(changes=[(at, other)]))
                self.compile()


if __name__ == "__main__":
    unittest.main()
