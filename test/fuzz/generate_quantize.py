"""Generators: what is quantized to integers, and made floats again."""
import numpy as np

from builder import Unsuitable
from generators import generates


def granularity(g, shape):
    """The shape of a scale, and the attributes that say so."""
    style = g.choose("one", "axis", "blocks")
    if style == "one" or not shape:
        return g.choose([], [1]) if shape else [], {}
    axis = 0 if len(shape) == 1 else g.integer(0, len(shape) - 1)
    named = {"axis": axis if g.chance(0.7) else axis - len(shape)}
    if style == "axis" or len(shape) == 1 or not g.available_from(21):
        return [shape[axis]], {} if axis == 1 and g.chance(0.5) else named
    block = g.integer(1, shape[axis])
    scales = list(shape)
    scales[axis] = -(-shape[axis] // block)
    return scales, named | {"block_size": block}


@generates("QuantizeLinear", "DequantizeLinear")
def quantize(g, op):
    x = g.float()
    dtype, integers = g.type(x), g.choose("i8", "u8")
    if dtype != "f32":
        raise Unsuitable("the quotient is rounded to the scale's type")
    scales, attributes = granularity(g, g.dims(x))
    scale = g.constant(g.numbers.uniform(0.02, 0.4, tuple(scales)), dtype)
    inputs = [scale]
    if integers == "i8" or g.chance(0.7):
        low, high = (0, 200) if integers == "u8" else (-50, 50)
        inputs.append(g.constant(g.numbers.integers(low, high, tuple(scales)), integers))
    whole = g.emit("QuantizeLinear", [x, *inputs], dtype=integers, **attributes)
    g.emit("DequantizeLinear", [whole, *inputs], dtype=dtype, **attributes)


@generates("DynamicQuantizeLinear")
def quantize_dynamically(g, op):
    x = g.float()
    if g.type(x) != "f32":
        raise Unsuitable("the quotient is rounded to the scale's type")
    if x not in g.program.parameters:
        raise Unsuitable("a scale of all samples is another for each rank")
    # Its scale has no gradient: nothing else reads it.
    names = g.emit(op, [x], dtype=["u8", "f32", "u8"], outputs=3, usable=False)
    g.emit("DequantizeLinear", names, dtype="f32")
