#!/usr/bin/env python3
"""Writes graphs of one form and any size, for scaling.py and the tests of depth and width.

    make_scaling.py pieces 512 -o model.onnx

Every graph has the output `loss` (its mean square, or its only output), for --loss output:loss.
Weights are in the file.
"""
import argparse

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROWS = 2
DOMAIN = "local"


class Graph:
    """Nodes with made-up names, float32 parameters with values from a seed."""

    def __init__(self):
        self.nodes = []
        self.initializers = []
        self.functions = []
        self.inputs = []
        self.outputs = []
        self.random = np.random.default_rng(1)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(
                kind, list(inputs), names, name=f"node_{len(self.nodes)}", **attributes
            )
        )
        return names[0] if outputs == 1 else names

    def input(self, name, *dims):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name

    def parameter(self, name, *dims, scale=0.5):
        values = np.asarray(self.random.standard_normal(dims) * scale, np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def output(self, value, name, *dims):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"output_{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))

    def function(self, name, inputs, outputs, nodes):
        self.functions.append(
            helper.make_function(
                DOMAIN,
                name,
                inputs,
                outputs,
                nodes,
                [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)],
            )
        )

    def call(self, name, *inputs):
        return self.op(name, *inputs, domain=DOMAIN)

    def model(self, value=None):
        if value:
            self.output(self.op("ReduceMean", self.op("Mul", value, value), keepdims=0), "loss")
        graph = helper.make_graph(
            self.nodes, "scaling", self.inputs, self.outputs, self.initializers
        )
        return helper.make_model(
            graph,
            functions=self.functions,
            ir_version=9,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)],
        )


def hidden(g, columns, name="weight"):
    """tanh(x w), of ROWS x columns."""
    return g.op("Tanh", g.op("MatMul", g.input("x", ROWS, 8), g.parameter(name, 8, columns)))


# -- n pieces --------------------------------------------------------------------------------------


def split(g, x, n, axis=1):
    return g.op("Split", x, outputs=n, axis=axis, num_outputs=n) if n > 1 else [x]


def pieces(n):
    g = Graph()
    return g.model(
        g.op("Concat", *(g.op("Tanh", p) for p in split(g, hidden(g, 4 * n), n)), axis=1)
    )


def pieces_of_rows(n):
    g = Graph()
    x = g.op("Tanh", g.op("MatMul", g.input("x", n, 8), g.parameter("weight", 8, 4)))
    return g.model(g.op("Concat", *(g.op("Tanh", p) for p in split(g, x, n, axis=0)), axis=0))


def split_concat(n):
    g = Graph()
    return g.model(g.op("Concat", *reversed(split(g, hidden(g, 4 * n), n)), axis=1))


def concat_parameters(n):
    g = Graph()
    weights = [g.parameter(f"p{i}.weight", 8, 1 + i % 7) for i in range(n)]
    return g.model(g.op("MatMul", g.input("x", ROWS, 8), g.op("Concat", *weights, axis=1)))


def concat_mixed(n):
    """Pieces of different widths, each by another product."""
    g = Graph()
    x = g.input("x", ROWS, 8)
    return g.model(
        g.op(
            "Concat",
            *(g.op("MatMul", x, g.parameter(f"p{i}.weight", 8, 1 + i % 5)) for i in range(n)),
            axis=1,
        )
    )


def gathers(n):
    g = Graph()
    x = hidden(g, n)
    picked = [
        g.op("Tanh", g.op("Gather", x, g.constant(f"index{i}", [i]), axis=1)) for i in range(n)
    ]
    return g.model(g.op("Concat", *picked, axis=1))


def slices(n):
    g = Graph()
    x, axis = hidden(g, 2 * n), g.constant("axis", [1])
    cut = [
        g.op("Slice", x, g.constant(f"start{i}", [i]), g.constant(f"end{i}", [i + n]), axis)
        for i in range(0, n)
    ]
    total = cut[0]
    for c in cut[1:]:
        total = g.op("Add", total, g.op("Tanh", c))
    return g.model(total)


def cuts(n):
    """Disjoint slices, each multiplied with the next."""
    g = Graph()
    x, axis = hidden(g, 4 * n), g.constant("axis", [1])
    total = None
    for i in range(n):
        cut = g.op(
            "Slice", x, g.constant(f"start{i}", [4 * i]), g.constant(f"end{i}", [4 * i + 4]), axis
        )
        total = g.op("Mul", total, cut) if total else cut
    return g.model(total)


def stack(n):
    g = Graph()
    x, axis = g.input("x", ROWS, 8), g.constant("axis", [1])
    rows = [
        g.op("Unsqueeze", g.op("Mul", x, g.parameter(f"p{i}.weight", 8)), axis) for i in range(n)
    ]
    return g.model(g.op("Concat", *rows, axis=1))


