"""Writes a model as PyTorch's legacy exporter does, without a word on what is a parameter, with one
tensor of each kind.

    roles.py MODEL.onnx
"""
import math
import random
import sys

from onnx_writer import FLOAT, INT64, floats, graph, ints, model, node, value

random.seed(0)


def free(*dims):
    return [random.uniform(-1, 1) for _ in range(math.prod(dims))]


def sines(rows, columns):
    return [
        f(row / 100 ** (column / columns))
        for row in range(rows)
        for column in range(columns // 2)
        for f in (math.sin, math.cos)
    ]


initializers = [
    # Parameters: everything that bears a module's name, is read as a float and holds values
    # that follow no rule.
    floats("logit_scale", [], [0.7]),
    floats("mask_token", [1, 4], free(4)),
    floats("power", [4], [1.5, 2, 2.5, 1.25]),
    floats("pe", [8, 4], free(8, 4)),
    floats("slopes", [4], free(4)),
    floats("block.attn.bias", [1, 1, 4, 4], free(4, 4)),
    floats("norm.mask", [4], [1, 1, 1, 1]),
    floats("low", [], [-0.5]),
    floats("layers.0.bias", [4], free(4)),
    floats("layers.1.bias", [4], free(4)),
    floats("embed.weight", [8, 4], free(8, 4)),
    # Buffers: tables and masks, and what Hugging Face calls one.
    floats("pos.pe", [8, 4], sines(8, 4)),
    floats("alibi", [4], [0.5, 0.25, 0.125, 0.0625]),
    floats("block.old.bias", [1, 1, 4, 4], [float(j <= i) for i in range(4) for j in range(4)]),
    floats("final_logits_bias", [1, 4], [0] * 4),
    # A parameter that is never trained.
    floats("positions.weight", [8, 4], sines(8, 4)),
    # What exporters make: weights that they transposed and merged, numbers, and what they computed.
    floats("onnx::MatMul_9", [4, 4], free(4, 4)),
    floats("onnx::Mul_11", [4], free(4)),
    floats("onnx::Add_12", [1, 4], [-1e9, 0, 0, -1e9]),
    floats("/Constant_output_0", [], [1e-5]),
    # Nothing reaches it.
    floats("threshold", [], [0.1]),
    ints("start", [0]),
    ints("end", [1]),
]
nodes = [
    node("Identity", ["onnx::MatMul_9"], ["onnx::MatMul_10"]),
    node("MatMul", ["x", "onnx::MatMul_9"], ["/layers.0/MatMul_output_0"], "/layers.0/MatMul"),
    node(
        "Add",
        ["layers.0.bias", "/layers.0/MatMul_output_0"],
        ["/layers.0/Add_output_0"],
        "/layers.0/Add",
    ),
    node(
        "MatMul",
        ["/layers.0/Add_output_0", "onnx::MatMul_10"],
        ["/layers.1/MatMul_output_0"],
        "/layers.1/MatMul",
    ),
    node(
        "Add",
        ["layers.1.bias", "/layers.1/MatMul_output_0"],
        ["/layers.1/Add_output_0"],
        "/layers.1/Add",
    ),
]
last = "/layers.1/Add_output_0"


def then(op, *inputs, **attributes):
    """One more node behind the last."""
    global last
    name = f"/{op}_{len(nodes)}"
    nodes.append(node(op, [last, *inputs], [f"{name}_output_0"], name, **attributes))
    last = f"{name}_output_0"


nodes += [
    node("Greater", ["x", "threshold"], ["/Greater_output_0"]),
    node("Exp", ["logit_scale"], ["/Exp_output_0"]),
    node("Where", ["/Greater_output_0", "mask_token", last], ["/Where_output_0"]),
    node("Slice", ["pe", "start", "end"], ["/Slice_output_0"]),
    node("Slice", ["pos.pe", "start", "end"], ["/Slice_1_output_0"]),
    node("Gather", ["embed.weight", "ids"], ["/Gather_output_0"]),
    node("Gather", ["positions.weight", "ids"], ["/Gather_1_output_0"]),
    node("ReduceSum", ["block.attn.bias"], ["/ReduceSum_output_0"], keepdims=0),
    node("ReduceSum", ["block.old.bias"], ["/ReduceSum_1_output_0"], keepdims=0),
]
last = "/Where_output_0"
then("Mul", "/Exp_output_0")
then("Clip", "low")
then("Abs")
then("Pow", "power")
for name in (
    "/Slice_output_0",
    "/Slice_1_output_0",
    "/Gather_output_0",
    "/Gather_1_output_0",
    "/ReduceSum_output_0",
    "/ReduceSum_1_output_0",
):
    then("Add", name)
for name in ("slopes", "norm.mask", "alibi", "onnx::Mul_11"):
    then("Mul", name)
for name in ("onnx::Add_12", "/Constant_output_0", "final_logits_bias"):
    then("Add", name)
nodes.append(node("Identity", [last], ["y"]))
with open(sys.argv[1], "wb") as file:
    file.write(
        model(
            graph(
                nodes,
                [value("x", FLOAT, ["batch", 4]), value("ids", INT64, ["batch"])],
                [value("y", FLOAT, ["batch", 4])],
                initializers,
            ),
            producer="pytorch",
        )
    )
