"""Losses that do more with sums over a batch than adding them up, as ONNX nodes and in numpy."""
import numpy as np
from onnx import TensorProto, helper

from drawn_runs import OUT

DOUBLE, FLOAT, INT = TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT64
ALL = (0, 1, 2)


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), output.split(), **attributes)


def total(value, output, *axes, keep=0, mean=False):
    """Opset 13's ReduceSum takes its axes as an input, ReduceMean as an attribute."""
    if mean:
        return node("ReduceMean", value, output, axes=list(axes), keepdims=keep)
    name = "axes" + "".join(map(str, axes))
    return node("ReduceSum", f"{value} {name}", output, keepdims=keep)


# What forms are made of: o [batch, length, out] of the model, l = o^2, and a mask [batch, length,
# 1] of floats with its integers; numpy's are of all samples together.
COMMON = [
    node("MatMul", "x w0", "h0"),
    node("Tanh", "h0", "h"),
    node("MatMul", "h w1", "o"),
    node("Mul", "o o", "l"),
    node("Slice", "x zero one two", "first"),
    node("Greater", "first low", "above"),
    node("Cast", "above", "mask", to=DOUBLE),
    node("Cast", "above", "marks", to=INT),
    node("Mul", "l mask", "masked"),
]
CONSTANTS = {
    "zero": np.array([0]),
    "one": np.array([1]),
    "two": np.array([2]),
    "low": np.array(0.4),
    "small": np.array(1e-3),
    "least": np.array(1),
    "whole": np.array(1.0),
    "none": np.array(0),
    "none_at": np.array(0),
    "one_at": np.array(1),
    "half": np.array(0.5),
    "rows": np.array([-1, OUT]),
    "flat": np.array([-1]),
    **{
        "axes" + "".join(map(str, axes)): np.array(axes)
        for axes in ((0,), (0, 1), (1, 2), ALL, (0, 1, 2, 3))
    },
}


class Form:
    """nodes: from what is common to "loss"; whole(o, mask, l): numpy's, of all samples."""

    def __init__(self, nodes, whole, sums=1):
        self.nodes, self.whole, self.sums = nodes, whole, sums


