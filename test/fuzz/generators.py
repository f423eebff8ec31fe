"""Generators by operator: each adds nodes of its operator, with arguments and attributes that the
specification allows. This file has the table, and what maps elements to elements."""
import numpy as np

from builder import FLOATS, Unsuitable
from program import TYPES, rounded

GENERATORS = {}
SINCE = {
    "LayerNormalization": 17,
    "RMSNormalization": 23,
    "Attention": 23,
    "RotaryEmbedding": 23,
    "Gelu": 20,
    "Mish": 18,
    "Swish": 24,
    "SwiGLU": 28,
    "CastLike": 15,
    "HardSwish": 14,
    "Trilu": 14,
    "GroupNormalization": 18,
}
# Those whose result jumps where rounding turns an operand over.
JUMPS = {
    "Ceil",
    "Floor",
    "Round",
    "Shrink",
    "Sign",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Mod",
    "ThresholdedRelu",
    "IsNaN",
    "NonZero",
    "ArgMax",
    "ArgMin",
    "TopK",
    "Hardmax",
    "IsInf",
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
}


def generates(*names):
    def register(function):
        for name in names:
            GENERATORS[name] = function
        return function

    return register


@generates(
    "Abs",
    "Asinh",
    "Atan",
    "Ceil",
    "Cos",
    "Erf",
    "Floor",
    "Identity",
    "Neg",
    "Relu",
    "Round",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Tanh",
    "Mish",
    "HardSwish",
)
def unary(g, op):
    x = g.float()
    if op == "HardSwish" and g.type(x) in ("f16", "bf16"):
        raise Unsuitable("a sixth is no number of 16 bits")
    g.program.takes_constants |= op == "HardSwish"
    if op == "Identity" and x in g.program.parameters:
        raise Unsuitable("exporters name tied parameters so: the writer does")
    if op in ("Abs", "Neg", "Sign", "Identity") and g.chance(0.25):
        x = g.pick("i64", "i32", "i8", *(("u8", "b1") if op == "Identity" else ()))
    g.emit(op, [x])


@generates("Cosh", "Exp", "Log", "Sinh", "Sqrt", "Reciprocal")
def guarded(g, op):
    x = g.float()
    anywhere = op in ("Cosh", "Exp", "Sinh")
    g.emit(op, [g.positive(x) if not anywhere or g.chance(0.5) else x])


@generates("Tan")
def tangent(g, op):
    g.emit(op, [g.emit("Softsign", [g.float()])])  # no pole is near


@generates("Acos", "Asin", "Atanh")
def inverse_within_one(g, op):
    x = g.emit("Softsign", [g.float()])
    g.emit(op, [g.emit("Mul", [x, g.scalar(0.75, g.type(x))])])


@generates("Acosh")
def inverse_above_one(g, op):
    x = g.positive(g.float())
    g.emit(op, [g.emit("Add", [x, g.scalar(1.0, g.type(x))])])


@generates("Add", "Sub", "Mul")
def arithmetic(g, op):
    x = g.float() if g.chance(0.85) else g.pick("i64", "i32", "i8", "u8")
    y = x if g.chance(0.08) else g.partner(x)
    g.emit(op, [x, y] if g.chance(0.5) else [y, x])


@generates("Div", "Mod")
def division(g, op):
    if op == "Mod" or g.chance(0.3):
        x = g.pick("i64", "i32", "i8", "u8") if op == "Div" or g.chance(0.7) else g.float()
        dtype = g.type(x)
        if dtype in FLOATS:
            y = g.constant(np.array(g.choose(0.7, 1.3, -2.6)), dtype)
            g.emit("Mod", [x, y], fmod=g.choose(0, 1) if g.available_from(28) else 1)
            return
        shape = [d if g.chance(0.5) else 1 for d in g.dims(x)]
        values = g.numbers.integers(1, 7, tuple(shape)) * (1 if dtype == "u8" else g.choose(1, -1))
        g.emit(
            op, [x, g.constant(values, dtype)], **({"fmod": g.choose(0, 1)} if op == "Mod" else {})
        )
        return
    x = g.float()
    y = g.positive(g.partner(x)) if g.chance(0.8) else g.scalar(g.choose(2.0, -0.5, 3.0), g.type(x))
    g.emit("Div", [x, y])


@generates("IsInf")
def is_inf(g, op):
    x = g.float()
    if g.chance(0.5):  # some that are
        x = g.emit("Div", [x, g.literal([], g.type(x))], usable=False, bounded=False)
    flags = {
        "detect_positive": g.choose(None, 0, 1),
        "detect_negative": g.choose(None, 0, 1),
    }
    g.emit(op, [x], dtype="b1", **flags)


