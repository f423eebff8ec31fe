"""Dropout draws the masks of docs/randomness.md, computed here in numpy, on every mesh, with every
strategy, policy and number of micro-batches; evaluations and `--dropout off` drop nothing."""
import os
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from dropout_masks import masks, threefry2x32
from drawn_runs import GLOBAL, HIDDEN, LENGTH, OUT, RATE, SEED, DrawnRuns, initial, written
from reference import BUILD, CommandFailed, command, read_metrics

STEPS = DrawnRuns.STEPS
RATES = {"hidden": 0.3, "turned": 0.1, "weight": 0.2}
MESHES = (
    ("1", "full"),
    ("2", "full"),
    ("2", "grad_op"),
    ("4", "full"),
    ("4", "opt"),
    ("4", "none"),
    ("2x2", "full"),
    ("2x2", "hybrid"),
)


def model(rates, dtype=TensorProto.DOUBLE, mask_output=False):
    """A dropout whose samples are the first dim, one whose samples are the second, and one of a
    parameter."""
    kind = {TensorProto.DOUBLE: np.float64, TensorProto.FLOAT: np.float32}[dtype]
    values = [numpy_helper.from_array(v.astype(kind), n) for n, v in initial().items()]
    values.append(numpy_helper.from_array(np.array(True), "training"))
    for name, rate in rates.items():
        values.append(numpy_helper.from_array(np.float32(rate), f"{name}.ratio"))

    def dropout(name, given, result):
        outputs = [result, f"{name}.mask"] if mask_output else [result]
        return helper.make_node("Dropout", [given, f"{name}.ratio", "training"], outputs, name=name)

    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["h"]),
        dropout("hidden", "h", "d"),
        helper.make_node("Tanh", ["d"], ["a"]),
        helper.make_node("Transpose", ["a"], ["t"], perm=[1, 0, 2]),
        dropout("turned", "t", "u"),
        helper.make_node("Transpose", ["u"], ["v"], perm=[1, 0, 2]),
        dropout("weight", "w1", "w"),
        helper.make_node("MatMul", ["v", "w"], ["y"]),
        helper.make_node("Mul", ["y", "y"], ["square"]),
    ]
    last = "square"
    if mask_output:
        # Sums what the first mask kept, which has no gradient.
        nodes.append(helper.make_node("Cast", ["hidden.mask"], ["kept"], to=dtype))
        axes = numpy_helper.from_array(np.array([2]), "axes")
        values.append(axes)
        nodes.append(helper.make_node("ReduceMean", ["kept", "axes"], ["share"]))
        nodes.append(helper.make_node("Add", ["square", "share"], ["both"]))
        last = "both"
    nodes.append(helper.make_node("ReduceMean", [last], ["loss"], keepdims=0))
    return written(nodes, values, dtype, 18)


def drawn(step, rates):
    samples = range(GLOBAL)
    return (
        masks(SEED, step, 0, rates["hidden"], samples, (LENGTH, HIDDEN)),
        masks(SEED, step, 1, rates["turned"], samples, (LENGTH, HIDDEN), axis=1),
        masks(SEED, step, 2, rates["weight"], None, (HIDDEN, OUT)),
    )


def losses_and_parameters(x, rates, steps=STEPS):
    """By plain gradient descent."""
    values, losses = initial(), []
    for step in range(steps):
        rows = x[step * GLOBAL : (step + 1) * GLOBAL]
        hidden, turned, weight = drawn(step, rates)
        a = np.tanh(rows @ values["w0"] * hidden)
        v = a * turned.transpose(1, 0, 2)
        y = v @ (values["w1"] * weight)
        losses.append((y * y).mean())
        dy = 2 * y / y.size
        dw1 = np.einsum("bsh,bso->ho", v, dy) * weight
        da = dy @ (values["w1"] * weight).T * turned.transpose(1, 0, 2)
        dw0 = np.einsum("bsf,bsh->fh", rows, da * (1 - a * a) * hidden)
        values = {"w0": values["w0"] - RATE * dw0, "w1": values["w1"] - RATE * dw1}
    return losses, values


