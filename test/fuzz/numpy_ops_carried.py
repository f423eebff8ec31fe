"""The written reference: what is carried along a sequence, or from row to row of a matrix."""
import numpy as np
from numpy_ops import op, sigmoid


@op("CumProd")
def cumprod(call):
    axis, x = int(call[1].reshape(())), call[0]
    x = np.flip(x, axis) if call.attribute("reverse", 0) else x
    if call.attribute("exclusive", 0):
        ones = np.ones_like(np.take(x, [0], axis))
        x = np.concatenate([ones, np.delete(x, -1, axis)], axis)
    result = np.cumprod(x, axis, dtype=x.dtype)
    return [np.flip(result, axis) if call.attribute("reverse", 0) else result]


@op("ReverseSequence")
def reverse_sequence(call):
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    rows = np.moveaxis(np.array(call[0]), (batch, time), (0, 1))
    result = np.array(rows)
    for i, length in enumerate(call.ints(1)):
        result[i, :length] = rows[i, :length][::-1]
    return [np.moveaxis(result, (0, 1), (batch, time))]


@op("TensorScatter")
def tensor_scatter(call):
    cache, update = np.array(call[0]), call[1]
    axis = call.attribute("axis", -2) % cache.ndim
    first = [0] * len(cache) if call[2] is None else call.ints(2)
    moved, given = np.moveaxis(cache, axis, 1), np.moveaxis(update, axis, 1)
    for sample, begin in enumerate(first):
        for step in range(given.shape[1]):
            place = begin + step
            if call.attribute("mode", "linear") == "circular":
                place %= moved.shape[1]
            moved[sample, place] = given[sample, step]
    return [cache]


@op("LinearAttention")
def linear_attention(call):
    query, key, value, past, decay, beta = (call[i] for i in range(6))
    rule = call.attribute("update_rule", "gated_delta")
    heads, query_heads = call.attribute("kv_num_heads"), call.attribute("q_num_heads")
    batch, steps = query.shape[:2]
    size, width = key.shape[2] // heads, value.shape[2] // heads
    scale = call.real("scale", 0) or 1 / np.sqrt(call.wide(size))
    state = np.zeros((batch, heads, size, width), query.dtype) if past is None else np.array(past)
    outputs = []
    for t in range(steps):
        k = key[:, t].reshape(batch, heads, size)
        v = value[:, t].reshape(batch, heads, width)
        if rule.startswith("gated"):
            state = state * np.exp(decay[:, t].reshape(batch, heads, -1))[..., None]
        if rule.endswith("delta"):
            share = beta[:, t].reshape(batch, -1, 1)
            v = share * (v - np.einsum("bhk,bhkv->bhv", k, state))
        state = state + k[..., None] * v[..., None, :]
        q = query[:, t].reshape(batch, heads, query_heads // heads, size)
        outputs.append(scale * np.einsum("bhgk,bhkv->bhgv", q, state).reshape(batch, -1))
    return [np.stack(outputs, 1), state]


@op("CausalConvWithState")
def causal_conv(call):
    x, w, bias, past = (call[i] for i in range(4))
    taps = w.shape[2]
    before = np.zeros((*x.shape[:2], taps - 1), x.dtype) if past is None else past
    padded = np.concatenate([before, x], 2)
    result = np.stack(
        [
            np.sum(padded[:, :, t : t + taps] * w[:, 0], -1, dtype=x.dtype)
            for t in range(x.shape[2])
        ],
        2,
    )
    if bias is not None:
        result = result + bias[:, None]
    if call.attribute("activation", "none") != "none":
        result = result * sigmoid(result)
    return [result, padded[:, :, x.shape[2] :]]


@op("Det")
def det(call):
    """By the first row's minors: exact in any type."""

    def of(matrix):
        if matrix.shape[-1] == 1:
            return matrix[..., 0, 0]
        return sum(
            (-1) ** i * matrix[..., 0, i] * of(np.delete(matrix[..., 1:, :], i, -1))
            for i in range(matrix.shape[-1])
        )

    return [of(call[0])]


@op("BitShift")
def bit_shift(call):
    x, by = np.broadcast_arrays(call[0], call[1])
    bits = 8 * x.dtype.itemsize
    left = call.attribute("direction") == "LEFT"
    shifted = np.left_shift(x, by % bits) if left else np.right_shift(x, by % bits)
    # What is left where all bits leave: copies of the sign.
    rest = 0 if left else np.where(x < 0, -1, 0)
    return [np.where((by >= 0) & (by < bits), shifted, rest).astype(x.dtype)]


@op("BitCast")
def bit_cast(call):
    from program import OF_NUMBER, TYPES

    to = TYPES[OF_NUMBER[call.attribute("to")]][1]
    return [np.ascontiguousarray(call[0]).view(to).reshape(call[0].shape)]


@op("OptionalHasElement")
def optional_has_element(call):
    return [np.array(call[0] is not None)]


@op("SimplifiedLayerNormalization")
def simplified_norm(call):
    x = call[0]
    mean = np.mean(x * x, -1, keepdims=True, dtype=x.dtype)
    return [x / np.sqrt(mean + call.decimal("epsilon", 1e-5)) * call[1]]