@generates("Pow")
def power(g, op):
    x, way = g.float(), g.integer(0, 4)
    dtype = g.type(x)
    if way == 0:
        g.emit("Pow", [x, g.scalar(g.choose(2.0, 3.0, 1.0, 4.0), dtype)])
    elif way == 1:
        g.emit("Pow", [x, g.scalar(g.choose(2, 3, 0, 1), g.choose("i64", "i32"))])
    elif way == 2:
        g.emit("Pow", [g.positive(x), g.scalar(g.choose(0.5, -0.5, -1.0, 1.5, -2.0, 0.25), dtype)])
    elif way == 3:
        base = g.positive(x)
        g.emit("Pow", [base, g.partner(base)])
    else:
        base = g.pick("i64", "i32")
        g.emit(
            "Pow",
            [base, g.constant(g.numbers.integers(0, 4, tuple(g.dims(base)[-1:])), g.type(base))],
        )


@generates("Max", "Min", "Sum", "Mean")
def variadic(g, op):
    x = g.float() if op in ("Sum", "Mean") or g.chance(0.8) else g.pick("i64", "i32", "i8", "u8")
    g.emit(op, [x, *(g.partner(x) for _ in range(g.integer(0 if g.chance(0.1) else 1, 3)))])


@generates("And", "Or", "Xor")
def logical(g, op):
    x = boolean(g)
    g.emit(op, [x, g.partner(x)])


@generates("Not")
def logical_not(g, op):
    g.emit(op, [boolean(g)])


def boolean(g):
    try:
        if g.chance(0.8):
            return g.pick("b1")
    except Unsuitable:
        pass
    return compare(g, g.choose("Greater", "Less", "Equal"))


