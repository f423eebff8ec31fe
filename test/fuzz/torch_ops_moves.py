"""The second reference: operators that move elements, attention, sequences and losses,
as torch functions."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from torch_ops import DTYPES, convert, op, tensor


@op("Constant")
def constant(call):
    for name, dtype in (
        ("value_int", "i64"),
        ("value_ints", "i64"),
        ("value_float", "f32"),
        ("value_floats", "f32"),
    ):
        if call.attribute(name) is not None:
            return [
                tensor(
                    np.asarray(call.attribute(name), np.float32 if dtype == "f32" else np.int64),
                    dtype,
                )
            ]
    dtype, values = call.attribute("value")
    return [tensor(values, dtype)]


@op("ConstantOfShape")
def constant_of_shape(call):
    dtype, value = call.attribute("value", ("f32", np.zeros(1)))
    return [torch.full(call.ints(0), np.asarray(value).ravel()[0].item(), dtype=DTYPES[dtype])]


@op("EyeLike")
def eye_like(call):
    from program import OF_NUMBER

    rows, columns = call[0].shape
    on = torch.arange(rows)[:, None] + call.attribute("k", 0) == torch.arange(columns)[None]
    return [
        (
            convert(on, OF_NUMBER[call.attribute("dtype")])
            if call.attribute("dtype")
            else on.to(call[0].dtype)
        )
    ]


@op("NonZero")
def non_zero(call):
    return [torch.nonzero(torch.atleast_1d(call[0])).t()]


@op("Range")
def arange(call):
    start, limit, delta = (v.item() for v in call.inputs)
    return [
        (
            torch.arange(start, limit, delta, dtype=call[0].dtype)
            if (limit - start) * delta > 0
            else torch.zeros(0, dtype=call[0].dtype)
        )
    ]


@op("Shape")
def shape(call):
    return [
        torch.tensor(
            list(call[0].shape)[slice(call.attribute("start"), call.attribute("end"))],
            dtype=torch.int64,
        )
    ]


@op("Size")
def size(call):
    return [torch.tensor(call[0].numel())]


@op("Reshape")
def reshape(call):
    target = call.ints(1)
    if not call.attribute("allowzero", 0):
        target = [call[0].shape[i] if d == 0 else d for i, d in enumerate(target)]
    return [torch.reshape(call[0], target)]


@op("Flatten")
def flatten(call):
    axis, x = call.attribute("axis", 1), call[0]
    axis = axis + x.ndim if axis < 0 else axis
    return [x.reshape(int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))]


@op("Squeeze")
def squeeze(call):
    return [
        torch.squeeze(call[0]) if call[1] is None else torch.squeeze(call[0], tuple(call.ints(1)))
    ]


@op("Unsqueeze")
def unsqueeze(call):
    rank = call[0].ndim + len(call.ints(1))
    x = call[0]
    for axis in sorted(a % rank for a in call.ints(1)):
        x = torch.unsqueeze(x, axis)
    return [x]


@op("Transpose")
def transpose(call):
    return [torch.permute(call[0], call.attribute("perm") or list(range(call[0].ndim))[::-1])]


@op("Expand")
def expand(call):
    return [call[0].expand(torch.broadcast_shapes(call[0].shape, call.ints(1)))]


@op("Tile")
def tile(call):
    return [call[0].repeat(call.ints(1)) if call[0].ndim else call[0]]


@op("Concat")
def concat(call):
    return [torch.cat(call.inputs, call.attribute("axis"))]


@op("Slice")
def take_slice(call):
    x, starts, ends = call[0], call.ints(1), call.ints(2)
    axes = call.ints(3) if call[3] is not None else range(len(starts))
    steps = call.ints(4) if call[4] is not None else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        size = x.shape[axis]
        end = None if step < 0 and end < -size else end
        x = torch.index_select(
            x, axis, torch.tensor(range(size)[slice(start, end, step)], dtype=torch.int64)
        )
    return [x]


@op("Split")
def split(call):
    axis, pieces = call.attribute("axis", 0), len(call.node.outputs)
    total = call[0].shape[axis]
    piece = -(-total // pieces)
    sizes = (
        call.ints(1)
        if call[1] is not None
        else [min(piece, total - piece * i) for i in range(pieces)]
    )
    return list(torch.split(call[0], sizes, axis))


@op("Trilu")
def trilu(call):
    k = 0 if call[1] is None else int(call[1])
    return [(torch.triu if call.attribute("upper", 1) else torch.tril)(call[0], k)]


@op("CenterCropPad")
def center_crop_pad(call):
    x = call[0]
    amounts = [0] * (2 * x.ndim)
    for axis, size in zip(call.attribute("axes") or range(x.ndim), call.ints(1)):
        more, at = size - x.shape[axis], 2 * (x.ndim - 1 - axis % x.ndim)
        amounts[at] = int(more / 2)
        amounts[at + 1] = more - amounts[at]
    return [F.pad(x, amounts)]


@op("Pad")
def pad(call):
    axes = call.ints(3) if call[3] is not None else range(call[0].ndim)
    x = call[0]
    pads = call.ints(1)
    amounts = [0] * (2 * x.ndim)
    for index, axis in enumerate(axes):
        at = 2 * (x.ndim - 1 - axis % x.ndim)
        amounts[at], amounts[at + 1] = pads[index], pads[index + len(pads) // 2]
    if (mode := call.attribute("mode", "constant")) != "constant":
        for axis, size in enumerate(x.shape):
            at = 2 * (x.ndim - 1 - axis)
            places = np.pad(np.arange(size), (amounts[at], amounts[at + 1]), mode)
            x = torch.index_select(x, axis, torch.from_numpy(places))
        return [x]
    if call[2] is None or not call[2].requires_grad:
        return [F.pad(x, amounts, value=0 if call[2] is None else call[2].item())]
    inside = F.pad(torch.ones_like(x, dtype=torch.bool), amounts, value=False)
    return [torch.where(inside, F.pad(x, amounts), call[2].reshape(()))]


@op("DepthToSpace")
def depth_to_space(call):
    b, x = call.attribute("blocksize"), call[0]
    if call.attribute("mode", "DCR") == "CRD":
        return [F.pixel_shuffle(x, b)]
    n, c, h, w = x.shape
    return [
        F.pixel_shuffle(
            x.reshape(n, b * b, c // b**2, h, w).transpose(1, 2).reshape(n, c, h, w), b
        )
    ]


@op("SpaceToDepth")
def space_to_depth(call):
    b, (n, c, _, _) = call.attribute("blocksize"), call[0].shape
    x = F.pixel_unshuffle(call[0], b)
    if call.attribute("mode", "DCR") == "CRD":
        return [x]
    return [x.reshape(n, c, b * b, *x.shape[2:]).transpose(1, 2).reshape(x.shape)]


@op("Gather")
def gather(call):
    axis, indices = call.attribute("axis", 0), call[1].long()
    axis = axis % call[0].ndim
    indices = torch.where(indices < 0, indices + call[0].shape[axis], indices)
    picked = torch.index_select(call[0], axis, indices.reshape(-1))
    return [picked.reshape(call[0].shape[:axis] + indices.shape + call[0].shape[axis + 1 :])]


@op("GatherElements")
def gather_elements(call):
    axis, indices = call.attribute("axis", 0), call[1].long()
    return [
        torch.gather(
            call[0], axis, torch.where(indices < 0, indices + call[0].shape[axis], indices)
        )
    ]


@op("GatherND")
def gather_nd(call):
    data, indices, batch = call[0], call[1].long(), call.attribute("batch_dims", 0)
    leading = data.shape[:batch]
    flat = data.reshape(-1, *data.shape[batch:])
    places = indices.reshape(-1, *indices.shape[batch:])
    results = torch.stack([d[tuple(torch.movedim(i, -1, 0))] for d, i in zip(flat, places)])
    return [results.reshape(leading + results.shape[1:])]


@op("OneHot")
def one_hot(call):
    depth, axis = int(call[1]), call.attribute("axis", -1)
    indices = call[0].long()
    indices = torch.where(indices < 0, indices + depth, indices)
    hot = torch.movedim(indices[..., None] == torch.arange(depth), -1, axis)
    return [torch.where(hot, call[2][1], call[2][0])]


@op("TopK")
def top_k(call):
    axis, x = call.attribute("axis", -1), call[0]
    largest = bool(call.attribute("largest", 1))
    values, places = torch.sort(x, dim=axis, descending=largest, stable=True)
    count = call.ints(1)[0]
    return [values.narrow(axis, 0, count), places.narrow(axis, 0, count)]


@op("ArgMax", "ArgMin")
def arg_max(call):
    axis, x = call.attribute("axis", 0), call[0]
    last = call.attribute("select_last_index", 0)
    x = torch.flip(x, [axis]) if last else x
    order = torch.sort(x, dim=axis, descending=call.node.op == "ArgMax", stable=True).indices
    place = order.narrow(axis, 0, 1)
    place = place if call.attribute("keepdims", 1) else place.squeeze(axis)
    return [x.shape[axis] - 1 - place if last else place]


TORCH_REDUCTIONS = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


@op("ScatterND")
def scatter_nd(call):
    places, how = tuple(call[1].long().unbind(-1)), call.attribute("reduction", "none")
    if how in ("none", "add"):
        return [call[0].index_put(places, call[2], accumulate=how == "add")]
    numbers = torch.arange(call[0].numel()).reshape(call[0].shape)[places]
    flat = (
        call[0]
        .flatten()
        .scatter_reduce(0, numbers.flatten(), call[2].flatten(), TORCH_REDUCTIONS[how])
    )
    return [flat.reshape(call[0].shape)]


@op("ScatterElements")
def scatter_elements(call):
    axis, indices = call.attribute("axis", 0), call[1].long()
    how = call.attribute("reduction", "none")
    if how != "none":
        indices = indices % call[0].shape[axis]
        return [call[0].scatter_reduce(axis, indices, call[2], TORCH_REDUCTIONS[how])]
    return [call[0].scatter(axis, indices, call[2])]


@op("Hardmax")
def hardmax(call):
    x, axis = call[0].detach(), call.attribute("axis", -1)
    place = torch.sort(x, dim=axis, descending=True, stable=True).indices.narrow(axis, 0, 1)
    return [torch.zeros_like(x).scatter(axis, place, 1.0)]


@op("CumSum")
def cumsum(call):
    axis, x = int(call[1]), call[0]
    x = torch.flip(x, [axis]) if call.attribute("reverse", 0) else x
    result = torch.cumsum(x, axis, dtype=x.dtype)
    result = result - x if call.attribute("exclusive", 0) else result
    return [torch.flip(result, [axis]) if call.attribute("reverse", 0) else result]


# -- sequences -------------------------------------------------------------------------------------


@op("SplitToSequence")
def split_to_sequence(call):
    axis, x = call.attribute("axis", 0), call[0]
    if call[1] is None:
        pieces = torch.split(x, 1, axis)
        return [[p if call.attribute("keepdims", 1) else torch.squeeze(p, axis) for p in pieces]]
    return [list(torch.split(x, call.ints(1)[0] if call[1].ndim == 0 else call.ints(1), axis))]


@op("SequenceConstruct")
def sequence_construct(call):
    return [list(call.inputs)]


@op("SequenceEmpty")
def sequence_empty(call):
    return [[]]


@op("SequenceInsert")
def sequence_insert(call):
    at = len(call[0]) if call[2] is None else int(call[2])
    return [[*call[0][:at], call[1], *call[0][at:]]]


@op("SequenceErase")
def sequence_erase(call):
    at = (-1 if call[1] is None else int(call[1])) % len(call[0])
    return [[*call[0][:at], *call[0][at + 1 :]]]


@op("SequenceAt")
def sequence_at(call):
    return [call[0][int(call[1])]]


@op("SequenceLength")
def sequence_length(call):
    return [torch.tensor(len(call[0]))]


@op("ConcatFromSequence")
def concat_from_sequence(call):
    return [
        (torch.stack if call.attribute("new_axis", 0) else torch.cat)(
            call[0], call.attribute("axis", 0)
        )
    ]


# -- attention and losses --------------------------------------------------------------------------


def heads_first(x, heads):
    return x if x.ndim == 4 else x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def heads_back(x, like):
    return x if like.ndim == 4 else x.transpose(1, 2).flatten(2)


@op("Attention")
def attention(call):
    q = heads_first(call[0], call.attribute("q_num_heads"))
    k, v = (heads_first(call[i], call.attribute("kv_num_heads")) for i in (1, 2))
    earlier = 0 if call[4] is None else call[4].shape[2]
    if earlier:
        k, v = torch.cat([call[4], k], 2), torch.cat([call[5], v], 2)
    mask, scores = call[3], (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if call.attribute("is_causal", 0):
        right = 0
    if left >= 0 or right >= 0:
        seen = torch.ones(scores[-2:], dtype=torch.bool)
        seen = seen.tril(earlier + right) if right >= 0 else seen
        seen = seen.triu(earlier - left) if left >= 0 else seen
        if mask is None:
            mask = seen
        elif mask.dtype is torch.bool:
            mask = mask & seen
        else:
            mask = torch.where(seen, mask, -torch.inf)
    scale = (
        float(call.real("scale", 0))
        if call.attribute("scale") is not None
        else 1 / math.sqrt(q.shape[-1])
    )
    # Not F.scaled_dot_product_attention, of whose steps rounding could show nothing: what each key
    # gets of a gradient is a difference.
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    weights = scale * (q @ k.transpose(-1, -2))
    if softcap := float(call.real("softcap", 0)):
        weights = softcap * torch.tanh(weights / softcap)
    if mask is None:
        return [heads_back(torch.softmax(weights, -1) @ v, call[0])]
    mask = mask.broadcast_to(scores)
    weights = weights.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else weights + mask
    # A query that sees no key gets 0.
    blind = (weights == -torch.inf).all(-1, keepdim=True)
    return [
        heads_back(
            torch.softmax(weights.masked_fill(blind, 0), -1).masked_fill(blind, 0) @ v, call[0]
        )
    ]


@op("RotaryEmbedding")
def rotary_embedding(call):
    x = heads_first(call[0], call.attribute("num_heads"))  # [B, H, S, D]
    turned = call.attribute("rotary_embedding_dim", 0) or x.shape[-1]
    cosine, sine = ((t if call[3] is None else t[call[3]])[:, None] for t in (call[1], call[2]))
    head, rest = x[..., :turned], x[..., turned:]
    if call.attribute("interleaved", 0):
        pairs = torch.view_as_complex(head.reshape(*head.shape[:-1], turned // 2, 2).contiguous())
        head = torch.view_as_real(pairs * torch.complex(cosine, sine)).flatten(-2)
    else:
        first, second = head.chunk(2, -1)
        head = torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)
    return [heads_back(torch.cat([head, rest], -1), call[0])]


def likelihood(call, logs):
    labels = call[1].long()
    ignore = call.attribute("ignore_index")
    reduction = call.attribute("reduction", "mean")
    # Its gradient with respect to a view of four dims is an error ("grad_input must be
    # contiguous").
    return F.nll_loss(
        logs.contiguous(),
        labels,
        call[2],
        ignore_index=-(1 << 40) if ignore is None else ignore,
        reduction=reduction,
    )


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(call):
    return [likelihood(call, call[0])]


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(call):
    logs = F.log_softmax(call[0], 1)
    return [likelihood(call, logs), logs]
