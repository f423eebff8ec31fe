"""Losses that divide by sums over a batch, take roots of them or multiply them: on a mesh they are
those of one process with all samples of a step (`--batch-sums global`), beside numpy's numbers with
gradients by central differences in float64."""
import copy
import json
import os
import unittest

import numpy as np
from onnx import helper, numpy_helper

from batch_sum_forms import ALL, COMMON, CONSTANTS, DOUBLE, FLOAT, FORMS, Form, node, total
from drawn_runs import GLOBAL, RATE, DrawnRuns, initial, written
from emulated_cuda import emulated
from reference import BUILD, SHARDC, CommandFailed, command, read_metrics, read_safetensors

TOLD = "sums over a batch|samples of a batch"


def values_of(dtype):
    return [
        numpy_helper.from_array(
            value.astype(dtype) if value.dtype == np.float64 else value.astype(np.int64), name
        )
        for name, value in {**CONSTANTS, **initial()}.items()
    ]


def content_of(nodes, dtype=DOUBLE):
    nodes = copy.deepcopy([*COMMON, *nodes])
    if dtype == FLOAT:
        for each in nodes:
            for attribute in each.attribute:
                if attribute.name == "to" and attribute.i == DOUBLE:
                    attribute.i = FLOAT
    return written(nodes, values_of(np.float64 if dtype == DOUBLE else np.float32), dtype, 13)


def loss_of(form, x, w0, w1):
    o = np.tanh(x @ w0) @ w1
    return form.whole(o, (x[:, :, :1] > 0.4).astype(np.float64), o * o)


def slope_of(value, evaluate):
    """Central differences of a function of a matrix that is changed in place."""
    slope, step = np.zeros_like(value), 1e-5
    for at in np.ndindex(value.shape):
        kept = value[at]
        value[at] = kept + step
        above = evaluate()
        value[at] = kept - step
        slope[at] = (above - evaluate()) / (2 * step)
        value[at] = kept
    return slope


def descent(form, x, steps):
    """Plain gradient descent of one process."""
    weights, losses = initial(), []
    for step in range(steps):
        batch = x[step * GLOBAL : (step + 1) * GLOBAL]
        evaluate = lambda: loss_of(form, batch, **weights)
        losses.append(evaluate())
        slopes = {name: slope_of(value, evaluate) for name, value in weights.items()}
        for name, slope in slopes.items():
            weights[name] = weights[name] - RATE * slope
    return losses, weights