@generates("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(g, op):
    if g.smooth or g.chance(0.4):
        x = g.pick("i64", "i32", "i8", "u8", *(("b1",) if op == "Equal" else ()))
    else:
        x = g.float()
    return g.emit(op, [x, g.partner(x)], dtype="b1")


@generates("IsNaN")
def is_nan(g, op):
    x = g.float()
    if g.chance(0.5):
        values = np.where(g.numbers.random(tuple(g.dims(x))) < 0.3, np.nan, 1.0)
        x = g.constant(values, g.type(x), "node")
    g.emit("IsNaN", [x], dtype="b1")


@generates("Where")
def where(g, op):
    x = g.any()
    other = g.partner(x)
    condition = (
        g.pick("b1", where=lambda d: broadcasts(d, g.dims(x)))
        if g.chance(0.5)
        else g.literal([d if g.chance(0.8) else 1 for d in g.dims(x)], "b1")
    )
    g.emit(
        "Where", [condition, x, other] if g.chance(0.5) else [condition, other, x], dtype=g.type(x)
    )


def broadcasts(a, b):
    try:
        return bool(np.prod(np.broadcast_shapes(tuple(a), tuple(b))) < 1500)
    except ValueError:
        return False


def cast(g, x, dtype):
    return g.emit("Cast", [x], dtype=dtype, to=TYPES[dtype][0])


@generates("Cast")
def casts(g, op):
    way = g.integer(0, 3)
    if way == 0:  # among floats and back
        x = g.float()
        y = cast(g, x, g.choose(*FLOATS))
        if g.chance(0.7):
            cast(g, y, g.type(x))
    elif way == 1:  # integers to floats
        cast(g, g.pick("i64", "i32", "i8", "u8", "b1"), g.main)
    elif way == 2:
        cast(g, g.pick("i64", "i32", "i8", "u8", "b1"), g.choose("i64", "i32", "i8", "u8", "b1"))
    elif g.smooth:
        raise Unsuitable("jumps")
    else:  # to integers and back
        to = g.choose("i64", "i32", "i8", "u8", "b1")
        x = g.float()
        y = cast(g, g.positive(x) if to == "u8" else x, to)
        if g.chance(0.7):
            cast(g, y, g.main)


@generates("CastLike")
def cast_like(g, op):
    x = g.float()
    if g.smooth or g.chance(0.6):
        like = g.float()
    else:
        like = g.pick("i64", "i32", "i8", "b1")
    g.emit("CastLike", [x, like], dtype=g.type(like))


@generates("Clip")
def clip(g, op):
    x = g.float() if g.chance(0.8) else g.pick("i64", "i32", "i8")
    dtype = g.type(x)
    low = g.scalar(g.integer(-3, 1) / (2 if dtype in FLOATS else 1), dtype) if g.chance(0.7) else ""
    high = g.scalar(g.integer(1, 4) / (2 if dtype in FLOATS else 1), dtype) if g.chance(0.7) else ""
    if dtype in FLOATS and g.chance(0.15):
        high = g.parameter([], dtype)
    g.emit("Clip", [x, low, high] if high else [x, low] if low else [x])


@generates("Dropout")
def dropout(g, op):
    x = g.float()
    more = []
    if g.chance(0.5):
        more = [g.scalar(g.choose(0.0, 0.5), "f32")]
        more += [g.constant(np.array(False), "b1")] if g.chance(0.7) else []
    if more and g.program.constants[more[0]][1] == 0 and g.chance(0.5):
        more = [more[0], g.constant(np.array(True), "b1")]
    (
        g.emit("Dropout", [x, *more], outputs=2, dtype=[g.type(x), "b1"])
        if g.chance(0.3)
        else g.emit("Dropout", [x, *more])
    )


@generates("RandomUniformLike", "Bernoulli")
def drawn(g, op):
    """Events that are sure, which no reference has to draw."""
    x, is_true = g.float(), g.chance(0.5)
    dtype = g.type(x)
    if g.program.opset < 15:
        raise Unsuitable("Bernoulli and CastLike are of opset 15")
    if op == "Bernoulli":
        chance = g.constant(np.full(g.dims(x), 1.0 if is_true else 0.0), dtype)
        mask = g.emit("Bernoulli", [chance])
    else:
        numbers = g.emit("RandomUniformLike", [x], usable=False)
        bound = g.scalar(g.choose(1.0, 2.0) if is_true else g.choose(0.0, -1.0), dtype)
        less = g.emit("Less", [numbers, bound], dtype="b1")
        mask = g.emit("CastLike", [less, x], dtype=dtype)
    g.emit("Mul", [x, mask])


@generates("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
def numbers(g, op):
    """Of no spread, which every reference knows."""
    x = g.float()
    value = float(g.choose(0.0, 0.5, -1.5))
    spread = {"mean": value, "scale": 0.0} if "Normal" in op else {"low": value, "high": value}
    if op.endswith("Like"):
        drawn = g.emit(op, [x], usable=False, **spread)
    else:
        dtype = g.type(x)
        more = {"of": dtype, "shape": list(g.dims(x))}
        drawn = g.emit(op, [], dtype=dtype, usable=False, **more, **spread)
    g.emit("Add", [x, drawn])


def number(g, dtype, *options):
    """A float attribute, as float32 stores it, or None for the default. It is computed with in the
    value's type: one of 16 bits gets what it can hold."""
    if dtype in ("f16", "bf16"):
        return float(g.choose(*[o for o in options if rounded(o, dtype) == o]))
    return None if g.chance(0.3) else float(np.float32(g.choose(*options)))


@generates("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Swish")
def with_alpha(g, op):
    options = {
        "LeakyRelu": (0.2, -0.5, 0.0, 1.0),
        "Elu": (0.5, 1.0, 2.0),
        "Celu": (0.5, 1.0, 2.0),
        "ThresholdedRelu": (0.3, -0.2, 0.0),
        "Swish": (1.0, 1.702, 0.5),
    }[op]
    x = g.float()
    g.emit(op, [x], alpha=number(g, g.type(x), *options))


@generates("SwiGLU")
def swiglu(g, op):
    gate = g.float()
    value = g.emit(g.choose("Tanh", "Neg", "Softsign"), [gate])
    pair = [gate, value] if g.chance(0.5) else [value, gate]
    g.emit(op, pair, alpha=number(g, g.type(gate), 1.0, 1.702, 0.5))


@generates("Shrink")
def shrink(g, op):
    x = g.float()
    g.emit(
        op, [x], lambd=number(g, g.type(x), 0.5, 0.25), bias=number(g, g.type(x), 0.0, 0.5, 0.125)
    )


@generates("Selu")
def selu(g, op):
    x = g.float()
    g.emit(op, [x], alpha=number(g, g.type(x), 1.5, 0.7), gamma=number(g, g.type(x), 1.25, 0.8))


@generates("HardSigmoid")
def hard_sigmoid(g, op):
    x = g.float()
    g.emit(op, [x], alpha=number(g, g.type(x), 0.25, 1 / 6), beta=number(g, g.type(x), 0.4, 0.5))


@generates("Gelu")
def gelu(g, op):
    g.emit(op, [g.float()], approximate=g.choose(None, "none", "tanh"))


@generates("PRelu")
def prelu(g, op):
    x = g.float()
    g.emit(op, [x, g.partner(x, narrow=True)])
