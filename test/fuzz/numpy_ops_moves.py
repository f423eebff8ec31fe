"""The written reference: operators that move, pick and make elements, and sequences."""
import numpy as np

from numpy_ops import convert, op


@op("Constant")
def constant(call):
    for name, kind in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if call.attribute(name) is not None:
            values = np.asarray(call.attribute(name), kind)
            return [values.astype(call.wide) if kind is np.float32 else values]
    dtype, values = call.attribute("value")
    return [convert(np.asarray(values), dtype, call.wide)]


@op("ConstantOfShape")
def constant_of_shape(call):
    dtype, value = call.attribute("value", ("f32", np.zeros(1)))
    return [np.full(call.ints(0), convert(np.asarray(value), dtype, call.wide).ravel()[0])]


@op("EyeLike")
def eye_like(call):
    from program import OF_NUMBER

    result = np.eye(*call[0].shape, k=call.attribute("k", 0))
    to = call.attribute("dtype")
    return [convert(result, OF_NUMBER[to], call.wide) if to else result.astype(call[0].dtype)]


@op("NonZero")
def non_zero(call):
    return [np.array(np.nonzero(np.atleast_1d(call[0])), np.int64)]


@op("Range")
def arange(call):
    start, limit, delta = (v.reshape(()) for v in call.inputs)
    count = max(0, int(np.ceil((limit - start) / delta)))
    return [(start + np.arange(count).astype(start.dtype) * delta).astype(start.dtype)]


@op("Shape")
def shape(call):
    return [
        np.array(call[0].shape[slice(call.attribute("start"), call.attribute("end"))], np.int64)
    ]


@op("Size")
def size(call):
    return [np.array(call[0].size, np.int64)]


@op("Reshape")
def reshape(call):
    target = call.ints(1)
    if not call.attribute("allowzero", 0):
        target = [call[0].shape[i] if d == 0 else d for i, d in enumerate(target)]
    return [call[0].reshape(target)]


@op("Flatten")
def flatten(call):
    axis, shape = call.attribute("axis", 1), call[0].shape
    axis = axis + len(shape) if axis < 0 else axis
    return [call[0].reshape(int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))]


@op("Squeeze")
def squeeze(call):
    return [np.squeeze(call[0], None if call[1] is None else tuple(call.ints(1)))]


@op("Unsqueeze")
def unsqueeze(call):
    return [np.expand_dims(call[0], tuple(call.ints(1)))]


@op("Transpose")
def transpose(call):
    return [np.transpose(call[0], call.attribute("perm"))]


@op("Expand")
def expand(call):
    return [
        (
            call[0] * np.ones(call.ints(1), call[0].dtype)
            if call[0].dtype != np.bool_
            else call[0] & np.ones(call.ints(1), np.bool_)
        )
    ]


@op("Tile")
def tile(call):
    return [np.tile(call[0], call.ints(1))]


@op("Concat")
def concat(call):
    return [np.concatenate(call.inputs, call.attribute("axis"))]


