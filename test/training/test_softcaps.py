"""Attention whose scores are capped, and that has sinks, and logits that are capped and scaled,
against numpy: the operator as it is, and what exporters write out of Gemma 2, gpt-oss and
Cohere."""
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, command, read_metrics

BATCH, LENGTH, HEADS, SIZE = 2, 150, 2, 4
CLASSES, CAP, SCALE = 11, 1.5, 0.25


def node(op, inputs, output, **more):
    return helper.make_node(op, inputs, [output], **more)


def constant(value, output):
    return node("Constant", [], output, value=numpy_helper.from_array(np.asarray(value)))


def heads():
    """q, k and v [batch, heads, length, size] of h."""
    lines = [constant(np.array([0, 0, HEADS, SIZE]), "split")]
    lines += [node("Reshape", ["h", "split"], "parts")]
    return lines + [node("Transpose", ["parts"], n, perm=[0, 2, 1, 3]) for n in "qkv"]


def joined():
    """y of o [batch, heads, length, size]."""
    return [
        node("Transpose", ["o"], "turned", perm=[0, 2, 1, 3]),
        constant(np.array([0, 0, HEADS * SIZE]), "flat"),
        node("Reshape", ["turned", "flat"], "y"),
    ]


def operator(**more):
    inputs = ["q", "k", "v", *(["bias"] if "bias" in more else [])]
    more.pop("bias", None)
    return [node("Attention", inputs, "o", name="attention", is_causal=1, **more)]


def written_out(cap, sinks, ranks=1):
    """The eager attention of transformers' Gemma 2 and gpt-oss."""
    hidden = np.where(np.tri(LENGTH, dtype=bool), 0, np.finfo(np.float32).min)
    lines = [
        node("Transpose", ["k"], "t", perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "t"], "products"),
        constant(np.float32(SIZE**-0.5), "scale"),
        node("Mul", ["products", "scale"], "scores"),
    ]
    if cap:
        lines += [
            constant(np.float32(CAP), "cap"),
            node("Div", ["scores", "cap"], "small"),
            node("Tanh", ["small"], "bounded"),
            node("Mul", ["bounded", "cap"], "capped"),
        ]
    lines += [
        constant(hidden.astype(np.float32), "mask"),
        node("Add", ["capped" if cap else "scores", "mask"], "masked"),
    ]
    if not sinks:
        return [*lines, node("Softmax", ["masked"], "p"), node("MatMul", ["p", "v"], "o")]
    return lines + [
        constant(np.array([1, -1, 1, 1]), "each"),
        node("Reshape", ["sinks", "each"], "columns"),
        constant(np.array([BATCH // ranks, HEADS, LENGTH, 1]), "rows"),
        node("Expand", ["columns", "rows"], "sink"),
        node("Concat", ["masked", "sink"], "all", axis=-1),
        constant(np.array([-1]), "last"),
        node("ReduceMax", ["all", "last"], "largest", keepdims=1),
        node("Sub", ["all", "largest"], "shifted"),
        node("Softmax", ["shifted"], "shares"),
        constant(np.array([0]), "begin"),
        node("Slice", ["shares", "begin", "last", "last"], "p"),
        node("MatMul", ["p", "v"], "o"),
    ]


def expected(numbers, cap, sinks, bias=None):
    """The loss in float64."""
    x, weight, target, sink = (numbers[n].astype(np.float64) for n in ("x", "w", "t", "sinks"))
    h = (x @ weight).reshape(BATCH, LENGTH, HEADS, SIZE).swapaxes(1, 2)
    scores = h @ h.swapaxes(-1, -2) * SIZE**-0.5
    if cap:
        scores = CAP * np.tanh(scores / CAP)
    if bias is not None:
        scores = scores + bias
    weights = np.exp(np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf))
    sums = weights.sum(-1, keepdims=True)
    if sinks:
        sums = sums + np.exp(sink)[None, :, None, None]
    y = (weights / sums @ h).swapaxes(1, 2).reshape(BATCH, LENGTH, HEADS * SIZE)
    return np.mean((y - target) ** 2)


def after_a_step(numbers, weights, loss):
    """The loss behind a step of SGD with rate 1, whose gradients are central differences."""
    trained, width = dict(numbers), 1e-5
    for name in weights:
        value = numbers[name].astype(np.float64)
        gradient = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            sides = []
            for sign in (1, -1):
                moved = value.copy()
                moved[at] += sign * width
                sides.append(loss(numbers | {name: moved}))
            gradient[at] = (sides[0] - sides[1]) / (2 * width)
        trained[name] = value - gradient
    return loss(trained)


class Trained(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, nodes, output, weights):
        """Of x [batch, length, width]; output: its last dim."""
        shape = ["batch", LENGTH, HEADS * SIZE]
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape[:2], output])
        arrays = [numpy_helper.from_array(self.numbers[name], name) for name in weights]
        graph = helper.make_graph(nodes, "softcaps", [x], [y], arrays)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=8)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())

    def words(self, loss, ranks):
        """Of a compilation."""
        return (
            *(SHARDC, self.path("model.onnx"), "--dim", f"batch={BATCH // ranks}", "--loss", loss),
            *("--target", "cpu", "--precision", "float64", "--mesh", str(ranks)),
            *("--optimizer", "sgd"),
        )

    def train(self, words):
        """Losses of two steps, of which the second one has the first one's gradients."""
        data = []
        for name in "xt":
            np.save(self.path(f"{name}.npy"), self.numbers[name])
            data += ["--data", f"{name}={self.path(name)}.npy"]
        command(*words, "-o", self.path("trainer"))
        metrics = self.path("metrics.jsonl")
        command(self.path("trainer"), "--steps", "2", "--lr", "1", "--metrics", metrics, *data)
        return [step["loss"] for step in read_metrics(metrics)[0]]


