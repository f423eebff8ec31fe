"""Quotients, remainders and powers of integers where processors trap, languages differ or a type
ends: exact values, of data and of constants alike."""
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

from reference import SHARDC, command, read_safetensors

TYPES = {
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int16": TensorProto.INT16,
    "int8": TensorProto.INT8,
    "uint64": TensorProto.UINT64,
    "uint32": TensorProto.UINT32,
    "uint16": TensorProto.UINT16,
    "uint8": TensorProto.UINT8,
}


def wrapped(value, dtype):
    info = np.iinfo(dtype)
    size = int(info.max) - int(info.min) + 1
    return (value - int(info.min)) % size + int(info.min)


def quotient(x, y):
    """Towards zero; 0 where y is 0, as ONNX's reference has it."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def remainder(x, y):
    """With the sign of y; 0 where that is 0."""
    return 0 if y == 0 else x % y


def fmod(x, y):
    return 0 if y == 0 else x - y * quotient(x, y)


def power(x, y):
    """torch.pow of integers, modulo 2^64: 1 / x^-y truncates to 0 but for 1 and -1, and is 0 for
    0."""
    if y >= 0:
        return pow(x, y, 1 << 64)
    return 1 if x == 1 else (-1 if y % 2 else 1) if x == -1 else 0


OPERATORS = {
    "Div": ("Div", {}, quotient),
    "Mod": ("Mod", {}, remainder),
    "Mod.fmod": ("Mod", {"fmod": 1}, fmod),
    "Pow": ("Pow", {}, power),
}


def numbers(dtype):
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 5, 7, int(info.max), int(info.max) - 1, int(info.min)] + (
        [-1, -2, -3, -7] if info.min else [200]
    )
    return edges


class Integers(unittest.TestCase):
    def values(self, name, constant):
        """{operator: values of all pairs}; a value is the gradient of its weight."""
        number, dtype = TYPES[name], np.dtype(name)
        pairs = [(x, y) for x in numbers(dtype) for y in numbers(dtype)]
        operands = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
        count, nodes, totals, initializers = len(pairs), [], [], []
        for operand, values in operands.items():
            if constant:
                nodes.append(
                    helper.make_node(
                        "Constant",
                        [],
                        [operand],
                        value=helper.make_tensor(operand, number, [1, count], values),
                    )
                )
        for key, (op, attributes, _) in OPERATORS.items():
            initializers.append(
                helper.make_tensor(f"{key}.weight", TensorProto.DOUBLE, [1, count], [1.0] * count)
            )
            nodes += [
                helper.make_node(op, ["x", "y"], [key], name=f"the.{key}", **attributes),
                helper.make_node("Cast", [key], [f"{key}.float"], to=TensorProto.DOUBLE),
                helper.make_node("Mul", [f"{key}.float", f"{key}.weight"], [f"{key}.weighted"]),
                helper.make_node("ReduceSum", [f"{key}.weighted"], [f"{key}.total"], keepdims=0),
            ]
            totals.append(f"{key}.total")
        nodes += [
            helper.make_node("ReduceMean", ["ones"], ["one"], keepdims=0),
            helper.make_node("Sum", totals, ["total"]),
            helper.make_node("Mul", ["total", "one"], ["loss"]),
        ]
        inputs = [helper.make_tensor_value_info("ones", TensorProto.DOUBLE, [1, 1])]
        if not constant:
            inputs += [
                helper.make_tensor_value_info(operand, number, [1, count]) for operand in operands
            ]
        graph = helper.make_graph(
            nodes,
            "integers",
            inputs,
            [helper.make_tensor_value_info("loss", TensorProto.DOUBLE, [])],
            initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
        with tempfile.TemporaryDirectory() as folder:
            path = lambda file: os.path.join(folder, file)
            with open(path("model.onnx"), "wb") as file:
                file.write(model.SerializeToString())
            compiled = command(
                SHARDC,
                path("model.onnx"),
                "--loss",
                "output:loss",
                "--precision",
                "float64",
                "-o",
                path("trainer"),
            )
            data = {"ones": np.ones((1, 1))} | (
                {} if constant else {o: np.array([v], dtype) for o, v in operands.items()}
            )
            words = []
            for operand, values in data.items():
                np.save(path(f"{operand}.npy"), values)
                words += ["--data", f"{operand}={path(operand)}.npy"]
            command(path("trainer"), *words, "--steps", 1, "--export-gradients", path("gradients"))
            gradients = read_safetensors(path("gradients"))
        expected = {
            key: [float(wrapped(of(x, y), dtype)) for x, y in pairs]
            for key, (_, _, of) in OPERATORS.items()
        }
        for key in OPERATORS:
            got = gradients[f"{key}.weight"].reshape(-1)
            wrong = [
                f"{key} of {pair}: got {g}, expected {e}"
                for pair, g, e in zip(pairs, got, expected[key])
                if g != e
            ]
            self.assertEqual(wrong, [])
        return compiled.stderr

    def test_data(self):
        for name in TYPES:
            with self.subTest(type=name):
                self.assertNotIn("constant 0", self.values(name, constant=False))

    def test_constants_are_the_same_and_a_divisor_of_zero_is_named(self):
        for name in TYPES:
            with self.subTest(type=name):
                said = self.values(name, constant=True)
                for key in ("Div", "Mod", "Mod.fmod"):
                    self.assertIn(
                        (
                            f"node 'the.{key}' ({key.split('.')[0]}, opset 20): divides integers by"
                            " a constant 0; the result there is 0"
                        ),
                        said,
                    )


if __name__ == "__main__":
    unittest.main()