@op("Slice")
def take_slice(call):
    starts, ends = call.ints(1), call.ints(2)
    axes = call.ints(3) if call[3] is not None else range(len(starts))
    steps = call.ints(4) if call[4] is not None else [1] * len(starts)
    index = [slice(None)] * call[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        size = call[0].shape[axis]
        # Beyond the front in either direction; python's own slices read -1 as the last element.
        end = None if step < 0 and end < -size else end
        index[axis] = slice(start, end, step)
    return [call[0][tuple(index)]]


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
    return np.split(call[0], np.cumsum(sizes)[:-1], axis)


@op("Trilu")
def trilu(call):
    k = 0 if call[1] is None else int(call[1].reshape(()))
    return [(np.triu if call.attribute("upper", 1) else np.tril)(call[0], k)]


def centered(call):
    """Of each dim what is put before the elements and behind them; negative: cut off."""
    rank = call[0].ndim
    widths = [(0, 0)] * rank
    for axis, size in zip(call.attribute("axes", list(range(rank))), call.ints(1)):
        more = size - call[0].shape[axis]
        before = more // 2 if more >= 0 else -(-more // 2)
        widths[axis] = (before, more - before)
    return widths


@op("CenterCropPad")
def center_crop_pad(call):
    result = call[0]
    for axis, (before, behind) in enumerate(centered(call)):
        cut = [slice(None)] * result.ndim
        cut[axis] = slice(max(-before, 0), result.shape[axis] - max(-behind, 0))
        widths = [(0, 0)] * result.ndim
        widths[axis] = (max(before, 0), max(behind, 0))
        result = np.pad(result[tuple(cut)], widths)
    return [result]


@op("Pad")
def pad(call):
    axes = call.ints(3) if call[3] is not None else range(call[0].ndim)
    pads, result = call.ints(1), call[0]
    if (mode := call.attribute("mode", "constant")) != "constant":
        widths = [(0, 0)] * result.ndim
        for index, axis in enumerate(axes):
            widths[axis] = (pads[index], pads[index + len(pads) // 2])
        return [np.pad(result, widths, mode)]
    value = result.dtype.type(0) if call[2] is None else call[2].reshape(())
    for index, axis in enumerate(axes):
        for amount, front in ((pads[index], True), (pads[index + len(pads) // 2], False)):
            if amount < 0:
                cut = [slice(None)] * result.ndim
                cut[axis] = (
                    slice(-amount, None) if front else slice(None, result.shape[axis] + amount)
                )
                result = result[tuple(cut)]
            elif amount > 0:
                shape = list(result.shape)
                shape[axis] = amount
                more = np.full(shape, value, result.dtype)
                result = np.concatenate([more, result] if front else [result, more], axis)
    return [result]


@op("DepthToSpace")
def depth_to_space(call):
    b, (n, c, h, w) = call.attribute("blocksize"), call[0].shape
    if call.attribute("mode", "DCR") == "CRD":
        moved = call[0].reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        moved = call[0].reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    return [moved.reshape(n, c // b**2, h * b, w * b)]


@op("SpaceToDepth")
def space_to_depth(call):
    b, (n, c, h, w) = call.attribute("blocksize"), call[0].shape
    channels_first = call.attribute("mode", "DCR") == "CRD"
    order = (0, 1, 3, 5, 2, 4) if channels_first else (0, 3, 5, 1, 2, 4)
    blocks = call[0].reshape(n, c, h // b, b, w // b, b).transpose(order)
    return [blocks.reshape(n, c * b * b, h // b, w // b)]


@op("Gather")
def gather(call):
    return [np.take(call[0], call[1].astype(np.int64), call.attribute("axis", 0))]


@op("GatherElements")
def gather_elements(call):
    axis, data, indices = call.attribute("axis", 0), call[0], call[1].astype(np.int64)
    axis = axis % data.ndim
    cut = tuple(slice(None) if d == axis else slice(0, indices.shape[d]) for d in range(data.ndim))
    data = data[cut]
    return [
        np.take_along_axis(data, np.where(indices < 0, indices + data.shape[axis], indices), axis)
    ]


@op("GatherND")
def gather_nd(call):
    data, indices, batch = call[0], call[1].astype(np.int64), call.attribute("batch_dims", 0)
    leading = data.shape[:batch]
    results = [
        data[place][tuple(np.moveaxis(indices[place], -1, 0))] for place in np.ndindex(*leading)
    ]
    return [np.array(results).reshape(leading + results[0].shape)]


@op("OneHot")
def one_hot(call):
    depth, values, axis = int(call[1].reshape(())), call[2], call.attribute("axis", -1)
    indices = call[0].astype(np.int64)
    indices = np.where(indices < 0, indices + depth, indices)
    axis = axis % (indices.ndim + 1)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = depth
    return [
        np.where(
            np.expand_dims(indices, axis) == np.arange(depth).reshape(shape), values[1], values[0]
        )
    ]


@op("TopK")
def top_k(call):
    axis, x = call.attribute("axis", -1), call[0]
    rank = -x if call.attribute("largest", 1) else x
    places = np.argsort(rank, axis, kind="stable")
    places = np.take(places, np.arange(call.ints(1)[0]), axis)
    return [np.take_along_axis(x, places, axis), places]


@op("ArgMax", "ArgMin")
def arg_max(call):
    axis, x = call.attribute("axis", 0), call[0]
    last = call.attribute("select_last_index", 0)
    x = np.flip(x, axis) if last else x
    find = np.argmax if call.node.op == "ArgMax" else np.argmin
    place = find(x, axis, keepdims=bool(call.attribute("keepdims", 1)))
    return [x.shape[axis] - 1 - place if last else place]


REDUCTIONS = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@op("ScatterND")
def scatter_nd(call):
    result, combined = np.array(call[0]), REDUCTIONS[call.attribute("reduction", "none")]
    for at in np.ndindex(call[1].shape[:-1]):
        place = tuple(call[1][at])
        result[place] = combined(result[place], call[2][at])
    return [result]


@op("ScatterElements")
def scatter_elements(call):
    result, combined = np.array(call[0]), REDUCTIONS[call.attribute("reduction", "none")]
    axis = call.attribute("axis", 0) % result.ndim
    for at in np.ndindex(call[1].shape):
        place = (*at[:axis], call[1][at], *at[axis + 1 :])
        result[place] = combined(result[place], call[2][at])
    return [result]


@op("Hardmax")
def hardmax(call):
    x, axis = call[0], call.attribute("axis", -1)
    places = np.arange(x.shape[axis]).reshape(
        [-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]
    )
    return [(places == np.argmax(x, axis, keepdims=True)).astype(x.dtype)]


@op("CumSum")
def cumsum(call):
    axis, x = int(call[1].reshape(())), call[0]
    x = np.flip(x, axis) if call.attribute("reverse", 0) else x
    result = np.cumsum(x, axis, dtype=x.dtype)
    if call.attribute("exclusive", 0):
        result = result - x
    return [np.flip(result, axis) if call.attribute("reverse", 0) else result]


# -- sequences, which are lists of arrays ----------------------------------------------------------


@op("SplitToSequence")
def split_to_sequence(call):
    axis, x = call.attribute("axis", 0), call[0]
    total = x.shape[axis]
    if call[1] is None:
        pieces = np.split(x, total, axis)
        return [[p if call.attribute("keepdims", 1) else np.squeeze(p, axis) for p in pieces]]
    sizes = call.ints(1)
    if call[1].ndim == 0:
        sizes = [min(sizes[0], total - at) for at in range(0, total, sizes[0])]
    return [np.split(x, np.cumsum(sizes)[:-1], axis)]


@op("SequenceConstruct")
def sequence_construct(call):
    return [list(call.inputs)]


@op("SequenceEmpty")
def sequence_empty(call):
    return [[]]


@op("SequenceInsert")
def sequence_insert(call):
    elements = list(call[0])
    at = len(elements) if call[2] is None else int(call[2].reshape(()))
    elements.insert(at, call[1])
    return [elements]


@op("SequenceErase")
def sequence_erase(call):
    elements = list(call[0])
    del elements[-1 if call[1] is None else int(call[1].reshape(()))]
    return [elements]


@op("SequenceAt")
def sequence_at(call):
    return [call[0][int(call[1].reshape(()))]]


@op("SequenceLength")
def sequence_length(call):
    return [np.array(len(call[0]), np.int64)]


@op("ConcatFromSequence")
def concat_from_sequence(call):
    axis = call.attribute("axis", 0)
    return [
        np.stack(call[0], axis) if call.attribute("new_axis", 0) else np.concatenate(call[0], axis)
    ]