class BatchSums(DrawnRuns):
    STEPS = 2

    def said(self, mesh, *flags, **rest):
        """What the compiler says."""
        ranks = int(np.prod([int(size) for size in mesh.split("x")]))
        words = ["--mesh", mesh, "--optimizer", "sgd", "--units", "size:1kB", *flags]
        words += ["--precision", rest.get("precision", "float64")]
        words += ["--dim", f"batch={GLOBAL // ranks // rest.get('micro', 1)}"]
        return command(SHARDC, self.path("m.onnx"), "-o", self.path("m.trainer"), *words).stderr

    def train(self, *flags, steps=None):
        words = ["--data", f"x={self.path('x.npy')}", "--lr", RATE, "--steps", steps or self.STEPS]
        words += ["--export-safetensors", self.path("p.safetensors")]
        if os.path.exists(self.path("m.jsonl")):
            os.remove(self.path("m.jsonl"))
        command(self.path("m.trainer"), *words, "--metrics", self.path("m.jsonl"), *flags)
        losses = [step["loss"] for step in read_metrics(self.path("m.jsonl"))[0]]
        return losses, read_safetensors(self.path("p.safetensors"))

    def check(self, form):
        self.write(content_of(form.nodes))
        want = descent(form, self.x, self.STEPS)
        for mesh in ("1", "2", "2x2", "8"):
            with self.subTest(mesh):
                said = self.said(mesh, "--remarks", "nn-sum-over-ranks")
                self.assertNotRegex(said, TOLD)
                self.assertEqual(
                    said.count("is that of all ranks"), form.sums if mesh != "1" else 0
                )
                self.agrees(self.train(), want, 1e-7)

    def test_without_global_sums_ranks_have_their_own(self):
        form = FORMS["masked mean"]
        self.write(content_of(form.nodes))
        said = self.said("2", "--batch-sums", "rank")
        self.assertIn("with --batch-sums rank they are those of a rank's own samples", said)
        self.assertIn("(and 1 more such nodes)", said)
        halves = np.split(self.x[:GLOBAL], 2)
        own = np.mean([loss_of(form, half, **initial()) for half in halves])
        self.assertNotAlmostEqual(own, loss_of(form, self.x[:GLOBAL], **initial()), 4)
        self.assertAlmostEqual(self.train(steps=1)[0][0], own, 12)

    def test_micro_batches_have_their_own(self):
        form = FORMS["masked mean"]
        self.write(content_of(form.nodes))
        for mesh in ("1", "2"):
            self.said(mesh, micro=2)
            parts = np.split(self.x[:GLOBAL], 2)
            want = np.mean([loss_of(form, part, **initial()) for part in parts])
            losses, _ = self.train("--grad-accumulation", 2, steps=1)
            self.assertAlmostEqual(losses[0], want, 12)

    def test_strategies_and_schedules_agree(self):
        form = FORMS["distances from the mean"]
        self.write(content_of(form.nodes))
        want = descent(form, self.x, self.STEPS)
        for flags in (
            ("--strategy", "none"),
            ("--strategy", "opt"),
            ("--strategy", "grad_op"),
            ("--remat", "all"),
            ("--remat", "none"),
        ):
            with self.subTest(flags):
                self.said("4", *flags)
                self.agrees(self.train(), want, 1e-7)

    def test_16_bits(self):
        form = FORMS["masked mean"]
        self.write(content_of(form.nodes, FLOAT))
        np.save(self.path("x.npy"), self.x.astype(np.float32))
        want = descent(form, self.x, self.STEPS)
        for precision in ("float32", "bf16"):
            self.said("2", precision=precision)
            losses, _ = self.train()
            np.testing.assert_allclose(
                losses, want[0], rtol=1e-5 if precision == "float32" else 2e-2
            )

    def test_gpus(self):
        for name in ("masked mean", "clamped count", "distances from the mean"):
            form = FORMS[name]
            with self.subTest(name):
                self.write(content_of(form.nodes, FLOAT))
                np.save(self.path("x.npy"), self.x.astype(np.float32))
                want = descent(form, self.x, self.STEPS)
                self.said("2", "--target", "cuda", precision="float32")
                with emulated():
                    self.agrees(self.train(), want, 1e-4)

    def test_evaluations_have_them(self):
        form = FORMS["masked mean"]
        self.write(content_of(form.nodes))
        self.said("2")
        x = self.x[:GLOBAL]
        np.save(self.path("held.npy"), x)
        self.train("--eval-data", f"x={self.path('held.npy')}", "--eval-every", 1, steps=1)
        with open(self.path("m.jsonl"), encoding="utf-8") as file:
            held = [json.loads(line) for line in file if '"eval"' in line]
        self.assertAlmostEqual(held[0]["loss"], loss_of(form, x, **initial()), 12)

    def test_plans_are_certified(self):
        form = FORMS["distances from the mean"]
        self.write(content_of(form.nodes))
        check = f"{BUILD}/bin/shardc-check"
        self.said("2x2", "--strategy", "none", "--remat", "none")
        command("cp", self.path("m.trainer"), self.path("r"))
        self.said("2x2")
        said = command(check, self.path("m.trainer"), "--reference", self.path("r")).stdout
        self.assertIn("results are the reference's expressions", said)
        with self.assertRaisesRegex(CommandFailed, "--checkable: .*--batch-sums rank"):
            self.said("2", "--checkable")

    def test_numbers_of_a_batch_beside_a_sum_are_told(self):
        """(n - c) / c: n would have to be all ranks', too; the ranks' own quotients are a loss."""
        nodes = [
            total("mask", "c", *ALL),
            node("Size", "first", "n"),
            node("Cast", "n", "n1", to=DOUBLE),
            node("Sub", "n1 c", "others"),
            node("Div", "others c", "weight"),
            node("Mul", "masked weight", "weighted"),
            total("weighted", "loss", *ALL, mean=True),
        ]
        form = Form(nodes, lambda o, m, l: (l * m * (m.size - m.sum()) / m.sum()).mean())
        self.write(content_of(nodes))
        self.assertIn("in ways that were not followed to all samples", self.said("2"))
        halves = np.split(self.x[:GLOBAL], 2)
        own = np.mean([loss_of(form, half, **initial()) for half in halves])
        self.assertAlmostEqual(self.train(steps=1)[0][0], own, 12)

    def statistics(self):
        """A batch norm that is written out, before a layer."""
        return [
            node("MatMul", "x w0", "h0"),
            total("h0", "mu", 0, 1, keep=1, mean=True),
            node("Sub", "h0 mu", "d"),
            node("Mul", "d d", "dd"),
            total("dd", "v", 0, 1, keep=1, mean=True),
            node("Add", "v small", "ve"),
            node("Sqrt", "ve", "deviation"),
            node("Div", "d deviation", "h"),
            node("MatMul", "h w1", "o"),
            node("Tanh", "o", "t"),
            total("t", "loss", *ALL, mean=True),
        ]

    def test_statistics_of_the_model_follow_its_norms(self):
        self.write(written(self.statistics(), values_of(np.float64), DOUBLE, 13))

        def loss(x, w0, w1):
            h = x @ w0
            h = (h - h.mean((0, 1))) / np.sqrt(h.var((0, 1)) + 1e-3)
            return np.tanh(h @ w1).mean()

        whole = loss(self.x[:GLOBAL], **initial())
        halves = np.mean([loss(half, **initial()) for half in np.split(self.x[:GLOBAL], 2)])
        said = self.said("2")
        self.assertIn("--batch-norm sync takes those of all ranks", said)
        self.assertAlmostEqual(self.train(steps=1)[0][0], halves, 12)
        self.assertNotRegex(self.said("2", "--batch-norm", "sync"), TOLD)
        losses, synced = self.train()
        self.assertAlmostEqual(losses[0], whole, 12)
        self.said("1")
        self.agrees((losses, synced), self.train(), 1e-10)

    def test_samples_that_meet_are_told(self):
        others = {
            "products": [
                total("o", "z", 1, mean=True),
                node("Transpose", "z", "t", perm=[1, 0]),
                node("MatMul", "z t", "scores"),
                node("LogSoftmax", "scores", "log", axis=1),
                node("ReduceMean", "log", "loss", keepdims=0),
            ],
            "differences": [
                total("o", "z", 1, 2, keep=1, mean=True),
                node("Reshape", "z flat", "row"),
                node("Sub", "z row", "d"),
                node("Tanh", "d", "t"),
                node("ReduceMean", "t", "loss", keepdims=0),
            ],
            "a head of samples": [
                total("o", "z", 1, mean=True),
                node("Transpose", "z", "t", perm=[1, 0]),
                node("MatMul", "z t", "scores"),
                node("Shape", "z", "dims"),
                node("Gather", "dims none_at", "count"),
                node("Range", "none_at count one_at", "own"),
                node("SoftmaxCrossEntropyLoss", "scores own", "loss", reduction="mean"),
            ],
            "the hardest": [
                total("l", "each", 1, 2),
                node("TopK", "each one", "hard unused"),
                node("ReduceMean", "hard", "loss", keepdims=0),
            ],
            "the largest": [
                node("ReduceMax", "o", "most", axes=[0, 1], keepdims=0),
                node("ReduceMean", "most", "loss", keepdims=0),
            ],
        }
        for name, nodes in others.items():
            with self.subTest(name):
                self.write(content_of(nodes))
                self.assertIn("samples of a batch are computed with each other", self.said("2"))
                self.assertNotRegex(self.said("1"), TOLD)


for _name, _form in FORMS.items():
    setattr(
        BatchSums,
        "test_" + _name.replace(",", "").replace(" ", "_"),
        lambda self, form=_form: self.check(form),
    )

if __name__ == "__main__":
    unittest.main()
