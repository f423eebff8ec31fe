"""Generators: what is carried along a sequence, or from row to row of a matrix; bits; optionals."""
import numpy as np

from builder import FLOATS, Unsuitable
from generate_products import of_shape
from generators import generates
from program import TYPES

WHY = "a state is rounded after all steps"


@generates("CumProd")
def cumprod(g, op):
    g.available(26)
    x = g.pick("i64", "i32", where=len) if g.chance(0.2) else g.float(lambda d: len(d) > 0)
    axis = g.scalar(g.integer(-g.rank(x), g.rank(x) - 1), g.choose("i64", "i32"))
    if g.type(x) in ("f16", "bf16"):
        raise Unsuitable("the compiler rounds once")
    g.emit(op, [x, axis], exclusive=g.choose(None, 1, 0), reverse=g.choose(None, 1, 0))


@generates("ReverseSequence")
def reverse_sequence(g, op):
    x = g.any(lambda d: len(d) > 1)
    time = g.choose(None, 0, 1)
    steps, sequences = g.dims(x)[time or 0], g.dims(x)[1 - (time or 0)]
    lengths = g.constant(g.numbers.integers(1, steps + 1, sequences), "i64")
    batch = None if time is None else 1 - time
    g.emit(op, [x, lengths], time_axis=time, batch_axis=batch)


@generates("TensorScatter")
def tensor_scatter(g, op):
    g.available(24)
    x = g.float(lambda d: len(d) > 2)
    dims, axis = g.dims(x), g.choose(-2, 1)
    length = dims[axis]
    steps = g.integer(1, length)
    shape = list(dims)
    shape[axis] = steps
    circular = g.chance(0.5)
    inputs = [x, of_shape(g, shape, g.type(x))]
    if g.chance(0.8):
        most = length if circular else length - steps + 1
        inputs.append(g.constant(g.numbers.integers(0, most, dims[0]), "i64"))
    mode = "circular" if circular else g.choose(None, "linear")
    g.emit(op, inputs, axis=axis if axis != -2 or g.chance(0.5) else None, mode=mode)


@generates("LinearAttention")
def linear_attention(g, op):
    g.available(27)
    g.wide_only(WHY)
    batch, steps, heads = g.size(2), g.integer(1, 4), g.choose(1, 2)
    queries, size, width = heads * g.choose(1, 2), g.size(3), g.size(3)
    rule = g.choose(None, "linear", "gated", "delta", "gated_delta")
    gated, delta = rule in (None, "gated", "gated_delta"), rule in (None, "delta", "gated_delta")
    query, key, value = (
        of_shape(g, [batch, steps, n], g.main)
        for n in (queries * size, heads * size, heads * width)
    )
    decay = beta = past = ""
    if gated:
        numbers = of_shape(g, [batch, steps, g.choose(heads, heads * size)], g.main)
        decay = g.emit("Neg", [g.emit("Softplus", [numbers])])
    if delta:
        numbers = of_shape(g, [batch, steps, g.choose(1, heads)], g.main)
        beta = g.emit("Sigmoid", [numbers])
    if g.chance(0.3):
        past = of_shape(g, [batch, heads, size, width], g.main)
    inputs = [query, key, value, past, decay, beta]
    while not inputs[-1]:
        inputs.pop()
    g.program.takes_constants = True  # one over the root of the heads' size
    g.emit(
        op,
        inputs,
        outputs=2,
        q_num_heads=queries,
        kv_num_heads=heads,
        update_rule=rule,
        scale=g.choose(None, 0.5),
    )


@generates("CausalConvWithState")
def causal_conv(g, op):
    g.available(27)
    g.wide_only(WHY)
    batch, channels, length, taps = g.size(2), g.size(4), g.integer(1, 5), g.integer(2, 4)
    inputs = [
        of_shape(g, [batch, channels, length], g.main),
        g.parameter([channels, 1, taps], g.main),
        g.parameter([channels], g.main) if g.chance(0.5) else "",
        of_shape(g, [batch, channels, taps - 1], g.main) if g.chance(0.4) else "",
    ]
    while not inputs[-1]:
        inputs.pop()
    g.emit(op, inputs, outputs=2, activation=g.choose(None, "none", "silu", "swish"))


@generates("Det")
def det(g, op):
    g.wide_only(WHY)
    rows = g.integer(1, 4)
    x = of_shape(g, [*([g.size(3)] if g.chance(0.7) else []), rows, rows], g.main)
    # The pivots are large enough for their quotients to tell.
    eye = g.constant(np.eye(rows) * g.choose(2.0, -3.0), g.main)
    g.emit(op, [g.emit("Add", [g.emit("Tanh", [x]), eye])])


@generates("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
def bitwise(g, op):
    g.available(18)
    x = g.pick("i64", "i32", "i8", "u8")
    g.emit(op, [x] if op == "BitwiseNot" else [x, g.partner(x)])


@generates("BitShift")
def bit_shift(g, op):
    x = g.pick("u8", *(("i8", "i32", "i64") if g.available_from(28) else ()))
    dtype = g.type(x)
    least = 0 if dtype == "u8" else -2
    most = 8 * np.dtype(TYPES[dtype][1]).itemsize + 2
    by = g.constant(g.numbers.integers(least, most, tuple(g.dims(x)[-1:])), dtype)
    g.emit(op, [x, by], direction=g.choose("LEFT", "RIGHT"))


@generates("BitCast")
def bit_cast(g, op):
    """Of integers alone: the references hold floats in wider types."""
    g.available(26)
    x = g.pick("i8", "u8")
    to = g.choose("i8", "u8")
    g.emit(op, [x], dtype=to, to=TYPES[to][0])


@generates("OptionalHasElement", "OptionalGetElement", "Optional")
def optional(g, op):
    g.available(18)
    x = g.float()
    if x in g.program.parameters:
        raise Unsuitable("a name for a parameter, as of Identity")
    if op == "OptionalHasElement":
        g.emit(op, [x], dtype="b1")
    elif op == "OptionalGetElement":
        g.emit(op, [x])
    else:
        g.emit("OptionalGetElement", [g.emit(op, [x], usable=False)])


@generates("SimplifiedLayerNormalization")
def simplified_norm(g, op):
    x = g.float(lambda d: len(d) > 0)
    if g.type(x) not in FLOATS or g.dims(x)[-1] < 2:
        raise Unsuitable("the norm of a number is its sign")
    scale = g.parameter([g.dims(x)[-1]], g.type(x))
    g.emit(op, [x, scale], axis=-1, epsilon=0.125)