MASKED = [total("masked", "s", *ALL), total("mask", "c", *ALL), node("Div", "s c", "loss")]
FORMS = {
    "masked mean": Form(MASKED, lambda o, m, l: (l * m).sum() / m.sum(), sums=2),
    "clamped count": Form(
        [
            total("masked", "s", *ALL),
            total("marks", "n", *ALL),
            node("Max", "n least", "n1"),
            node("Cast", "n1", "c", to=DOUBLE),
            node("Div", "s c", "loss"),
        ],
        lambda o, m, l: (l * m).sum() / max(m.sum(), 1),
        sums=2,
    ),
    "nothing where there is none": Form(
        [
            total("masked", "s", *ALL),
            total("marks", "n", *ALL),
            node("Greater", "n none", "some"),
            node("Cast", "n", "c", to=DOUBLE),
            node("Div", "s c", "d"),
            node("Sub", "s s", "z"),
            node("Where", "some d z", "loss"),
        ],
        lambda o, m, l: (l * m).sum() / m.sum(),
        sums=2,
    ),
    "with a small number": Form(
        [
            total("masked", "s", *ALL),
            total("mask", "c", *ALL),
            node("Add", "c small", "c1"),
            node("Div", "s c1", "loss"),
        ],
        lambda o, m, l: (l * m).sum() / (m.sum() + 1e-3),
        sums=2,
    ),
    "weights of samples": Form(
        [
            total("mask", "c", *ALL),
            node("Div", "mask c", "share"),
            node("Mul", "l share", "shares"),
            total("shares", "loss", *ALL),
        ],
        lambda o, m, l: (l * (m / m.sum())).sum(),
        sums=2,
    ),
    "distances from the mean": Form(
        [
            total("o", "mu", 0, 1, keep=1, mean=True),
            node("Sub", "o mu", "d"),
            node("Mul", "d d", "dd"),
            total("dd", "v", 0, 1, mean=True),
            node("Add", "v small", "ve"),
            node("Sqrt", "ve", "deviation"),
            node("Sub", "half deviation", "less_than"),
            node("Relu", "less_than", "hinge"),
            node("ReduceMean", "hinge", "loss", keepdims=0),
        ],
        lambda o, m, l: np.maximum(0.5 - np.sqrt(o.var((0, 1)) + 1e-3), 0).mean(),
        sums=2,
    ),
    "root of a mean": Form(
        [total("l", "mse", *ALL, mean=True), node("Sqrt", "mse", "loss")],
        lambda o, m, l: np.sqrt(l.mean()),
    ),
    "root of a sum, divided": Form(
        [
            total("l", "s", *ALL),
            node("Size", "o", "n"),
            node("Cast", "n", "n1", to=DOUBLE),
            node("Div", "s n1", "mse"),
            node("Sqrt", "mse", "loss"),
        ],
        lambda o, m, l: np.sqrt(l.mean()),
    ),
    "half of a masked mean": Form(
        [
            total("masked", "s", *ALL),
            node("Mul", "s half", "h1"),
            total("mask", "c", *ALL),
            node("Div", "h1 c", "loss"),
        ],
        lambda o, m, l: 0.5 * (l * m).sum() / m.sum(),
        sums=2,
    ),
    "root of a sum by samples": Form(
        [
            total("l", "s", *ALL),
            node("Shape", "o", "dims"),
            node("Slice", "dims zero one zero", "count"),
            node("Squeeze", "count", "b"),
            node("Cast", "b", "b1", to=DOUBLE),
            node("Div", "s b1", "d"),
            node("Sqrt", "d", "loss"),
        ],
        lambda o, m, l: np.sqrt(l.sum() / len(l)),
    ),
    "two layers' shares": Form(
        [
            node("Softmax", "o", "g", axis=-1),
            node("Softmax", "l", "g2", axis=-1),
            total("g", "s1", 0, 1),
            total("g2", "s2", 0, 1),
            node("Add", "s1 s2", "s"),
            node("Size", "first", "n"),
            node("Cast", "n", "n1", to=DOUBLE),
            node("Add", "n1 n1", "n2"),
            node("Div", "s n2", "share"),
            node("Mul", "share share", "q"),
            node("ReduceSum", "q", "loss", keepdims=0),
        ],
        lambda o, m, l: (((softmax(o) + softmax(l)).sum((0, 1)) / (2 * m.size)) ** 2).sum(),
        sums=2,
    ),
    "covariances": Form(
        [
            node("Reshape", "o rows", "r"),
            node("Transpose", "r", "t", perm=[1, 0]),
            node("MatMul", "t r", "p"),
            node("Size", "first", "n"),
            node("Cast", "n", "n1", to=DOUBLE),
            node("Sub", "n1 whole", "n2"),
            node("Div", "p n2", "covariance"),
            node("Mul", "covariance covariance", "q"),
            node("ReduceSum", "q", "loss", keepdims=0),
        ],
        lambda o, m, l: (
            ((o.reshape(-1, OUT).T @ o.reshape(-1, OUT)) / (o.shape[0] * o.shape[1] - 1)) ** 2
        ).sum(),
    ),
    "a balance": Form(
        [
            node("Softmax", "o", "gate", axis=-1),
            total("gate", "share", 0, 1, mean=True),
            node("Mul", "gate mask", "used"),
            total("used", "load", 0, 1, mean=True),
            node("Mul", "share load", "balance"),
            node("ReduceSum", "balance", "b", keepdims=0),
            total("l", "mse", *ALL, mean=True),
            node("Add", "mse b", "loss"),
        ],
        lambda o, m, l: l.mean() + (softmax(o).mean((0, 1)) * (softmax(o) * m).mean((0, 1))).sum(),
        sums=2,
    ),
    "a mean": Form([total("l", "loss", *ALL, mean=True)], lambda o, m, l: l.mean(), sums=0),
    "means added up": Form(
        [
            total("l", "a", *ALL, mean=True),
            total("masked", "b", *ALL, mean=True),
            node("Mul", "b half", "b1"),
            node("Sub", "a b1", "loss"),
        ],
        lambda o, m, l: l.mean() - 0.5 * (l * m).mean(),
        sums=0,
    ),
    "masked means of samples": Form(
        [
            total("masked", "s", 1, 2),
            total("mask", "c", 1, 2),
            node("Add", "c small", "c1"),
            node("Div", "s c1", "d"),
            node("ReduceMean", "d", "loss", keepdims=0),
        ],
        lambda o, m, l: ((l * m).sum((1, 2)) / (m.sum((1, 2)) + 1e-3)).mean(),
        sums=0,
    ),
}


def softmax(values):
    shifted = np.exp(values - values.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)
