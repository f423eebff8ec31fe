"""Writes a model of two blocks whose norm weights the exporter has folded: 1 + weight is an
initializer with a name of its own.

    folded_parameters.py MODEL.onnx
"""
import sys

from onnx_writer import FLOAT, floats, graph, model, node, value


def scoped(op, inputs, output, *modules):
    """A node as the dynamo exporter writes it: every module that it lies in, and its operation."""
    path = ["", *modules, output]
    return node(
        op, inputs, [output], f"node_{output}", metadata={"pkg.torch.onnx.name_scopes": str(path)}
    )


nodes, initializers, last = [], [], "x"
for block in range(2):
    name = f"layers.{block}"
    nodes += [
        scoped("Mul", [last, f"add_{block}"], f"mul_{block}", "layers", name, f"{name}.norm"),
        scoped(
            "MatMul",
            [f"mul_{block}", f"{name}.proj.weight"],
            f"linear_{block}",
            "layers",
            name,
            f"{name}.proj",
        ),
        scoped("Tanh", [f"linear_{block}"], f"tanh_{block}", "layers", name),
    ]
    initializers += [
        floats(f"add_{block}", [4], [1.25, 1.5, 0.75, 1]),
        floats(f"{name}.proj.weight", [4, 4], [0.5 + block] * 16),
    ]
    last = f"tanh_{block}"
# What two modules read belongs to neither.
nodes += [scoped("Add", [last, "both"], "add", "head"), scoped("Mul", ["add", "both"], "y", "tail")]
initializers.append(floats("both", [4], [1, 0.5, 3, 2]))
with open(sys.argv[1], "wb") as file:
    file.write(
        model(
            graph(
                nodes,
                [value("x", FLOAT, ["batch", 4])],
                [value("y", FLOAT, ["batch", 4])],
                initializers,
            )
        )
    )
