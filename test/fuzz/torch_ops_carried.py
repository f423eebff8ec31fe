"""The second reference: what is carried along a sequence, or from row to row of a matrix."""
import torch
import torch.nn.functional as F
from torch_ops import DTYPES, op


@op("CumProd")
def cumprod(call):
    axis, x = int(call[1]), call[0]
    x = torch.flip(x, [axis]) if call.attribute("reverse", 0) else x
    if call.attribute("exclusive", 0):
        x = torch.cat(
            [torch.ones_like(x.narrow(axis, 0, 1)), x.narrow(axis, 0, x.shape[axis] - 1)], axis
        )
    result = torch.cumprod(x, axis, dtype=x.dtype)
    return [torch.flip(result, [axis]) if call.attribute("reverse", 0) else result]


@op("ReverseSequence")
def reverse_sequence(call):
    time = call.attribute("time_axis", 0)
    rows = []
    for row, length in zip(call[0].unbind(1 - time), call.ints(1)):
        rows.append(torch.cat([torch.flip(row[:length], [0]), row[length:]]))
    return [torch.stack(rows, 1 - time)]


@op("TensorScatter")
def tensor_scatter(call):
    cache, update = call[0], call[1]
    axis = call.attribute("axis", -2) % cache.ndim
    first = [0] * len(cache) if call[2] is None else call.ints(2)
    results = []
    for sample, given, begin in zip(cache.unbind(0), update.unbind(0), first):
        place = torch.arange(begin, begin + given.shape[axis - 1])
        if call.attribute("mode", "linear") == "circular":
            place = place % sample.shape[axis - 1]
        results.append(sample.index_copy(axis - 1, place, given))
    return [torch.stack(results)]


@op("LinearAttention")
def linear_attention(call):
    """The sum over earlier steps of what each left, by products of transitions: no state."""
    query, key, value, past, decay, beta = (call[i] for i in range(6))
    rule = call.attribute("update_rule", "gated_delta")
    heads, query_heads = call.attribute("kv_num_heads"), call.attribute("q_num_heads")
    batch, steps = query.shape[:2]
    split = lambda x, n: x.reshape(batch, steps, n, -1).transpose(1, 2)
    q, k, v = split(query, query_heads), split(key, heads), split(value, heads)
    scale = float(call.real("scale", 0)) or k.shape[-1] ** -0.5
    eye = torch.eye(k.shape[-1], dtype=k.dtype).expand(batch, heads, -1, -1)
    states, state = [], torch.zeros(batch, heads, k.shape[-1], v.shape[-1], dtype=k.dtype)
    if past is not None:
        state = past
    for t in range(steps):
        move = eye
        outer = k[:, :, t, :, None]
        if rule.startswith("gated"):
            move = move * torch.exp(split(decay, heads)[:, :, t])[:, :, None, :]
        share = 1.0
        if rule.endswith("delta"):
            share = split(beta, beta.shape[2])[:, :, t, :, None]
            move = (eye - share * outer @ outer.transpose(2, 3)) @ move
        state = move @ state + share * outer @ v[:, :, t, None]
        states.append(state)
    grouped = torch.stack(states, 2).repeat_interleave(query_heads // heads, 1)
    out = scale * (q[..., None, :] @ grouped).squeeze(-2)
    return [out.transpose(1, 2).flatten(2), state]


@op("CausalConvWithState")
def causal_conv(call):
    x, w, bias, past = (call[i] for i in range(4))
    taps = w.shape[2]
    padded = F.pad(x, (taps - 1, 0)) if past is None else torch.cat([past, x], 2)
    result = F.conv1d(padded, w, bias, groups=x.shape[1])
    if call.attribute("activation", "none") != "none":
        result = F.silu(result)
    return [result, padded[:, :, x.shape[2] :]]


@op("Det")
def det(call):
    return [torch.linalg.det(call[0])]


@op("BitShift")
def bit_shift(call):
    x, by = torch.broadcast_tensors(call[0], call[1])
    wide, by, most = x.long(), by.long(), 8 * x.element_size() - 1
    gone = (by < 0) | (by > most)
    if call.attribute("direction") == "LEFT":
        moved = torch.where(gone, 0, wide << torch.where(gone, 0, by))
    else:
        moved = wide >> torch.where(gone, most + (wide >= 0), by).clamp(max=63)
    return [moved.to(x.dtype)]


@op("BitCast")
def bit_cast(call):
    from program import OF_NUMBER

    return [call[0].view(DTYPES[OF_NUMBER[call.attribute("to")]])]


@op("OptionalHasElement")
def optional_has_element(call):
    return [torch.tensor(call[0] is not None)]


@op("SimplifiedLayerNormalization")
def simplified_norm(call):
    epsilon = call.decimal("epsilon", 1e-5)
    return [F.rms_norm(call[0], call[0].shape[-1:], call[1], epsilon)]
