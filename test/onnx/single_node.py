"""Models of one node: [batch, 4] becomes [batch, 4]."""
from onnx_writer import FLOAT, floats, graph, model, value

X = value("x", FLOAT, ["batch", 4])
Y = value("y", FLOAT, ["batch", 4])
WEIGHT = floats("w", [4, 4], [0.5] * 16)


def single(a_node, *initializers, inputs=(X,), version=20, outputs=(Y,), **options):
    return model(graph([a_node], inputs, outputs, initializers), version=version, **options)
