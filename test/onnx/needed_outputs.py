"""Writes a model whose second output takes an operator that nothing supports, in a branch, too.

    needed_outputs.py MODEL.onnx
"""
import random
import sys

from onnx_writer import BOOL, FLOAT, INT64, Graph, floats, graph, model, node, tensor, value

random.seed(3)
other = Graph(graph([node("Unique", ["h"], ["u"], "unique")], [], [value("u", FLOAT, ["some"])]))
nodes = [
    node("MatMul", ["x", "w"], ["h"], "first"),
    node("MatMul", ["h", "v"], ["y"], "second"),
    node("If", ["is"], ["kinds"], "branch", then_branch=other, else_branch=other),
    node("Size", ["kinds"], ["count"], "size"),
]
matrices = [floats(n, [4, 4], [random.random() for _ in range(16)]) for n in "wv"]
condition = tensor("is", BOOL, [], raw=b"\1")
outputs = [value("y", FLOAT, ["batch", 4]), value("count", INT64, [])]
whole = graph(nodes, [value("x", FLOAT, ["batch", 4])], outputs, [*matrices, condition])
with open(sys.argv[1], "wb") as file:
    file.write(model(whole))
