#!/usr/bin/env python3
"""What an operator says in an opset before 13, beside the same said in a later one: both become
the same ops.

    old_opsets.py SHARDC_OPT
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from onnx_writer import BOOL, FLOAT, floats, graph, ints, model, node, value

SHARDC_OPT = ""
X = value("x", FLOAT, ["batch", 4, 6])


class OldOpsets(unittest.TestCase):
    def imported(self, version, nodes, initializers, shapes, dtype=FLOAT):
        outputs = [value(f"y{i}", dtype, shape) for i, shape in enumerate(shapes)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(model(graph(nodes, [X], outputs, initializers), version=version))
            process = subprocess.run(
                [SHARDC_OPT, f"--onnx-import=path={path} dims=batch=2"],
                input="module {}",
                capture_output=True,
                text=True,
            )
        self.assertEqual(process.returncode, 0, process.stderr)
        text = process.stdout
        # Where a parameter lies in its file is another matter.
        text = re.sub(r"offset = \d+ : i64", "offset", text)
        return re.sub(r"uses = \[[^]]*\]", "uses", text)

    def same(self, old, new, shapes, dtype=FLOAT):
        """Each: (opset, nodes, initializers)."""
        self.assertEqual(self.imported(*old, shapes, dtype), self.imported(*new, shapes, dtype))

    def test_axes_in_attributes(self):
        for op, given, shape in (
            ("Unsqueeze", [1], ["batch", 1, 4, 6]),
            ("Unsqueeze", [0, 2], [1, "batch", 1, 4, 6]),
            ("ReduceSum", [2], ["batch", 4, 1]),
        ):
            self.same(
                (11, [node(op, ["x"], ["y0"], axes=given)], []),
                (18, [node(op, ["x", "a"], ["y0"])], [ints("a", given)]),
                [shape],
            )
        widened = node("Unsqueeze", ["x"], ["u"], axes=[1]), ints("one", [1])
        self.same(
            (11, [widened[0], node("Squeeze", ["u"], ["y0"], axes=[1])], []),
            (
                18,
                [node("Unsqueeze", ["x", "one"], ["u"]), node("Squeeze", ["u", "one"], ["y0"])],
                [widened[1]],
            ),
            [["batch", 4, 6]],
        )

    def test_split(self):
        self.same(
            (11, [node("Split", ["x"], ["y0", "y1"], axis=1, split=[1, 3])], []),
            (18, [node("Split", ["x", "s"], ["y0", "y1"], axis=1)], [ints("s", [1, 3])]),
            [["batch", 1, 6], ["batch", 3, 6]],
        )

    def test_softmax_over_all_dims_behind(self):
        for op in ("Softmax", "LogSoftmax"):
            flat = [
                node("Reshape", ["x", "rows"], ["r"], name="softmax"),
                node(op, ["r"], ["s"], name="softmax"),
                node("Reshape", ["s", "all"], ["y0"], name="softmax"),
            ]
            shapes = [ints("rows", [2, 24]), ints("all", [2, 4, 6])]
            self.same(
                (11, [node(op, ["x"], ["y0"], name="softmax")], []),
                (13, flat, shapes),
                [["batch", 4, 6]],
            )

    def test_upsample(self):
        for mode in ("nearest", "linear"):
            scales = floats("s", [3], [1.0, 1.0, 2.5])
            new = node(
                "Resize",
                ["x", "", "s"],
                ["y0"],
                name="resized",
                mode=mode,
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
            for op, version in (("Upsample", 9), ("Resize", 10)):
                old = node(op, ["x", "s"], ["y0"], name="resized", mode=mode)
                self.same((version, [old], [scales]), (13, [new], [scales]), [["batch", 4, 15]])

    def test_scatter(self):
        named = [ints("i", [0, 3], [2, 1, 1]), floats("u", [2, 1, 1], [1.0, 2.0])]
        inputs = ["x", "i", "u"]
        self.same(
            (9, [node("Scatter", inputs, ["y0"], name="scattered", axis=1)], named),
            (18, [node("ScatterElements", inputs, ["y0"], name="scattered", axis=1)], named),
            [["batch", 4, 6]],
        )

    def test_dropout_without_a_training_mode(self):
        self.same(
            (7, [node("Dropout", ["x"], ["d"], ratio=0.3), node("Relu", ["d"], ["y0"])], []),
            (18, [node("Relu", ["x"], ["y0"])], []),
            [["batch", 4, 6]],
        )

    def test_batch_norms_in_train_mode_have_five_outputs(self):
        vectors = [floats(name, [4], [1.0, 2.0, 3.0, 4.0]) for name in "sbmv"]
        inputs = ["x", *"sbmv"]
        old = node("BatchNormalization", inputs, ["y0", "m1", "v1", "m2", "v2"], name="norm")
        new = node("BatchNormalization", inputs, ["y0"], name="norm", training_mode=1)
        self.same((9, [old], vectors), (15, [new], vectors), [["batch", 4, 6]])

    def test_what_has_not_changed(self):
        nodes = lambda: [
            node("Relu", ["x"], ["r"]),
            node("Mul", ["r", "x"], ["p"]),
            node("Transpose", ["p"], ["t"], perm=[0, 2, 1]),
            node("MatMul", ["p", "t"], ["y0"]),
        ]
        self.same((7, nodes(), []), (13, nodes(), []), [["batch", 4, 4]])
        self.same(
            (7, [node("Less", ["x", "x"], ["y0"])], []),
            (13, [node("Less", ["x", "x"], ["y0"])], []),
            [["batch", 4, 6]],
            BOOL,
        )


if __name__ == "__main__":
    SHARDC_OPT = sys.argv.pop(1)
    unittest.main()