def stack_chain(n):
    """The states of a recurrence, one behind the other."""
    g = Graph()
    w, axis, states = g.parameter("w", 8, 8), g.constant("axis", [1]), []
    x = g.input("x", ROWS, 8)
    for _ in range(n):
        x = g.op("Tanh", g.op("MatMul", x, w))
        states.append(g.op("Unsqueeze", x, axis))
    return g.model(g.op("Concat", *states, axis=1))


def variadic(kind):
    def make(n):
        g = Graph()
        x = g.input("x", ROWS, 8)
        return g.model(
            g.op(kind, *(g.op("Mul", x, g.parameter(f"p{i}.weight", 8)) for i in range(n)))
        )

    return make


def growing_concat(n):
    """Each concatenation has the one before: a dense block's, of one column each."""
    g = Graph()
    x = g.input("x", ROWS, 8)
    state = hidden_of = g.op("Mul", x, g.parameter("first.weight", 8))
    for i in range(n):
        new = g.op("Tanh", g.op("MatMul", hidden_of, g.parameter(f"p{i}.weight", 8, 8)))
        state, hidden_of = g.op("Concat", state, new, axis=1), new
    return g.model(state)


# -- n calls ---------------------------------------------------------------------------------------


def layer(call="Tanh", domain=""):
    return [
        helper.make_node("MatMul", ["a", "w"], ["m"], name="product"),
        helper.make_node(call, ["m"], ["b"], name="inner", domain=domain),
    ]


def calls(n):
    g = Graph()
    g.function("layer", ["a", "w"], ["b"], layer())
    x = g.input("x", ROWS, 8)
    w = g.parameter("w", 8, 8, scale=0.3)
    for _ in range(n):
        x = g.call("layer", x, w)
    return g.model(x)


def functions(n):
    """n functions, each called once."""
    g = Graph()
    x = g.input("x", ROWS, 8)
    w = g.parameter("w", 8, 8, scale=0.3)
    for i in range(n):
        g.function(f"layer{i}", ["a", "w"], ["b"], layer())
        x = g.call(f"layer{i}", x, w)
    return g.model(x)


def doubling(n):
    """Functions that call the one before twice: n calls of the innermost, for a power of two."""
    g = Graph()
    g.function(
        "f0",
        ["a", "w"],
        ["b"],
        [
            helper.make_node("Mul", ["a", "w"], ["m"], name="product"),
            helper.make_node("Tanh", ["m"], ["b"], name="act"),
        ],
    )
    depth = max(0, (n - 1).bit_length())
    for i in range(depth):
        g.function(
            f"f{i + 1}",
            ["a", "w"],
            ["c"],
            [
                helper.make_node(f"f{i}", ["a", "w"], ["b"], name="left", domain=DOMAIN),
                helper.make_node(f"f{i}", ["b", "w"], ["c"], name="right", domain=DOMAIN),
            ],
        )
    return g.model(g.call(f"f{depth}", g.input("x", ROWS, 8), g.parameter("w", 8)))


def nested(n):
    """Functions that call the one before: depth n."""
    g = Graph()
    g.function(
        "f0", ["a", "w"], ["b"], [helper.make_node("Mul", ["a", "w"], ["b"], name="product")]
    )
    for i in range(n):
        g.function(
            f"f{i + 1}",
            ["a", "w"],
            ["c"],
            [
                helper.make_node(f"f{i}", ["a", "w"], ["b"], name="call", domain=DOMAIN),
                helper.make_node("Tanh", ["b"], ["c"], name="act"),
            ],
        )
    return g.model(g.call(f"f{n}", g.input("x", ROWS, 8), g.parameter("w", 8)))


def nested_if(n):
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    g.initializers.append(numpy_helper.from_array(np.array(True), "condition"))

    def branch(depth):
        inside = [helper.make_node("Tanh", [x], [f"inside{depth}"], name=f"inside{depth}")]
        if depth < n:
            inside = [
                helper.make_node(
                    "If",
                    ["condition"],
                    [f"inside{depth}"],
                    name=f"if{depth}",
                    then_branch=branch(depth + 1),
                    else_branch=other(depth),
                )
            ]
        return helper.make_graph(
            inside,
            f"branch{depth}",
            [],
            [helper.make_tensor_value_info(f"inside{depth}", TensorProto.FLOAT, None)],
        )

    def other(depth):
        return helper.make_graph(
            [helper.make_node("Identity", [x], [f"other{depth}"])],
            f"other{depth}",
            [],
            [helper.make_tensor_value_info(f"other{depth}", TensorProto.FLOAT, None)],
        )

    return g.model(g.op("If", "condition", then_branch=branch(1), else_branch=other(0)))


def ifs(n):
    """A chain of n nodes If."""
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    g.initializers.append(numpy_helper.from_array(np.array(True), "condition"))
    for i in range(n):
        one, two = (
            helper.make_graph(
                [helper.make_node(kind, [x], [f"{kind}{i}"], name=kind)],
                kind,
                [],
                [helper.make_tensor_value_info(f"{kind}{i}", TensorProto.FLOAT, None)],
            )
            for kind in ("Tanh", "Neg")
        )
        x = g.op("If", "condition", then_branch=one, else_branch=two)
    return g.model(x)


