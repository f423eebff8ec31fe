"""Where PyTorch stops gradients, a trainer does: the exporter's metadata names detach() and
padding_idx. Against derivatives by hand, in float64."""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from onnx_writer import FLOAT, INT64, floats, graph, ints, model, node, value  # noqa: E402
from tool_test import SHARDC, ToolTest, run  # noqa: E402


def call(text):
    result, rest = text.split(" = ")
    target, arguments = rest.split("(", 1)
    return {
        "pkg.torch.onnx.fx_node": (
            f"%{result} : [num_users=1] = call_function[target=torch.ops.aten.{target}](args ="
            f" ({arguments}, kwargs = {{}})"
        )
    }


def signature(*names):
    lines = [f"p_{name.replace('.', '_')}: PARAMETER target='{name}'" for name in names]
    return {
        "pkg.torch.export.ExportedProgram.graph_signature": "\n".join(
            ["# inputs", *lines, "x: USER_INPUT", "", "# outputs", "y: USER_OUTPUT"]
        )
    }


def read_safetensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "F64": np.float64}
    return {
        name: np.frombuffer(
            data[8 + size :][slice(*entry["data_offsets"])], types[entry["dtype"]]
        ).reshape(entry["shape"])
        for name, entry in json.loads(data[8 : 8 + size]).items()
        if name != "__metadata__"
    }


