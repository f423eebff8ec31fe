"""Attention's sliding windows against numpy: masks that are known while a model is compiled, and
those that are too large for that."""
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, command, read_metrics

SIZE = 4
# Left, right, is_causal.
WINDOWS = ((3, -1, 0), (-1, 2, 0), (2, 1, 0), (5, -1, 1), (0, 0, 0), (1 << 40, (1 << 63) - 1, 0))


def expected(x, weight, target, left, right, is_causal):
    h = x @ weight
    scores = h @ h.swapaxes(-1, -2) / np.sqrt(SIZE)
    behind = np.arange(x.shape[1]) - np.arange(x.shape[1])[:, None]
    right = 0 if is_causal else right
    far = ((left >= 0) & (behind < -left)) | ((right >= 0) & (behind > right))
    weights = np.exp(np.where(far, -np.inf, scores - scores.max(-1, keepdims=True)))
    y = weights / weights.sum(-1, keepdims=True) @ h
    return np.mean((y - target) ** 2)


class Windows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.numbers = np.random.default_rng(25)

    def path(self, name):
        return os.path.join(self.folder, name)

    def loss(self, x, weight, target, left, right, is_causal):
        """Of one step of the trainer, in float64."""
        shape = ["batch", x.shape[1], SIZE]
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
            helper.make_node(
                "Attention",
                ["h", "h", "h"],
                ["y"],
                name="attention",
                q_num_heads=1,
                kv_num_heads=1,
                is_causal=is_causal,
                left_window_size=left,
                right_window_size=right,
            ),
        ]
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy"]
        graph = helper.make_graph(
            nodes, "windows", values[:1], values[1:], [numpy_helper.from_array(weight, "w")]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=8)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        for name, array in (("x", x), ("t", target)):
            np.save(self.path(f"{name}.npy"), array)
        command(
            *(SHARDC, self.path("model.onnx"), "--dim", f"batch={len(x)}", "--target", "cpu"),
            *("--loss", "mse:output=y,target=t", "--precision", "float64"),
            *("-o", self.path("trainer")),
        )
        command(
            *(self.path("trainer"), "--steps", "1", "--metrics", self.path("metrics.jsonl")),
            *("--data", f"x={self.path('x.npy')}", "--data", f"t={self.path('t.npy')}"),
        )
        return read_metrics(self.path("metrics.jsonl"))[0][0]["loss"]

    def check(self, length, windows):
        x, target = self.numbers.standard_normal((2, 1, length, SIZE)).astype(np.float32)
        weight = self.numbers.standard_normal((SIZE, SIZE)).astype(np.float32)
        for window in windows:
            with self.subTest(window=window):
                wide = (a.astype(np.float64) for a in (x, weight, target))
                got = self.loss(x, weight, target, *window)
                self.assertAlmostEqual(got, expected(*wide, *window), delta=1e-12)

    def test_known_masks(self):
        self.check(40, WINDOWS)

    def test_masks_of_the_run(self):
        self.check(1100, WINDOWS[:4:3])


if __name__ == "__main__":
    unittest.main()
