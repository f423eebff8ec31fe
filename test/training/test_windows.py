"""Attention's sliding windows against numpy: as the operator has them, as masks of positions, and
where a sample's length says which key is a query's own, which is a bias."""
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, command, read_metrics

SIZE = 4
# Left, right, is_causal.
WINDOWS = ((3, -1, 0), (-1, 2, 0), (2, 1, 0), (5, -1, 1), (0, 0, 0), (1 << 40, (1 << 63) - 1, 0))


def masked_by_positions(length, side):
    """Nodes that add to scores what ModernBERT's mask says, as exporters write it, from h to y."""
    made = lambda op, inputs, output, **more: helper.make_node(op, inputs, [output], **more)
    number = lambda value, output: made(
        "Constant", [], output, value=numpy_helper.from_array(np.asarray(value))
    )
    return [
        number(np.arange(length)[:, None], "i"),
        number(np.arange(length)[None], "j"),
        made("Sub", ["i", "j"], "between"),
        made("Abs", ["between"], "distance"),
        number(side, "side"),
        made("LessOrEqual", ["distance", "side"], "near"),
        number(0, "zero"),
        made("GreaterOrEqual", ["i", "zero"], "there"),
        made("And", ["near", "there"], "seen"),
        number(np.float32(0), "shown"),
        number(np.float32(-np.inf), "hidden"),
        made("Where", ["seen", "shown", "hidden"], "mask"),
        made("Transpose", ["h"], "t", perm=[0, 2, 1]),
        made("MatMul", ["h", "t"], "products"),
        number(np.float32(np.sqrt(SIZE)), "root"),
        made("Div", ["products", "root"], "scores"),
        made("Add", ["scores", "mask"], "masked"),
        made("Softmax", ["masked"], "weights"),
        made("MatMul", ["weights", "h"], "y"),
    ]


def attention(window, lengths):
    left, right, is_causal = window
    return [
        helper.make_node(
            "Attention",
            ["h", "h", "h", *lengths],
            ["y"],
            name="attention",
            q_num_heads=1,
            kv_num_heads=1,
            is_causal=is_causal,
            left_window_size=left,
            right_window_size=right,
        )
    ]


def expected(x, weight, target, window, keys):
    """keys: how many the sample has."""
    left, right, is_causal = window
    h = x @ weight
    scores = h @ h.swapaxes(-1, -2) / np.sqrt(SIZE)
    length = x.shape[1]
    place = np.arange(length)
    distance = place - (place[:, None] + keys - length)
    right = 0 if is_causal else right
    far = ((left >= 0) & (distance < -left)) | ((right >= 0) & (distance > right))
    weights = np.exp(np.where(far | (place >= keys), -np.inf, scores))
    sums = weights.sum(-1, keepdims=True)
    y = np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 0) @ h
    return np.mean((y - target) ** 2)


class Windows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.numbers = np.random.default_rng(25)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, nodes, weight, length, lengths=()):
        """Words of a compilation of MatMul and nodes from h to y; lengths: the input of keys."""
        shape = ["batch", length, SIZE]
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy"]
        inputs = values[:1]
        if lengths:
            inputs.append(helper.make_tensor_value_info("keys", TensorProto.INT64, ["batch"]))
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="product"), *nodes]
        weights = [numpy_helper.from_array(weight, "w")]
        graph = helper.make_graph(nodes, "windows", inputs, values[1:], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=8)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return (
            *(SHARDC, self.path("model.onnx"), "--dim", "batch=1", "--target", "cpu"),
            *("--loss", "mse:output=y,target=t", "--precision", "float64"),
        )

    def loss(self, words, arrays):
        """Of one step of the trainer, in float64."""
        data = []
        for name, array in arrays.items():
            np.save(self.path(f"{name}.npy"), array)
            data += ["--data", f"{name}={self.path(name)}.npy"]
        command(*words, "-o", self.path("trainer"))
        metrics = self.path("metrics.jsonl")
        command(self.path("trainer"), "--steps", "1", "--metrics", metrics, *data)
        return read_metrics(metrics)[0][0]["loss"]

    def numbers_of(self, length):
        """x and target, and the weight."""
        x, target = self.numbers.standard_normal((2, 1, length, SIZE)).astype(np.float32)
        return x, target, self.numbers.standard_normal((SIZE, SIZE)).astype(np.float32) / 2

    def check(self, length, windows, keys=None):
        x, target, weight = self.numbers_of(length)
        wide = [a.astype(np.float64) for a in (x, weight, target)]
        lengths = [] if keys is None else ["", "", "", "keys"]
        arrays = {"x": x, "t": target} | ({"keys": np.array([keys])} if lengths else {})
        for window in windows:
            with self.subTest(window=window):
                words = self.compile(attention(window, lengths), weight, length, lengths)
                got = self.loss(words, arrays)
                self.assertAlmostEqual(got, expected(*wide, window, keys or length), delta=1e-12)
                program = command(*words, "--compile-to=raise").stdout
                self.assertEqual(" bias " in program, keys is not None)

    def test_within_a_block_of_keys(self):
        self.check(40, WINDOWS)

    def test_over_blocks_of_keys(self):
        self.check(300, ((150, -1, 1), (1, 140, 0), (-1, 7, 0)))

    def test_known_masks(self):
        self.check(40, WINDOWS[:4], keys=25)

    def test_masks_of_the_run(self):
        self.check(1100, WINDOWS[:4:3], keys=700)

    def test_masks_of_positions_become_windows(self):
        x, target, weight = self.numbers_of(50)
        words = self.compile(masked_by_positions(50, 7), weight, 50)
        wide = (a.astype(np.float64) for a in (x, weight, target))
        got = self.loss(words, {"x": x, "t": target})
        self.assertAlmostEqual(got, expected(*wide, (7, 7, 0), 50), delta=1e-12)

    def test_large_masks_are_not_written_out(self):
        words = self.compile(masked_by_positions(8192, 64), np.eye(SIZE, dtype=np.float32), 8192)
        program = command(*words, "--compile-to=raise").stdout
        self.assertIn("left = 64 : i64, right = 64 : i64", program)
        self.assertNotIn("8192x8192", program)


if __name__ == "__main__":
    unittest.main()