class StoppedGradients(ToolTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(0)
        self.w = random.normal(size=(4, 4)).astype(np.float32)
        self.x = random.normal(size=(2, 4))
        self.t = random.normal(size=(2, 4))

    def write(self, nodes, initializers, inputs, names):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(
                model(
                    graph(
                        nodes,
                        inputs,
                        [value("y", FLOAT, ["batch", 4])],
                        initializers,
                        metadata=signature(*names),
                    ),
                    producer="pytorch",
                )
            )
        return self.path("m.onnx")

    def compile(self, path):
        return run(
            SHARDC,
            path,
            "--dim",
            "batch=2",
            "--precision",
            "float64",
            "--loss",
            "mse:output=y,target=t",
            "-o",
            self.path("m.trainer"),
        )

    def train(self, path, **data):
        result = self.compile(path)
        self.assertEqual((result.code, result.err), (0, ""))
        flags = []
        for name, array in data.items():
            np.save(self.path(f"{name}.npy"), array)
            flags += ["--data", f"{name}={self.path(name)}.npy"]
        result = run(
            self.path("m.trainer"),
            *flags,
            "--steps",
            "1",
            "--lr",
            "0.1",
            "--weight-decay",
            "0.5",
            "--export-gradients",
            self.path("g.safetensors"),
            "--export-safetensors",
            self.path("w.safetensors"),
        )
        self.assertEqual(result.code, 0, result.err)
        gradients = read_safetensors(self.path("g.safetensors"))
        return gradients, read_safetensors(self.path("w.safetensors"))

    def gradient_of_gate(self):
        """Of mean((sigmoid(x w) h - t)^2) where h = x w is a constant."""
        h = self.x @ self.w.astype(np.float64)
        s = 1 / (1 + np.exp(-h))
        return self.x.T @ (2 * (s * h - self.t) / h.size * h * s * (1 - s))

    def gate(self, *nodes):
        return self.write(
            [
                node("MatMul", ["x", "w"], ["h"], metadata=call("h = matmul.default(%x, %p_w)")),
                node(
                    "Sigmoid", ["h"], ["sigmoid"], metadata=call("sigmoid = sigmoid.default(%h,)")
                ),
                *nodes,
            ],
            [floats("w", [4, 4], self.w.reshape(-1))],
            [value("x", FLOAT, ["batch", 4])],
            ["w"],
        )

    def check_gate(self, path):
        gradients, _ = self.train(path, x=self.x.astype(np.float32), t=self.t.astype(np.float32))
        self.x = self.x.astype(np.float32).astype(np.float64)
        self.t = self.t.astype(np.float32).astype(np.float64)
        np.testing.assert_allclose(gradients["w"], self.gradient_of_gate(), rtol=1e-10)

    def test_detach_that_the_exporter_kept(self):
        self.check_gate(
            self.gate(
                node("Identity", ["h"], ["detach"], metadata=call("detach = detach.default(%h,)")),
                node(
                    "Mul",
                    ["sigmoid", "detach"],
                    ["y"],
                    metadata=call("y = mul.Tensor(%sigmoid, %detach)"),
                ),
            )
        )

    def test_detach_that_the_optimizer_removed(self):
        # By the name of the other argument, whichever comes first.
        self.check_gate(
            self.gate(
                node(
                    "Mul",
                    ["sigmoid", "h"],
                    ["y"],
                    metadata=call("y = mul.Tensor(%sigmoid, %detach_2)"),
                )
            )
        )
        self.check_gate(
            self.gate(
                node(
                    "Mul",
                    ["h", "sigmoid"],
                    ["y"],
                    metadata=call("y = mul.Tensor(%detach, %sigmoid)"),
                )
            )
        )

    def test_detach_by_position(self):
        # A view of the sigmoid that the optimizer removed leaves no name of it.
        self.check_gate(
            self.gate(
                node(
                    "Mul", ["sigmoid", "h"], ["y"], metadata=call("y = mul.Tensor(%view, %detach)")
                )
            )
        )

    def test_detach_within_a_decomposed_call(self):
        # sigmoid(h) * h as two nodes of one call.
        text = call("y = f.default(%sigmoid, %detach)")
        self.check_gate(
            self.gate(
                node("Neg", ["h"], ["val_1"], metadata=text),
                node("Mul", ["sigmoid", "val_1"], ["val_2"], metadata=text),
                node("Neg", ["val_2"], ["y"], metadata=text),
            )
        )

    def test_detached_parameter(self):
        path = self.write(
            [
                node(
                    "Identity", ["w"], ["detach"], metadata=call("detach = detach.default(%p_w,)")
                ),
                node("Mul", ["x", "detach"], ["m"], metadata=call("m = mul.Tensor(%x, %detach)")),
                node("Add", ["m", "w"], ["y"], metadata=call("y = add.Tensor(%m, %p_w)")),
            ],
            [floats("w", [4], self.w[0])],
            [value("x", FLOAT, ["batch", 4])],
            ["w"],
        )
        x, t, w = (a.astype(np.float32).astype(np.float64) for a in (self.x, self.t, self.w[0]))
        gradients, _ = self.train(path, x=x.astype(np.float32), t=t.astype(np.float32))
        self.assertEqual(list(gradients), ["w"])
        np.testing.assert_allclose(
            gradients["w"], (2 * (x * w + w - t) / x.size).sum(0), rtol=1e-10
        )

    def test_an_input_that_is_called_detach(self):
        text = call("y = matmul.default(%detach, %p_w)")
        path = self.write(
            [node("MatMul", ["detach", "w"], ["y"], metadata=text)],
            [floats("w", [4, 4], self.w.reshape(-1))],
            [value("detach", FLOAT, ["batch", 4])],
            ["w"],
        )
        gradients, _ = self.train(
            path, detach=self.x.astype(np.float32), t=self.t.astype(np.float32)
        )
        self.assertGreater(np.abs(gradients["w"]).min(), 0)

    def test_detach_that_cannot_be_placed(self):
        text = call("y = addcmul.default(%h, %h, %detach)")
        path = self.gate(
            node("Mul", ["h", "h"], ["val_1"], "product", metadata=text),
            node("Add", ["h", "val_1"], ["y"], metadata=text),
        )
        self.assert_one_error(
            self.compile(path),
            "shardc",
            "node 'product' (Mul)",
            "detached",
            "aten.addcmul.default",
            "optimize=False",
        )

    def test_detach_that_was_merged(self):
        # tanh(h) and tanh(h.detach()) are one node, which remembers the second.
        path = self.gate(
            node("Tanh", ["h"], ["tanh"], "tanh", metadata=call("tanh = tanh.default(%detach,)")),
            node("Mul", ["tanh", "tanh"], ["y"], metadata=call("y = mul.Tensor(%tanh, %tanh_1)")),
        )
        self.assert_one_error(
            self.compile(path), "shardc", "node 'tanh' (Tanh)", "detached", "optimize=False"
        )

    def embedding(self, *rest):
        table = np.arange(1, 25, dtype=np.float32).reshape(6, 4)
        arguments = ", ".join(["%p_e_weight", "%ids", *rest])
        path = self.write(
            [
                node(
                    "Gather",
                    ["e.weight", "ids"],
                    ["embedding"],
                    "rows",
                    metadata=call(f"embedding = embedding.default({arguments})"),
                ),
                node(
                    "ReduceMean",
                    ["embedding", "axis"],
                    ["y"],
                    keepdims=0,
                    metadata=call("y = mean.dim(%embedding, [1])"),
                ),
            ],
            [floats("e.weight", [6, 4], table.reshape(-1)), ints("axis", [1])],
            [value("ids", INT64, ["batch", 3])],
            ["e.weight"],
        )
        return path, table

    def test_row_of_padding_idx(self):
        path, table = self.embedding("5")
        gradients, weights = self.train(
            path, ids=np.array([[5, 0, 5], [1, 5, 1]]), t=self.t.astype(np.float32)
        )
        gradient = gradients["e.weight"]
        self.assertTrue((gradient[[2, 3, 4, 5]] == 0).all())
        self.assertTrue((gradient[[0, 1]] != 0).all())
        # As in PyTorch, where the gradient is 0 and not none: it decays.
        np.testing.assert_allclose(weights["e.weight"][5], table[5] * (1 - 0.1 * 0.5), rtol=1e-7)

    def test_no_padding_idx(self):
        for rest in ((), ("-1",), ("-1", "False", "False")):
            path, _ = self.embedding(*rest)
            gradients, _ = self.train(
                path, ids=np.array([[5, 0, 5], [1, 5, 1]]), t=self.t.astype(np.float32)
            )
            self.assertTrue((gradients["e.weight"][[0, 1, 5]] != 0).all(), rest)

    def test_gradient_by_frequency(self):
        path, _ = self.embedding("-1", "True")
        self.assert_one_error(self.compile(path), "shardc", "node 'rows'", "scale_grad_by_freq")