class DropoutTest(DrawnRuns):
    def setUp(self):
        super().setUp()
        self.write(model(RATES))

    def test_the_generator_is_threefry(self):
        # Random123's known answers, of its file kat_vectors.
        ones = (1 << 32) - 1
        for key, counter, words in (
            ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
            ((ones, ones), (ones, ones), (0x1CB996FC, 0xBB002BE7)),
            ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
        ):
            self.assertEqual(tuple(map(int, threefry2x32(key, counter))), words)

    def test_a_share_is_kept_as_the_rate_says(self):
        for rate in (0.1, 0.5, 0.9):
            mask = masks(1, 2, 3, rate, range(100), (10_000,))
            kept, count = (mask != 0).mean(), mask.size
            self.assertLess(abs(kept - (1 - rate)), 4 * np.sqrt(rate * (1 - rate) / count))
            self.assertLess(abs(mask.mean() - 1), 4 * np.sqrt(rate / (1 - rate) / count))

    def test_every_mesh_and_strategy_draws_the_masks(self):
        want, alone = losses_and_parameters(self.x, RATES), {}
        for mesh, strategy in MESHES:
            with self.subTest(mesh=mesh, strategy=strategy):
                micro = 4 // int(np.prod([int(size) for size in mesh.split("x")]))
                kind = "hybrid" if strategy.startswith("hybrid") else "others"
                flags = ("--strategy", strategy, "--accumulate", "sharded")
                check = ((), ()) if kind == "hybrid" else (("--checkable",), ("--check", 2))
                self.compile(mesh, *flags, *check[0], micro=micro)
                got = self.train("--grad-accumulation", micro, *check[1])
                self.agrees(got, want)
                np.testing.assert_array_equal(got[1]["w0"], alone.setdefault(kind, got)[1]["w0"])

    def test_recomputation_draws_them_again(self):
        want = None
        for policy in ("none", "cheap", "all", "unit"):
            self.compile("2", "--remat", policy)
            got = self.train()
            want = want or got
            self.assertEqual(got[0], want[0], policy)
            np.testing.assert_array_equal(got[1]["w0"], want[1]["w0"], policy)
        self.agrees(want, losses_and_parameters(self.x, RATES))

    def test_other_steps_and_seeds_draw_others(self):
        self.compile()
        first = self.train()
        self.assertEqual(first[0], self.train()[0])
        self.assertNotEqual(first[0], self.train(seed=8)[0])

    def test_a_run_goes_on_with_its_masks(self):
        self.compile("2")
        self.train("--checkpoint-dir", self.path("c"), "--checkpoint-every", 2, steps=2)
        got = self.train("--checkpoint-dir", self.path("c"), "--resume", "auto")
        want = losses_and_parameters(self.x, RATES)
        self.agrees((got[0][-2:], got[1]), (want[0][2:], want[1]))
        with self.assertRaisesRegex(CommandFailed, "--seed 7, and this one with --seed 8"):
            self.train("--checkpoint-dir", self.path("c"), "--resume", "auto", steps=6, seed=8)

    def test_rates_of_a_run(self):
        self.compile()
        off = {name: 0 for name in RATES}
        self.agrees(self.train("--dropout", "off"), losses_and_parameters(self.x, off))
        other = {**RATES, "turned": 0.5, "weight": 0}
        flags = ("--dropout-rate", "match=^turned$,p=0.5", "--dropout-rate", "match=weight,p=0")
        self.agrees(self.train(*flags), losses_and_parameters(self.x, other))
        one = self.train("--dropout", "off", "--dropout-rate", "match=hidden,p=1")
        self.assertEqual(one[0], [0] * STEPS)
        with self.assertRaisesRegex(
            CommandFailed, "match=nowhere is found in the name of no dropout; .* 'hidden'"
        ):
            self.train("--dropout-rate", "match=nowhere,p=0.5")
        for rate in ("match=a", "p=0.5", "match=a,p=2", "match=a,p=nan", "match=(,p=0"):
            with self.assertRaisesRegex(CommandFailed, "--dropout-rate"):
                self.train("--dropout-rate", rate)

    def test_evaluations_drop_nothing(self):
        self.compile("2")
        np.save(self.path("e.npy"), self.x[:GLOBAL])
        flags = ("--eval-data", f"x={self.path('e.npy')}", "--eval-every", 1)
        self.train(*flags, steps=1)
        (before, after) = [
            event["loss"]
            for event in read_metrics(self.path("m.jsonl"))[1]
            if event["event"] == "eval"
        ][:2]
        off = {name: 0 for name in RATES}
        self.assertAlmostEqual(before, losses_and_parameters(self.x, off, 1)[0][0], 12)
        self.assertNotAlmostEqual(before, after, 6)

    def test_the_mask_is_an_output(self):
        self.write(model(RATES, mask_output=True))
        self.compile()
        got, want = self.train(steps=1)[0][0], losses_and_parameters(self.x, RATES, 1)[0][0]
        kept = (drawn(0, RATES)[0] != 0).mean()
        self.assertAlmostEqual(got, want + kept, 12)

    def test_what_draws_nothing_refuses_the_flags(self):
        self.write(model({name: 0 for name in RATES}))
        self.compile()
        for flag in (("--dropout", "off"), ("--dropout-rate", "match=a,p=0.5")):
            with self.assertRaisesRegex(CommandFailed, "this trainer drops nothing"):
                self.train(*flag)

    def test_the_checker_compares_a_residual_behind_a_dropout(self):
        """In an evaluation a GPU's product adds the residual itself."""
        numbers = {n: v.astype(np.float32) for n, v in initial().items()}
        numbers |= {"w2": np.eye(HIDDEN, dtype=np.float32), "ratio": np.float32(0.5)}
        values = [numpy_helper.from_array(np.asarray(v), n) for n, v in numbers.items()]
        values.append(numpy_helper.from_array(np.array(True), "training"))
        nodes = [
            helper.make_node("MatMul", ["x", "w0"], ["h"]),
            helper.make_node("MatMul", ["h", "w2"], ["p"]),
            helper.make_node("Dropout", ["p", "ratio", "training"], ["d"]),
            helper.make_node("Add", ["h", "d"], ["r"]),
            helper.make_node("MatMul", ["r", "w1"], ["y"]),
            helper.make_node("Mul", ["y", "y"], ["square"]),
            helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0),
        ]
        self.write(written(nodes, values, TensorProto.FLOAT, 17))
        for target in ("cpu", "cuda:sm_90"):
            with self.subTest(target=target):
                self.compile("2", "--target", target, precision="float32")
                check = os.path.join(BUILD, "bin", "shardc-check")
                command(check, self.path("m.trainer"), self.path("m.onnx"))

    def test_a_gpu_draws_them(self):
        want = losses_and_parameters(self.x, RATES)
        self.agrees_on_gpus(model(RATES, TensorProto.FLOAT), want)


if __name__ == "__main__":
    unittest.main()
