"""Writes a model with tensors as tools name them that are not PyTorch.

    tool_names.py MODEL.onnx
"""
import math
import random
import sys

from onnx_writer import FLOAT, floats, graph, ints, model, node, value

random.seed(1)


def free(*dims):
    return [random.uniform(-1, 1) for _ in range(math.prod(dims))]


initializers, nodes, last = [], [], "x"


def then(op, name=None, dims=(), values=None, **attributes):
    """One more node behind the last, with a tensor of this name."""
    global last
    if name:
        initializers.append(floats(name, list(dims), values or free(*dims)))
    output = f"net/{len(nodes)}"
    nodes.append(node(op, [last, *([name] if name else [])], [output], output, **attributes))
    last = output


# jax2onnx numbers what it stores.
then("MatMul", "const_1", [4, 4])
then("Add", "const_2", [4])
then("Mul", "const_3", [4], [1, 1, 1, 1])
then("Add", "const_4", [], [0.5])
then("Einsum", "const_5", [4, 4], equation="bi,ij->bj")
# TensorFlow's variables and the numbers of a program.
then("MatMul", "dense/MatMul/ReadVariableOp:0", [4, 4])
then("Add", "dense/BiasAdd/ReadVariableOp_1:0", [1])
then("Add", "norm/add/y:0", [], [1e-3])
then("Sub", "lambda/Const:0", [4])
# Paddle's numbers, and those of lists; a name of its own is a parameter's.
then("Mul", "helper.constant.2", [], [2.0])
then("Mul", "scales.0", [], [2.0])
then("Mul", "head.temperature", [], [2.0])
# Vectors whose role a view or a fused operator tells.
then("PRelu", "slope", [4])
initializers += [floats(name, [4], free(4)) for name in ("gamma", "beta", "bias", "scale")]
nodes += [
    node(
        "SkipLayerNormalization",
        [last, last, "gamma", "beta", "bias"],
        ["n"],
        domain="com.microsoft",
    ),
    node("Unsqueeze", ["scale", "front"], ["row"]),
    node("Mul", ["n", "row"], ["y"]),
]

if __name__ == "__main__":
    whole = graph(
        nodes,
        [value("x", FLOAT, ["batch", 4])],
        [value("y", FLOAT, ["batch", 4])],
        [*initializers, ints("front", [0])],
    )
    with open(sys.argv[1], "wb") as file:
        file.write(model(whole, domains=["com.microsoft"]))