# -- n nodes ---------------------------------------------------------------------------------------


def chain(n):
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    for _ in range(n):
        x = g.op("Tanh", x)
    return g.model(x)


def constants(n):
    """A chain of constant arithmetic."""
    g = Graph()
    g.initializers.append(numpy_helper.from_array(np.array(1.0, np.float32), "c"))
    value = "c"
    for _ in range(n):
        value = g.op("Sin", value)
    return g.model(g.op("Mul", g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8)), value))


def two_before(n):
    g = Graph()
    before = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    x = g.op("Tanh", before)
    for _ in range(n):
        before, x = x, g.op("Tanh", g.op("Add", x, before))
    return g.model(x)


def layers(n):
    g = Graph()
    x = g.input("x", ROWS, 8)
    for i in range(n):
        x = g.op(
            "Tanh",
            g.op(
                "Add",
                g.op("MatMul", x, g.parameter(f"layers.{i}.weight", 8, 8, scale=0.3)),
                g.parameter(f"layers.{i}.bias", 8),
            ),
        )
    return g.model(x)


def views(n):
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    shapes = [g.constant("wide", [4, 4]), g.constant("tall", [8, 2]), g.constant("flat", [2, 8])]
    for i in range(n):
        x = g.op("Transpose", g.op("Reshape", x, shapes[i % 3]), perm=[1, 0])
    return g.model(x)


def moved_chain(n):
    """Transposes between elementwise nodes."""
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    for _ in range(n):
        x = g.op("Tanh", g.op("Transpose", x, perm=[1, 0]))
    return g.model(x)


def norms(n):
    g = Graph()
    x = g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))
    for i in range(n):
        x = g.op(
            "LayerNormalization",
            x,
            g.parameter(f"norms.{i}.weight", 8),
            g.parameter(f"norms.{i}.bias", 8),
        )
    return g.model(x)


def residuals(n):
    g = Graph()
    x = g.input("x", ROWS, 8)
    for i in range(n):
        x = g.op(
            "Add",
            x,
            g.op("Tanh", g.op("MatMul", x, g.parameter(f"blocks.{i}.weight", 8, 8, scale=0.1))),
        )
    return g.model(x)


def fan_in(n):
    """Every fifth node sums four values made long before."""
    g = Graph()
    values = [g.op("Mul", g.input("x", ROWS, 8), g.parameter("w", 8))]
    for i in range(n):
        picked = [values[(i * k + k) % len(values)] for k in (1, 3, 7)]
        values.append(g.op("Tanh", g.op("Add", g.op("Mul", picked[0], picked[1]), picked[2])))
    return g.model(g.op("Sum", *values[-64:]))


def one_parameter(n):
    """One parameter that n nodes read, and one value that n nodes read."""
    g = Graph()
    x, w = g.input("x", ROWS, 8), g.parameter("w", 8)
    total, y = x, g.op("Tanh", x)
    for _ in range(n):
        total = g.op("Tanh", g.op("Add", total, g.op("Mul", y, w)))
    return g.model(total)


def outputs(n):
    g = Graph()
    x = g.input("x", ROWS, 8)
    total = None
    for i in range(n):
        y = g.op("Mul", x, g.parameter(f"p{i}.weight", 8))
        g.output(y, f"y{i}", ROWS, 8)
        total = g.op("Add", total, y) if total else y
    return g.model(total)


def inputs(n):
    g = Graph()
    w = g.parameter("w", 8)
    total = None
    for i in range(n):
        y = g.op("Mul", g.input(f"x{i}", ROWS, 8), w)
        total = g.op("Add", total, y) if total else y
    return g.model(total)


# fmt: off
FORMS = {
    "pieces": pieces, "pieces-of-rows": pieces_of_rows, "split-concat": split_concat,
    "concat-parameters": concat_parameters, "concat-mixed": concat_mixed, "gathers": gathers,
    "slices": slices, "cuts": cuts, "stack": stack, "stack-chain": stack_chain,
    "sum": variadic("Sum"), "max": variadic("Max"), "mean": variadic("Mean"),
    "growing-concat": growing_concat, "calls": calls, "functions": functions, "doubling": doubling,
    "nested": nested, "nested-if": nested_if, "ifs": ifs, "chain": chain, "constants": constants,
    "two-before": two_before, "layers": layers, "views": views, "moved-chain": moved_chain,
    "norms": norms, "residuals": residuals, "fan-in": fan_in, "one-parameter": one_parameter,
    "outputs": outputs, "inputs": inputs,
}
# fmt: on


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("size", type=int)
    parser.add_argument("-o", "--output", required=True)
    a = parser.parse_args()
    with open(a.output, "wb") as file:
        file.write(FORMS[a.form](a.size).SerializeToString())


if __name__ == "__main__":
    main()
