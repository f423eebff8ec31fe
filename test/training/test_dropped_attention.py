"""An attention that drops probabilities is one op, and draws the masks of docs/randomness.md,
computed here in numpy, whatever the mesh, the strategy, the policy and the layout of its heads."""
import os
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from drawn_runs import GLOBAL, HIDDEN, RATE, SEED, DrawnRuns, initial, written
from dropout_masks import attention_masks
from edited_plan import edit
from reference import BUILD, SHARDC, CommandFailed, command, read_metrics

HEADS, LENGTH, DROPPED = 2, 70, 0.25
SIZE = HIDDEN // HEADS
MESHES = (("1", "full"), ("2", "full"), ("4", "opt"), ("2x2", "full"), ("2x2", "hybrid"))


def model(layout, dtype=TensorProto.DOUBLE):
    """`layout`: of heads, [batch, heads, length, size], or as torch's MultiheadAttention has them,
    [batch * heads, length, size] with the positions first before that."""
    kind = {TensorProto.DOUBLE: np.float64, TensorProto.FLOAT: np.float32}[dtype]
    numbers = {n: v.astype(kind) for n, v in initial().items()}
    numbers |= {"rate": np.float32(DROPPED), "training": np.array(True)}
    numbers["scale"] = kind(SIZE**-0.5)

    def node(op, inputs, output, **more):
        return helper.make_node(op, inputs, [output], name=output, **more)

    nodes = [node("MatMul", ["x", "w0"], "h")]
    if layout == "heads":
        numbers["split"] = np.array([0, 0, HEADS, SIZE])
        numbers["flat"] = np.array([0, 0, HIDDEN])
        nodes += [node("Reshape", ["h", "split"], "parts")]
        nodes += [node("Transpose", ["parts"], "q", perm=[0, 2, 1, 3])]
        nodes += [node("Transpose", ["parts"], "t", perm=[0, 2, 3, 1])]
        joined = [node("Transpose", ["o"], "turned", perm=[0, 2, 1, 3])]
        joined += [node("Reshape", ["turned", "flat"], "y")]
    else:
        numbers["split"] = np.array([LENGTH, -1, SIZE])
        numbers["flat"] = np.array([LENGTH, -1, HIDDEN])
        nodes += [node("Transpose", ["h"], "first", perm=[1, 0, 2])]
        nodes += [node("Reshape", ["first", "split"], "parts")]
        nodes += [node("Transpose", ["parts"], "q", perm=[1, 0, 2])]
        nodes += [node("Transpose", ["parts"], "t", perm=[1, 2, 0])]
        joined = [node("Transpose", ["o"], "turned", perm=[1, 0, 2])]
        joined += [node("Reshape", ["turned", "flat"], "behind")]
        joined += [node("Transpose", ["behind"], "y", perm=[1, 0, 2])]
    nodes += [
        node("MatMul", ["q", "t"], "products"),
        node("Mul", ["products", "scale"], "scores"),
        node("Softmax", ["scores"], "shares", axis=-1),
        node("Dropout", ["shares", "rate", "training"], "dropped"),
        node("MatMul", ["dropped", "q"], "o"),
        *joined,
        node("MatMul", ["y", "w1"], "out"),
        node("Mul", ["out", "out"], "square"),
        node("ReduceMean", ["square"], "loss", keepdims=0),
    ]
    values = [numpy_helper.from_array(np.asarray(v), n) for n, v in numbers.items()]
    return written(nodes, values, dtype, 17, length=LENGTH)


def losses_and_parameters(x, rate, steps=DrawnRuns.STEPS):
    """By plain gradient descent."""
    values, losses = initial(), []
    for step in range(steps):
        rows = x[step * GLOBAL : (step + 1) * GLOBAL]
        mask = attention_masks(SEED, step, 0, rate, range(GLOBAL), (HEADS, LENGTH, LENGTH))
        h = (rows @ values["w0"]).reshape(GLOBAL, LENGTH, HEADS, SIZE).swapaxes(1, 2)
        scores = h @ h.swapaxes(-1, -2) * SIZE**-0.5
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        y = (p * mask @ h).swapaxes(1, 2).reshape(GLOBAL, LENGTH, HIDDEN)
        out = y @ values["w1"]
        losses.append((out * out).mean())
        dout = 2 * out / out.size
        dw1 = np.einsum("bsh,bso->ho", y, dout)
        do = (dout @ values["w1"].T).reshape(GLOBAL, LENGTH, HEADS, SIZE).swapaxes(1, 2)
        dp = do @ h.swapaxes(-1, -2) * mask
        ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * SIZE**-0.5
        dh = (p * mask).swapaxes(-1, -2) @ do + ds @ h + ds.swapaxes(-1, -2) @ h
        dw0 = np.einsum("bsf,bsh->fh", rows, dh.swapaxes(1, 2).reshape(GLOBAL, LENGTH, HIDDEN))
        values = {"w0": values["w0"] - RATE * dw0, "w1": values["w1"] - RATE * dw1}
    return losses, values


