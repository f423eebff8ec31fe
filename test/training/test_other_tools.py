"""Files of tools that are not PyTorch: weights that are no initializers, parameters that were
merged since they began equal, and a table that is stored a second time, transposed. Each is
trained, to the bit, as the file that has them as they are meant."""
import os
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, CommandFailed, command, read_metrics, read_safetensors

BATCH, WIDTH, OUT = 4, 6, 3
node, info = helper.make_node, helper.make_tensor_value_info
numbers = np.random.default_rng(50)


def floats(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


WEIGHTS = {
    "first": floats(WIDTH, WIDTH),
    "bias": floats(WIDTH),
    "again": floats(WIDTH, WIDTH),
    "chosen": floats(WIDTH),
    "last": floats(WIDTH, OUT),
}


def initializer(name, as_=None):
    return numpy_helper.from_array(WEIGHTS[name], as_ or name)


def constant(name, as_=None):
    return node("Constant", [], [as_ or name], value=numpy_helper.from_array(WEIGHTS[name]))


def network(form):
    """x first + bias, twice tanh(. again), times what a condition chooses, times last. The weights
    of the Loop and of the branch are initializers of the graph, of the bodies, or constants."""
    own = form == "bodies"
    loop = helper.make_graph(
        ([constant("again", "w")] if form == "constants" else [])
        + [
            node("MatMul", ["h", "w" if form != "initializers" else "again"], ["product"]),
            node("Tanh", ["product"], ["next"]),
            node("Identity", ["go"], ["on"]),
        ],
        "loop",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("h", 1, None)],
        [info("on", TensorProto.BOOL, []), info("next", 1, None)],
        [initializer("again", "w")] if own else [],
    )

    def branch(name, sign):
        # Both have a weight of that name, and the graph one, too.
        held = "w" if form != "initializers" else "chosen"
        return helper.make_graph(
            ([constant("chosen", "w")] if form == "constants" else [])
            + [node("Mul", ["looped", held], [f"{name}.product"])]
            + [node(sign, [f"{name}.product"], [name])],
            name,
            [],
            [info(name, 1, None)],
            [initializer("chosen", "w")] if own else [],
        )

    lines = [constant(name) for name in ("first", "bias", "last") if form == "constants"]
    lines += [
        node("MatMul", ["x", "first"], ["a"]),
        node("Add", ["a", "bias"], ["b"]),
        node("Loop", ["twice", "", "b"], ["looped"], body=loop),
        node(
            "If", ["is"], ["c"], then_branch=branch("yes", "Neg"), else_branch=branch("no", "Abs")
        ),
        node("MatMul", ["c", "last"], ["y"]),
    ]
    held = ["first", "bias", "last"] if form != "constants" else []
    held += ["again", "chosen"] if form == "initializers" else []
    tensors = [initializer(name) for name in held]
    tensors += [numpy_helper.from_array(np.array(2), "twice")]
    tensors += [numpy_helper.from_array(np.array(True), "is")]
    return lines, tensors


