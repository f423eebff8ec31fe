"""Operators at their seams against torch's recorded numbers: values and gradients, in float64
and float32, of one graph of all cases; of operators that are more than one op in 16 bits too,
where they round once.

The gradient of a case's weight is its value, so that a run's exported gradients are all
there is to compare."""
import json
import math
import os
import re
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

from reference import ROOT, SHARDC, command, read_safetensors

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seams")
sys.path.insert(0, FOLDER)
import table  # noqa: E402

LARGEST_ERROR = {"float64": 1e-10, "float32": 2e-6}  # of the number, or of 1
# Of 16-bit numbers: half a last place, for what is rounded once; the smallest that there is.
ROUNDING = {"bf16": (2.0**-9, 2.0**-134), "float16": (2.0**-12, 2.0**-25)}
FAMILIES = (
    "Activation",
    "ChannelNorm",
    "Elementwise",
    "Normalization",
    "Pooling",
    "Quantize",
    "Reduction",
)


def write_model(path, cases, numbers, number=TensorProto.FLOAT):
    """The sum of all cases, of floats of one type. Parameters go through a product with a data
    input of ones, so that nothing is a constant."""
    nodes, initializers, totals = [], [], []
    nodes.append(helper.make_node("ReduceMean", ["ones"], ["one"], keepdims=0))
    for case in cases:
        for name, values in case.arrays().items():
            flat = [v for row in values for v in row]
            initializers.append(
                helper.make_tensor(
                    f"{case.name}.{name}.weight", number, [len(values), len(values[0])], flat
                )
            )
            nodes.append(
                helper.make_node(
                    "Mul", [f"{case.name}.{name}.weight", "one"], [f"{case.name}.{name}"]
                )
            )
        own, result = table.build(case, number)
        count = len(numbers[case.name]["float64"]["value"])
        initializers.append(
            helper.make_tensor(f"{case.name}.shape", TensorProto.INT64, [2], [1, count])
        )
        initializers.append(
            helper.make_tensor(
                f"{case.name}.value.weight",
                number,
                [1, count],
                [table.weight(i) for i in range(count)],
            )
        )
        nodes += own
        nodes.append(
            helper.make_node("Reshape", [result, f"{case.name}.shape"], [f"{case.name}.flat"])
        )
        nodes.append(
            helper.make_node(
                "Mul", [f"{case.name}.flat", f"{case.name}.value.weight"], [f"{case.name}.weighted"]
            )
        )
        nodes.append(
            helper.make_node(
                "ReduceSum", [f"{case.name}.weighted"], [f"{case.name}.total"], keepdims=0
            )
        )
        totals.append(f"{case.name}.total")
    nodes.append(helper.make_node("Sum", totals, ["loss"]))
    graph = helper.make_graph(
        nodes,
        "seams",
        [helper.make_tensor_value_info("ones", number, [1, 1])],
        [helper.make_tensor_value_info("loss", number, [])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=8)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def gradients(folder, precision, cases, numbers):
    """What a step exports. Steps that are not finite are skipped where there is a loss scale; 2
    changes no digit."""
    model, trainer, ones, exported = (
        os.path.join(folder, name)
        for name in ("model.onnx", "trainer", "ones.npy", "gradients.safetensors")
    )
    double = precision == "float64"
    write_model(model, cases, numbers, TensorProto.DOUBLE if double else TensorProto.FLOAT)
    np.save(ones, np.ones((1, 1), np.float64 if double else np.float32))
    command(SHARDC, model, "--loss", "output:loss", "--precision", precision, "-o", trainer)
    command(
        trainer,
        "--data",
        f"ones={ones}",
        "--steps",
        1,
        "--loss-scale",
        2,
        "--export-gradients",
        exported,
    )
    return read_safetensors(exported)


def differs(got, expected, largest):
    if math.isnan(expected) or math.isinf(expected):
        return not (got == expected or (math.isnan(got) and math.isnan(expected)))
    return not abs(got - expected) <= largest * max(1.0, abs(expected))


class Seams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(FOLDER, "numbers.json")) as file:
            cls.numbers = json.load(file)

    def check(self, precision):
        with tempfile.TemporaryDirectory() as folder:
            got = gradients(folder, precision, table.CASES, self.numbers)
        wrong = []
        for case in table.CASES:
            expected = self.numbers[case.name][precision]
            points = case.arrays()
            for name, numbers in expected.items():
                numbers = [case.expected.get(name, {}).get(i, n) for i, n in enumerate(numbers)]
                # What no gradient reaches is not trained: Ceil's input.
                flat = got.get(f"{case.name}.{name}.weight", np.zeros(len(numbers))).reshape(-1)
                self.assertEqual(len(flat), len(numbers), f"{case.name}.{name}")
                for i, number in enumerate(numbers):
                    # At NaN itself there is no derivative, and torch has one or the other.
                    if name != "value" and any(
                        np.size(v) > i and math.isnan(np.reshape(v, -1)[i]) for v in points.values()
                    ):
                        continue
                    # Where torch loses digits of float32, its float64 number counts.
                    allowed = {number, self.numbers[case.name]["float64"][name][i]}
                    if all(differs(float(flat[i]), n, LARGEST_ERROR[precision]) for n in allowed):
                        at = ", ".join(
                            f"{n} = {np.reshape(v, -1)[i] if np.size(v) > i else '...'}"
                            for n, v in points.items()
                        )
                        wrong.append(
                            f"{case.name}: {name}[{i}] at {at}: got {flat[i]}, torch has {number}"
                        )
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_float64(self):
        self.check("float64")

    def test_float32(self):
        self.check("float32")

    def check_narrow(self, precision):
        with tempfile.TemporaryDirectory() as folder:
            # The loss is not kept in float32, or the operators before it were.
            got = gradients(
                folder, f"param={precision},keep=norm|softmax", table.NARROW_CASES, self.numbers
            )
        relative, smallest = ROUNDING[precision]
        wrong = []
        for case in table.NARROW_CASES:
            for name, numbers in self.numbers[case.name]["float64"].items():
                flat = got[f"{case.name}.{name}.weight"].reshape(-1)
                for i, number in enumerate(numbers):
                    allowed = 2 * relative * abs(number) + 2 * smallest
                    if case.nodes[0][0] == "LogSoftmax":
                        # Near 0 it is a difference in float32; its gradient reads the rounded
                        # result, as torch's does.
                        result, first = self.numbers[case.name]["float64"]["value"][i], i // 3 * 3
                        total = sum(table.weight(j) for j in range(first, first + 3))
                        allowed += (
                            2.0**-24
                            if name == "value"
                            else relative * abs(result) * math.exp(result) * total
                        )
                    if not abs(float(flat[i]) - number) <= allowed:
                        wrong.append(
                            f"{case.name}: {name}[{i}] is {flat[i]}, torch has {number} in float64"
                        )
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_bf16(self):
        self.check_narrow("bf16")

    def test_float16(self):
        self.check_narrow("float16")

    def test_every_operator_is_in_the_table(self):
        tested = {node[0] for case in table.CASES for node in case.nodes}
        for family in FAMILIES:
            with open(
                os.path.join(ROOT, "frontend", "onnx", "decode", f"Decode{family}.cpp")
            ) as file:
                operators = set(re.findall(r'^\s*\{"(\w+)", \d+, ', file.read(), re.MULTILINE))
            self.assertTrue(operators)
            self.assertEqual(
                operators - tested - table.WITHOUT_SEAMS,
                set(),
                f"operators of Decode{family}.cpp that seams/table.py has no case for",
            )


if __name__ == "__main__":
    unittest.main()