class Scores(Trained):
    def setUp(self):
        super().setUp()
        numbers, width = np.random.default_rng(7), HEADS * SIZE
        draw = lambda *shape: numbers.standard_normal(shape).astype(np.float32)
        self.numbers = {
            "x": draw(BATCH, LENGTH, width),
            "t": draw(BATCH, LENGTH, width),
            "w": draw(width, width),
            "sinks": draw(HEADS),
            "bias": draw(1, HEADS, 1, LENGTH),
        }

    def compile(self, nodes, weights, ranks=1):
        """Words of a compilation of MatMul and of nodes from q, k and v to o."""
        nodes = [node("MatMul", ["x", "w"], "h"), *heads(), *nodes, *joined()]
        self.save(nodes, HEADS * SIZE, weights)
        return self.words("mse:output=y,target=t", ranks)

    def check(self, nodes, weights, cap, sinks, ranks=1):
        words = self.compile(nodes, weights, ranks)
        program = command(*words, "--compile-to=raise").stdout
        self.assertIn("nn.attention", program)
        self.assertNotIn("nn.softmax", program)
        self.assertEqual("softcap = 1.5" in program, cap)
        self.assertEqual(" sinks " in program, sinks)
        losses = self.train(words)
        loss = lambda numbers: expected(numbers, cap, sinks)
        self.assertAlmostEqual(losses[0], loss(self.numbers), delta=1e-12)
        self.assertAlmostEqual(losses[1], after_a_step(self.numbers, weights, loss), delta=1e-8)

    def test_the_operators_softcap(self):
        self.check(operator(softcap=CAP), ["w"], True, False)

    def test_capped_scores_written_out(self):
        self.check(written_out(True, False), ["w"], True, False)

    def test_sinks_written_out(self):
        self.check(written_out(False, True), ["w", "sinks"], False, True)

    def test_both_on_two_ranks(self):
        self.check(written_out(True, True, 2), ["w", "sinks"], True, True, ranks=2)

    def test_a_trained_mask_is_written_out(self):
        words = self.compile(operator(softcap=CAP, bias=1), ["w", "bias"])
        self.assertIn("nn.softmax", command(*words, "--compile-to=raise").stdout)
        losses = self.train(words)
        bias = self.numbers["bias"].astype(np.float64)
        wanted = expected(self.numbers, True, False, bias)
        self.assertAlmostEqual(losses[0], wanted, delta=1e-12)


class Logits(Trained):
    def setUp(self):
        super().setUp()
        numbers, width = np.random.default_rng(8), HEADS * SIZE
        draw = lambda *shape: numbers.standard_normal(shape).astype(np.float32)
        self.numbers = {
            "x": draw(BATCH, LENGTH, width),
            "t": numbers.integers(0, CLASSES, (BATCH, LENGTH)),
            "w": draw(width, width) / 2,
            "head": 2 * draw(width, CLASSES),
            "bias": draw(CLASSES),
        }

    @staticmethod
    def loss(numbers, cap, bias):
        x, w, head, added = (numbers[n].astype(np.float64) for n in ("x", "w", "head", "bias"))
        logits = x @ w @ head + (added if bias else 0)
        logits = CAP * np.tanh(logits / CAP) if cap else SCALE * logits
        picked = np.take_along_axis(logits, numbers["t"][..., None], -1)[..., 0]
        return np.mean(np.log(np.exp(logits).sum(-1)) - picked)

    def check(self, cap, bias, ranks):
        nodes = [node("MatMul", ["x", "w"], "h"), node("MatMul", ["h", "head"], "products")]
        weights = ["w", "head", *(["bias"] if bias else [])]
        logits = "products"
        if bias:
            nodes += [node("Add", ["products", "bias"], "logits")]
            logits = "logits"
        if cap:
            nodes += [
                constant(np.float32(CAP), "cap"),
                node("Div", [logits, "cap"], "small"),
                node("Tanh", ["small"], "bounded"),
                node("Mul", ["bounded", "cap"], "y"),
            ]
        else:
            nodes += [constant(np.float32(SCALE), "scale"), node("Mul", [logits, "scale"], "y")]
        self.save(nodes, CLASSES, weights)
        words = self.words("cross-entropy:logits=y,labels=t", ranks)
        program = command(*words, "--compile-to=raise").stdout
        self.assertNotIn(f"x{CLASSES}xf64", program.replace(f"{HEADS * SIZE}x{CLASSES}xf64", ""))
        losses = self.train(words)
        loss = lambda numbers: self.loss(numbers, cap, bias)
        self.assertAlmostEqual(losses[0], loss(self.numbers), delta=1e-12)
        self.assertAlmostEqual(losses[1], after_a_step(self.numbers, weights, loss), delta=1e-8)

    def test_capped(self):
        self.check(cap=True, bias=False, ranks=1)

    def test_capped_with_a_bias_on_two_ranks(self):
        self.check(cap=True, bias=True, ranks=2)

    def test_scaled(self):
        self.check(cap=False, bias=True, ranks=1)


if __name__ == "__main__":
    unittest.main()