class OtherTools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        self.x, self.t = floats(2 * BATCH, WIDTH), floats(2 * BATCH, OUT)

    def save(self, name, lines, tensors, producer="", x=None, y=(OUT,)):
        x = x or info("x", 1, ["batch", WIDTH])
        graph = helper.make_graph(lines, "g", [x], [info("y", 1, ["batch", *y])], tensors)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], producer_name=producer, ir_version=8
        )
        onnx.save(model, self.path(name))
        return self.path(name)

    def train(self, model, *flags, steps=3, x=None, t=None, removed=False):
        """(losses, weights after the steps, the exported model)"""
        data = {"x": self.x if x is None else x, "t": self.t if t is None else t}
        words = [SHARDC, model, "--mesh", 2, "--dim", f"batch={BATCH}", "--optimizer", "sgd"]
        words += ["--loss", "mse:output=y,target=t", "-o", self.path("trainer"), *flags]
        self.said = command(*words).stderr
        if removed:
            os.remove(model)
        words = [self.path("trainer"), "--steps", steps, "--lr", 0.1]
        for name, values in data.items():
            np.save(self.path(f"{name}.npy"), values)
            words += ["--data", f"{name}={self.path(name)}.npy"]
        words += ["--metrics", self.path("m.jsonl"), "--export-safetensors", self.path("w")]
        command(*words, "--export-onnx", self.path("out.onnx"))
        losses = [step["loss"] for step in read_metrics(self.path("m.jsonl"))[0]]
        exported = onnx.load(self.path("out.onnx"))
        onnx.checker.check_model(exported)
        return losses, read_safetensors(self.path("w")), exported

    def check(self, trained, wanted):
        """The same losses and weights, whatever their names, and those in the exported model."""
        values = lambda weights: sorted(tensor.tobytes() for tensor in weights.values())
        self.assertEqual(trained[0], wanted[0])
        self.assertEqual(values(trained[1]), values(wanted[1]))
        stored = lambda model: {numpy_helper.to_array(t).tobytes() for t in model.graph.initializer}
        self.assertLessEqual(stored(wanted[2]), stored(trained[2]))

    def test_weights_that_are_no_initializers(self):
        wanted = self.train(self.save("m.onnx", *network("initializers")))
        self.assertEqual(set(wanted[1]), set(WEIGHTS))
        for form in ("bodies", "constants"):
            with self.subTest(form=form):
                model = self.save("m.onnx", *network(form))
                self.check(self.train(model, removed=True), wanted)
                drawn = self.train(self.save("m.onnx", *network(form)), "--init", "random")
                self.assertEqual(len(drawn[1]), len(WEIGHTS))
        # Beside weights that are initializers they are literals.
        lines, tensors = network("constants")
        model = self.save("m.onnx", lines[1:], [*tensors, initializer("first")])
        self.assertEqual(set(self.train(model)[1]), {"first"})
        self.assertRegex(self.said, "Constant nodes hold the matrices 'last', 'w', which are not")
        # PyTorch's exporters write literals of the program as constants.
        model = self.save("m.onnx", *network("constants"), producer="pytorch")
        with self.assertRaisesRegex(CommandFailed, "expects a trainable parameter"):
            self.train(model)

    def test_halves_stored_as_numbers_of_32_bits(self):
        weight = floats(WIDTH, OUT).astype(np.float16)
        bits = helper.make_tensor("w", TensorProto.FLOAT16, weight.shape, weight.view(np.uint16))
        self.assertFalse(bits.raw_data and bits.int32_data)
        bits.ClearField("raw_data")
        bits.ClearField("int32_data")
        bits.int32_data.extend(int(i) for i in weight.view(np.uint16).ravel())
        lines = [node("Cast", ["w"], ["v"], to=1), node("MatMul", ["x", "v"], ["y"])]
        raw = self.train(self.save("m.onnx", lines, [numpy_helper.from_array(weight, "w")]))
        self.check(self.train(self.save("m.onnx", lines, [bits]), removed=True), raw)

    def norms(self, names):
        """Two layers of TensorFlow's, whose scales have these names."""
        lines, last = [], "x"
        for layer, scale in zip(("net/dense", "net/dense_1"), names):
            lines += [
                node(
                    "MatMul", [last, f"{layer}/ReadVariableOp:0"], [f"{layer}:0"], f"{layer}/MatMul"
                ),
                node("Mul", [f"{layer}:0", scale], [f"{layer}_s:0"], f"{layer}/norm/mul"),
                node("Add", [f"{layer}_s:0", f"{layer}/add/y:0"], [f"{layer}_y:0"], f"{layer}/add"),
            ]
            last = f"{layer}_y:0"
        lines[-1].output[0] = "y"
        tensors = [
            numpy_helper.from_array(WEIGHTS["first"], "net/dense/ReadVariableOp:0"),
            numpy_helper.from_array(WEIGHTS["last"], "net/dense_1/ReadVariableOp:0"),
            numpy_helper.from_array(np.float32(0.5), "net/dense/add/y:0"),
            numpy_helper.from_array(np.float32(0.25), "net/dense_1/add/y:0"),
        ]
        tensors += [numpy_helper.from_array(np.ones((1, 1), np.float32), n) for n in set(names)]
        return lines, tensors

    def test_merged_scales(self):
        apart = ["net/dense/norm/Reshape:0", "net/dense_1/norm/Reshape:0"]
        lines, tensors = self.norms(apart)
        for tensor in tensors[-2:]:
            tensor.CopyFrom(numpy_helper.from_array(np.ones((1, OUT), np.float32), tensor.name))
        square = numpy_helper.from_array(WEIGHTS["last"][:OUT], "net/dense_1/ReadVariableOp:0")
        tensors[0].CopyFrom(numpy_helper.from_array(WEIGHTS["last"], tensors[0].name))
        tensors[1].CopyFrom(square)
        wanted = self.train(self.save("m.onnx", lines, tensors, "tf2onnx"))
        self.assertEqual(self.said.count("warning"), 0, self.said)  # add/y:0 is a number
        self.assertEqual(len(wanted[1]), 4)
        lines, merged = self.norms([apart[1]] * 2)
        merged = [*tensors[:4], next(t for t in tensors if t.name == apart[1])]
        model = self.save("merged.onnx", lines, merged, "tf2onnx")
        as_one = self.train(model)
        self.assertRegex(self.said, f"several modules read each of '{apart[1]}'.*--untie REGEX")
        self.assertEqual(len(as_one[1]), 3)
        self.assertNotEqual(as_one[0][-1], wanted[0][-1])
        untied = self.train(model, "--untie", "norm")
        self.assertEqual(self.said.count("warning"), 0, self.said)
        self.assertEqual(set(untied[1]), set(wanted[1]))
        self.check(untied, wanted)
        for pattern, why in (("MatMul", "finds no parameter"), ("(", "no regular expression")):
            with self.assertRaisesRegex(CommandFailed, f"--untie .*{why}"):
                self.train(model, "--untie", pattern)

    def test_made_up_names_that_coincide(self):
        """Two matrices of one module, as exporters that fold transposes leave them, and numbers of
        one element: a bias, a slope, and one that is neither."""
        one = floats(WIDTH, 1)
        tensors = [initializer("first", "onnx::MatMul_1"), initializer("again", "onnx::MatMul_2")]
        lines = [
            node("MatMul", ["x", "onnx::MatMul_1"], ["/m/a"], name="/m/MatMul"),
            node("MatMul", ["/m/a", "onnx::MatMul_2"], ["/m/b"], name="/m/MatMul_1"),
            node("MatMul", ["/m/b", "last.weight"], ["y"], name="/last/MatMul"),
        ]
        tensors.append(initializer("last", "last.weight"))
        trained = self.train(self.save("m.onnx", lines, tensors, "pytorch"))
        self.assertEqual(set(trained[1]), {"m.weight", "onnx::MatMul_2", "last.weight"})
        named = [initializer("first"), initializer("again"), initializer("last")]
        for line, name in zip(lines, ("first", "again", "last")):
            line.input[1] = name
        wanted = self.train(self.save("m.onnx", lines, named, "pytorch"))
        # Its matrices are stored in another order, and sums have that.
        np.testing.assert_allclose(trained[0][0], wanted[0][0], rtol=1e-5)
        lines = [
            node("MatMul", ["x", "first"], ["a"]),
            node("PRelu", ["a", "slope"], ["b"]),
            node("Mul", ["b", "factor"], ["c"]),
            node("MatMul", ["c", "one"], ["d"]),
            node("Add", ["d", "shift"], ["y"]),
        ]
        numbers_of_one = {"slope": 0.25, "factor": 2, "shift": 0.5}
        tensors = [initializer("first"), numpy_helper.from_array(one, "one")]
        tensors += [
            numpy_helper.from_array(np.array([number], np.float32), name)
            for name, number in numbers_of_one.items()
        ]
        model = self.save("m.onnx", lines, tensors, y=(1,))
        weights = self.train(model, t=self.t[:, :1])[1]
        self.assertEqual(set(weights), {"first", "one", "slope", "shift"})
        self.assertIn("not trained here: 'factor' (a number)", self.said)

    def test_a_table_stored_transposed(self):
        """As Keras folds the transpose of its ReversibleEmbedding."""
        rows = 7
        ids = numbers.integers(0, rows, (2 * BATCH, 5))
        t = floats(2 * BATCH, 5, rows)
        table = floats(rows, WIDTH)
        tied = [
            node("Gather", ["table/ReadVariableOp:0", "x"], ["h"]),
            node("MatMul", ["h", "net/transpose:0"], ["y"]),
        ]
        turned = node("Transpose", ["table/ReadVariableOp:0"], ["net/transpose:0"], perm=[1, 0])
        tensor = numpy_helper.from_array(table, "table/ReadVariableOp:0")
        copy = numpy_helper.from_array(np.ascontiguousarray(table.T), "net/transpose:0")
        of_ids = {"x": info("x", TensorProto.INT64, ["batch", 5]), "y": (5, rows)}
        data = {"x": ids, "t": t}
        wanted = self.train(self.save("m.onnx", [turned, *tied], [tensor], **of_ids), **data)
        folded = self.save("m.onnx", tied, [tensor, copy], "tf2onnx", **of_ids)
        trained = self.train(folded, **data)
        self.assertEqual(set(trained[1]), {"table/ReadVariableOp:0"})
        self.check(trained, wanted)


if __name__ == "__main__":
    unittest.main()