class DroppedAttentionTest(DrawnRuns):
    LENGTH = LENGTH

    def test_every_mesh_and_layout_draws_the_masks(self):
        want = losses_and_parameters(self.x, DROPPED)
        for layout in ("heads", "positions first"):
            self.write(model(layout))
            alone = {}
            for mesh, strategy in MESHES:
                with self.subTest(layout=layout, mesh=mesh, strategy=strategy):
                    micro = 4 // int(np.prod([int(size) for size in mesh.split("x")]))
                    kind = "hybrid" if strategy == "hybrid" else "others"
                    flags = ["--strategy", strategy, "--accumulate", "sharded"]
                    check = ((), ()) if kind == "hybrid" else (("--checkable",), ("--check", 2))
                    self.compile(mesh, *flags, *check[0], micro=micro)
                    got = self.train("--grad-accumulation", micro, *check[1])
                    self.agrees(got, want)
                    expected = alone.setdefault(kind, got)[1]["w0"]
                    np.testing.assert_array_equal(got[1]["w0"], expected)

    def test_no_scores_are_kept(self):
        self.write(model("heads"))
        words = [SHARDC, self.path("m.onnx"), "--dim", f"batch={GLOBAL}"]
        words += ["--remarks", "nn-raise", "-o", self.path("m.trainer")]
        self.assertIn("probabilities dropped at 0.25", command(*words).stderr)

    def test_recomputation_draws_them_again(self):
        self.write(model("heads"))
        want = None
        for policy in ("none", "all", "unit"):
            self.compile("2", "--remat", policy)
            got = self.train()
            want = want or got
            self.assertEqual(got[0], want[0], policy)
            np.testing.assert_array_equal(got[1]["w0"], want[1]["w0"], policy)

    def test_the_checker_sees_samples_that_lie_elsewhere(self):
        self.write(model("heads"))
        self.compile("2")
        check = os.path.join(BUILD, "bin", "shardc-check")
        command(check, self.path("m.trainer"), self.path("m.onnx"))

        def change(plan):
            kinds = ("attention", "attention_grad")
            found = [e for e in plan.train.entries if e.WhichOneof("kind") in kinds]
            self.assertEqual(len(found), 2)
            entry = getattr(found[1], found[1].WhichOneof("kind"))
            self.assertGreater(entry.samples, 0)
            entry.samples = entry.sample_stride = 0

        edit(self.path("m.trainer"), self.path("e.trainer"), change)
        self.compile("1", "--remat", "none", micro=2)
        reference = ("--reference", self.path("m.trainer"))
        with self.assertRaisesRegex(CommandFailed, "attention_grad.*sample"):
            command(check, self.path("e.trainer"), self.path("m.onnx"), *reference)

    def test_rates_of_a_run(self):
        self.write(model("heads"))
        self.compile()
        self.agrees(self.train("--dropout", "off"), losses_and_parameters(self.x, 0))
        flags = ("--dropout-rate", "match=^dropped$,p=0.5")
        self.agrees(self.train(*flags), losses_and_parameters(self.x, 0.5))

    def test_evaluations_drop_nothing(self):
        self.write(model("heads"))
        self.compile("2")
        np.save(self.path("e.npy"), self.x[:GLOBAL])
        self.train("--eval-data", f"x={self.path('e.npy')}", "--eval-every", 1, steps=1)
        events = [e for e in read_metrics(self.path("m.jsonl"))[1] if e["event"] == "eval"]
        want = losses_and_parameters(self.x, 0, 1)[0][0]
        self.assertAlmostEqual(events[0]["loss"], want, 12)

    def test_a_gpu_draws_them(self):
        want = losses_and_parameters(self.x, DROPPED)
        self.agrees_on_gpus(model("heads", TensorProto.FLOAT), want)


if __name__ == "__main__":
    unittest.main()
