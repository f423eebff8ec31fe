"""Every operator with every data type: it compiles and runs, or one line says which node does
not take which type."""
import unittest

import numpy as np
from onnx import TensorProto, helper

from tool_test import SHARDC, ToolTest, run

TYPES = {
    "float": (TensorProto.FLOAT, np.float32),
    "double": (TensorProto.DOUBLE, np.float64),
    "float16": (TensorProto.FLOAT16, np.float16),
    "bfloat16": (TensorProto.BFLOAT16, np.float32),
    "int64": (TensorProto.INT64, np.int64),
    "int32": (TensorProto.INT32, np.int32),
    "int16": (TensorProto.INT16, np.int16),
    "int8": (TensorProto.INT8, np.int8),
    "uint64": (TensorProto.UINT64, np.uint64),
    "uint32": (TensorProto.UINT32, np.uint32),
    "uint16": (TensorProto.UINT16, np.uint16),
    "uint8": (TensorProto.UINT8, np.uint8),
    "bool": (TensorProto.BOOL, np.bool_),
}
SHAPE = [3, 4]
UNARY = """
    Abs Celu Ceil Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsNaN LeakyRelu Log
    LogSoftmax Mish Neg Not Reciprocal Relu Selu Sigmoid Sign Sin Softmax Softplus Softsign Sqrt
    Swish Tanh ThresholdedRelu ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum ReduceSumSquare LpNormalization Flatten Transpose Dropout Trilu
""".split()
BINARY = (
    "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or PRelu Pow"
    " Sub Sum Xor".split()
)
INTS = {
    "axis": [1],
    "two": [0, 2],
    "shape": [4, 3],
    "grown": [2, 3, 4],
    "repeats": [2, 1],
    "pads": [1, 0, 0, 1],
    "first": [0],
    "second": [2],
}


def nodes_of(types):
    """(name, node inputs, attributes) of every operator; x and y are data of the
    type, ints constants."""
    cases = [(op, op, ["x"], {}) for op in UNARY] + [(op, op, ["x", "y"], {}) for op in BINARY]
    cases += [
        ("Mod.fmod", "Mod", ["x", "y"], {"fmod": 1}),
        ("Concat", "Concat", ["x", "y"], {"axis": 0}),
        ("Expand", "Expand", ["x", "grown"], {}),
        ("Reshape", "Reshape", ["x", "shape"], {}),
        ("Slice", "Slice", ["x", "first", "second"], {}),
        ("Split", "Split", ["x"], {"axis": 1, "num_outputs": 2}),
        ("Unsqueeze", "Unsqueeze", ["x", "axis"], {}),
        ("Tile", "Tile", ["x", "repeats"], {}),
        ("Pad", "Pad", ["x", "pads"], {}),
        ("CumSum", "CumSum", ["x", "axis"], {}),
        ("Gather", "Gather", ["x", "two"], {}),
        ("Where", "Where", ["condition", "x", "y"], {}),
        ("Pow.int64", "Pow", ["x", "exponents"], {}),
        ("Pow.float", "Pow", ["x", "powers"], {}),
        ("Pow.half", "Pow", ["x", "half"], {}),
    ]
    return cases + [
        (f"Cast.{name}", "Cast", ["x"], {"to": number}) for name, (number, _) in types.items()
    ]


class DataTypes(ToolTest):
    def write(self, cases, number):
        """The sum of the cases' results as floats, times a parameter."""
        nodes, totals = [], []
        used = {i for _, _, inputs, _ in cases for i in inputs}
        for name, values in INTS.items():
            if name in used:
                nodes.append(
                    helper.make_node(
                        "Constant",
                        [],
                        [name],
                        value=helper.make_tensor(name, TensorProto.INT64, [len(values)], values),
                    )
                )
        if "half" in used:
            nodes.append(
                helper.make_node(
                    "Constant",
                    [],
                    ["half"],
                    value=helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
                )
            )
        for name, op, inputs, attributes in cases:
            outputs = [f"{name}.0", f"{name}.1"] if op == "Split" else [f"{name}.0"]
            nodes.append(helper.make_node(op, inputs, outputs, name=f"the.{name}", **attributes))
            nodes.append(
                helper.make_node("Cast", outputs[:1], [f"{name}.float"], to=TensorProto.FLOAT)
            )
            nodes.append(
                helper.make_node("ReduceSum", [f"{name}.float"], [f"{name}.total"], keepdims=0)
            )
            totals.append(f"{name}.total")
        nodes += [
            helper.make_node("Sum", totals, ["sum"]),
            helper.make_node("Mul", ["sum", "head.weight"], ["scaled"]),
            helper.make_node("ReduceSum", ["scaled"], ["loss"], keepdims=0),
        ]
        data = {
            "x": number,
            "y": number,
            "condition": TensorProto.BOOL,
            "exponents": TensorProto.INT64,
            "powers": TensorProto.FLOAT,
        }
        inputs = [helper.make_tensor_value_info(n, t, SHAPE) for n, t in data.items() if n in used]
        graph = helper.make_graph(
            nodes,
            "types",
            inputs,
            [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
            [helper.make_tensor("head.weight", TensorProto.FLOAT, [2, 2], [0.5, 1.0, 1.5, 2.0])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=8)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return self.path("model.onnx"), [i.name for i in inputs]

    def check(self, name):
        number, dtype = TYPES[name]
        accepted = []
        for case in nodes_of(TYPES):
            model, _ = self.write([case], number)
            result = run(SHARDC, model, "--compile-to", "import")
            if result.code == 0:
                accepted.append(case)
            else:
                with self.subTest(operator=case[0]):
                    # Mod takes every type, but floats with fmod only. How soon it is said,
                    # other tests measure.
                    self.assertEqual(
                        (result.code, len(result.err.splitlines())), (1, 1), result.err
                    )
                    self.assertIn(f"node 'the.{case[0]}' ({case[1]}, opset ", result.err)
                    self.assertIn(
                        (
                            "fmod = 1 for floats"
                            if case[0] == "Mod" and name not in result.err
                            else name
                        ),
                        result.err,
                    )
        self.assertGreater(len(accepted), 15, "moves and casts take every type")
        model, inputs = self.write(accepted, number)
        trainer = self.path("trainer")
        result = run(SHARDC, model, "--loss", "output:loss", "-o", trainer)
        self.assertEqual(result.code, 0, result.err)
        ones = {
            "x": dtype,
            "y": dtype,
            "condition": np.bool_,
            "exponents": np.int64,
            "powers": np.float32,
        }
        words = []
        for i in inputs:
            np.save(self.path(f"{i}.npy"), np.ones(SHAPE, ones[i]))
            words += ["--data", f"{i}={self.path(i)}.npy"]
        result = run(trainer, *words, "--steps", 1)
        self.assertEqual(result.code, 0, result.err)


def add(name):
    setattr(DataTypes, f"test_{name}", lambda self: self.check(name))


for each in TYPES:
    add(each)

if __name__ == "__main__":
    unittest.main()
