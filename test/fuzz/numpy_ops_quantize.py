"""Operators in numpy: what is quantized to integers, and made floats again."""
import numpy as np

from numpy_ops import op


def per_element(call, index):
    """A scale or zero point against the input's shape."""
    given, shape = call[index], call[0].shape
    if given.size == 1:
        return given.reshape(())
    axis = 0 if len(shape) == 1 else call.attribute("axis", 1) % len(shape)
    if block := call.attribute("block_size", 0):
        return np.repeat(given, block, axis).take(range(shape[axis]), axis)
    return given.reshape([-1 if d == axis else 1 for d in range(len(shape))])


def places_of(call):
    """Whole numbers, and the type whose bounds are not yet theirs."""
    zero = 0 if call[2] is None else per_element(call, 2)
    dtype = np.uint8 if call[2] is None else call[2].dtype
    return np.round(call[0] / per_element(call, 1)) + zero, dtype


def saturated(places, dtype):
    return np.clip(places, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


@op("QuantizeLinear")
def quantize(call):
    return [saturated(*places_of(call))]


@op("DequantizeLinear")
def dequantize(call):
    zero = 0 if call[2] is None else per_element(call, 2).astype(call.wide)
    return [(call[0].astype(call.wide) - zero) * per_element(call, 1)]


def dynamically(call):
    x = call[0]
    low, high = min(np.min(x), 0), max(np.max(x), 0)
    scale = call.wide((high - low) / 255) or call.wide(1)
    zero = np.clip(np.round(-low / scale), 0, 255)
    return np.round(x / scale) + zero, scale, zero


@op("DynamicQuantizeLinear")
def quantize_dynamically(call):
    places, scale, zero = dynamically(call)
    return [saturated(places, np.uint8), np.asarray(scale), np.asarray(zero, np.uint8)]


def through(call):
    """What is learned of what a node quantizes: itself, where it is within the type's bounds. None
    for other operators."""
    if call.node.op == "QuantizeLinear":
        places, dtype = places_of(call)
    elif call.node.op == "DynamicQuantizeLinear":
        places, dtype = dynamically(call)[0], np.uint8
    else:
        return None
    inside = (places >= np.iinfo(dtype).min) & (places <= np.iinfo(dtype).max)
    return np.where(inside, call[0], call.wide(0))
