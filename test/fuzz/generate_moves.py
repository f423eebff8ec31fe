"""Generators: operators that move, pick and make elements, integers and sequences."""
import numpy as np

from builder import FLOATS, MOST_ELEMENTS, Unsuitable
from generators import cast, generates
from program import TYPES


@generates("Reshape")
def reshape(g, op):
    x = g.any()
    dims, total = g.dims(x), int(np.prod(g.dims(x)))
    shape, rest = [], total
    while rest > 1 and len(shape) < 4:
        divisor = g.choose(*[d for d in range(1, rest + 1) if rest % d == 0])
        shape.append(divisor)
        rest //= divisor
    shape = (shape + [rest] if rest > 1 else shape) + [1] * g.integer(0, 1)
    g.random.shuffle(shape)
    for at in range(len(shape)):
        if at < len(dims) and shape[at] == dims[at] and g.chance(0.5):
            shape[at] = 0
    open_dims = [i for i, s in enumerate(shape) if s != 0]
    if open_dims and g.chance(0.5):
        shape[g.choose(*open_dims)] = -1
    g.emit(
        "Reshape",
        [x, g.ints(shape)],
        allowzero=0 if g.program.opset >= 14 and g.chance(0.2) else None,
    )


@generates("Flatten")
def flatten(g, op):
    x = g.any()
    g.emit("Flatten", [x], axis=g.integer(-g.rank(x), g.rank(x)))


@generates("Squeeze")
def squeeze(g, op):
    x = g.any(lambda d: 1 in d)
    ones = [i for i, d in enumerate(g.dims(x)) if d == 1]
    axes = g.random.sample(ones, g.integer(1, len(ones)))
    axes = [a - g.rank(x) if g.chance(0.4) else a for a in axes]
    g.emit("Squeeze", [x] if g.chance(0.2) else [x, g.ints(axes)])


@generates("Unsqueeze")
def unsqueeze(g, op):
    x = g.any(lambda d: len(d) < 4)
    count = g.integer(1, 2 if g.rank(x) < 3 else 1)
    rank = g.rank(x) + count
    axes = [a - rank if g.chance(0.4) else a for a in g.random.sample(range(rank), count)]
    g.emit("Unsqueeze", [x, g.ints(axes)])


@generates("Transpose")
def transpose(g, op):
    x = g.any()
    perm = list(range(g.rank(x)))
    g.random.shuffle(perm)
    g.emit("Transpose", [x], perm=None if g.chance(0.2) else perm)


@generates("Expand")
def expand(g, op):
    x = g.any()
    shape = [
        g.integer(2, 4) if d == 1 and g.chance(0.7) else (1 if g.chance(0.3) else d)
        for d in g.dims(x)
    ]
    shape = (
        [g.integer(1, 3)] * g.integer(0, 1) + shape
        if g.chance(0.5)
        else shape[g.integer(0, len(shape)) :]
    )
    g.emit("Expand", [x, g.ints(shape)])


@generates("Tile")
def tile(g, op):
    x = g.any()
    g.emit("Tile", [x, g.ints([g.choose(1, 1, 2, 3) for _ in g.dims(x)])])


@generates("Concat")
def concat(g, op):
    x = g.any(lambda d: len(d) > 0)
    axis, dtype, dims = g.integer(0, g.rank(x) - 1), g.type(x), g.dims(x)
    pieces = [x]
    for _ in range(g.integer(0, 3)):
        try:
            pieces.append(
                g.pick(
                    dtype,
                    where=lambda d: len(d) == len(dims)
                    and all(a == b or i == axis for i, (a, b) in enumerate(zip(d, dims))),
                )
            )
        except Unsuitable:
            pass
    if g.chance(0.3):
        shape = [g.size(4) if i == axis else d for i, d in enumerate(dims)]
        pieces.append(g.parameter(shape, dtype) if dtype in FLOATS else g.literal(shape, dtype))
    g.random.shuffle(pieces)
    g.emit("Concat", pieces, axis=axis - len(dims) if g.chance(0.4) else axis)


@generates("Slice")
def take_slice(g, op):
    x = g.any(lambda d: len(d) > 0)
    axes = sorted(g.random.sample(range(g.rank(x)), g.integer(1, min(3, g.rank(x)))))
    starts, ends, steps = [], [], []
    for axis in axes:
        size = g.dims(x)[axis]
        step = g.choose(1, 1, 2, 3, -1, -1, -2, -3)
        low, high = sorted((g.integer(0, size - 1), g.integer(0, size - 1)))
        start, end = (low, high + 1) if step > 0 else (high, low - 1)
        if step > 0 and end >= size and g.chance(0.5):
            end = g.choose((1 << 63) - 1, 1 << 30, size + 3)
        if step < 0 and end < 0:
            end = g.choose(-(1 << 63), -(1 << 31), -size - 1)
        elif g.chance(0.3) and 0 <= end < size:
            end -= size
        starts.append(start - size if g.chance(0.3) else start)
        ends.append(end)
        steps.append(step)
    plain = axes == list(range(len(axes))) and g.chance(0.3)
    names = (
        [-a - 1 for a in axes] if False else [a - g.rank(x) if g.chance(0.3) else a for a in axes]
    )
    inputs = [x, g.ints(starts), g.constant(np.array(ends, np.int64), "i64")]
    if all(s == 1 for s in steps) and g.chance(0.5):
        inputs += [] if plain else [g.ints(names)]
    else:
        inputs += ["" if plain else g.ints(names), g.ints(steps)]
    g.emit("Slice", inputs)


def pieces(g, total):
    """Sizes that add up to total."""
    count = g.integer(1, min(4, total))
    cuts = sorted(g.random.sample(range(1, total), count - 1)) if count > 1 else []
    return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


@generates("Split")
def split(g, op):
    x = g.any(lambda d: len(d) > 0)
    axis = g.integer(0, g.rank(x) - 1)
    sizes = pieces(g, g.dims(x)[axis])
    named = axis - g.rank(x) if g.chance(0.4) else axis
    if g.chance(0.6):
        (
            g.emit("Split", [x, g.ints(sizes)], outputs=len(sizes), axis=named)
            if len(sizes) > 1
            else g.emit("Split", [x, g.ints(sizes)], axis=named)
        )
        return
    total = g.dims(x)[axis]
    if g.program.opset >= 18:
        count = g.choose(*[c for c in range(1, total + 1) if -(-total // c) * (c - 1) < total][:5])
        more = {"num_outputs": count}
    else:
        count, more = g.choose(*[c for c in range(1, total + 1) if total % c == 0][:4]), {}
    g.emit("Split", [x], outputs=count, axis=named, **more)


@generates("Trilu")
def trilu(g, op):
    x = g.any(lambda d: len(d) >= 2)
    g.emit(
        "Trilu",
        [x, g.scalar(g.integer(-2, 3), "i64")] if g.chance(0.6) else [x],
        upper=g.choose(None, 0, 1),
    )


@generates("DepthToSpace", "SpaceToDepth")
def blocks(g, op):
    b, n, c = g.integer(1, 3), g.size(3), g.size(3)
    shape = (
        [n, c * b * b, g.size(3), g.size(3)]
        if op == "DepthToSpace"
        else [n, c, b * g.size(3), b * g.size(3)]
    )
    total = int(np.prod(shape))
    try:
        x = g.float(lambda d: d == shape or int(np.prod(d)) == total)
        x = x if g.dims(x) == shape else g.emit("Reshape", [x, g.ints(shape)])
    except Unsuitable:
        if total > 300:
            raise
        x = g.parameter(shape)
    has_mode = op == "DepthToSpace" or g.available_from(28)
    g.emit(op, [x], blocksize=b, mode=g.choose(None, "DCR", "CRD") if has_mode else None)


# -- positions -------------------------------------------------------------------------------------


def indices(g, shape, size, dtype=None):
    """Positions in a dim of that size: known ones, evenly spaced or not, or those of the data."""
    dtype = dtype or g.choose("i64", "i32")
    total, way = int(np.prod(shape)), g.integer(0, 4)
    if way <= 1:
        try:
            x = g.pick(dtype, known=False)
            inside = all(v.size and 0 <= v.min() and v.max() < size for v in g.values[x])
            bounded = x if inside and g.chance(0.6) else g.emit("Mod", [x, g.scalar(size, dtype)])
            if g.dims(bounded) == list(shape):
                return bounded
            wide = g.emit("Expand", [bounded, g.ints(shape)])
            if g.dims(wide) == list(shape):
                return wide
        except Unsuitable:
            pass
    if way == 2:
        step = g.choose(1, 1, 2, -1)
        values = (g.integer(0, size - 1) + step * np.arange(total)) % size
        if step * (total - 1) >= size or step < 0:
            values = np.sort(values) if g.chance(0.5) else values
        return g.constant(values.reshape(shape), dtype)
    values = g.numbers.integers(0, size, tuple(shape))
    negative = g.numbers.random(tuple(shape)) < g.choose(0, 0, 0.3, 1)
    return g.constant(np.where(negative, values - size, values), dtype)


@generates("Gather")
def gather(g, op):
    x = g.any(lambda d: len(d) > 0)
    axis = g.integer(0, g.rank(x) - 1)
    where = indices(g, g.shape(g.choose(0, 1, 1, 2), 30), g.dims(x)[axis])
    g.emit(
        "Gather",
        [x, where],
        axis=axis - g.rank(x) if g.chance(0.3) else axis if axis or g.chance(0.5) else None,
    )


@generates("GatherElements")
def gather_elements(g, op):
    x = g.any(lambda d: len(d) > 0)
    axis, dims = g.integer(0, g.rank(x) - 1), g.dims(x)
    shape = [
        g.size(5) if i == axis else g.integer(1, d) if g.chance(0.3) else d
        for i, d in enumerate(dims)
    ]
    g.emit(
        "GatherElements",
        [x, indices(g, shape, dims[axis])],
        axis=axis - len(dims) if g.chance(0.3) else axis,
    )


@generates("GatherND")
def gather_nd(g, op):
    x = g.any(lambda d: len(d) > 0)
    dims = g.dims(x)
    batch = g.integer(0, len(dims) - 1) if g.chance(0.4) else 0
    tuples = g.integer(1, len(dims) - batch)
    shape = dims[:batch] + g.shape(g.choose(0, 1, 2), 12)
    columns = [indices(g, shape + [1], dims[batch + i], "i64") for i in range(tuples)]
    where = columns[0] if tuples == 1 else g.emit("Concat", columns, axis=-1)
    g.emit("GatherND", [x, where], batch_dims=batch or None)


@generates("OneHot")
def one_hot(g, op):
    depth = g.integer(1, 7)
    dtype = g.choose("i64", "i32")
    where = indices(g, g.shape(g.choose(0, 1, 2), 40), depth, dtype)
    kind = g.choose(g.main, g.main, "i64", "f32")
    values = g.constant(np.array([0, 1]) if g.chance(0.6) else np.array([-1, 2]), kind)
    if kind in FLOATS and g.chance(0.2):
        values = g.parameter([2], kind)
    rank = g.rank(where) + 1
    count = g.choose(g.scalar(depth, "i64"), g.constant(np.array([depth]), "i64"))
    g.emit(
        "OneHot",
        [where, count, values],
        dtype=kind,
        axis=g.choose(None, g.integer(-rank, rank - 1)),
    )


@generates("TopK")
def top_k(g, op):
    x = g.pick("i64", "i32", where=len) if g.chance(0.2) else g.float(lambda d: len(d) > 0)
    axis = g.integer(-g.rank(x), g.rank(x) - 1)
    count = g.constant(np.array([g.integer(1, g.dims(x)[axis])]), "i64")
    g.emit(
        "TopK",
        [x, count],
        outputs=2,
        dtype=[g.type(x), "i64"],
        axis=axis,
        largest=g.choose(None, 1, 0),
        sorted=g.choose(None, 1),
    )


@generates("ArgMax", "ArgMin")
def arg_max(g, op):
    x = g.pick("i64", "i32", where=len) if g.chance(0.2) else g.float(lambda d: len(d) > 0)
    g.emit(
        op,
        [x],
        dtype="i64",
        axis=g.integer(-g.rank(x), g.rank(x) - 1),
        keepdims=g.choose(None, 1, 0),
        select_last_index=g.choose(None, 0, 1),
    )


@generates("Hardmax")
def hardmax(g, op):
    x = g.float(lambda d: len(d) > 0)
    axis = g.choose(None, g.integer(-g.rank(x), g.rank(x) - 1))
    along = -1 if axis is None else axis
    for values in g.values[x]:
        last, ordered = values.shape[along] - 1, np.sort(values, along)
        if last and np.any(ordered.take(last, along) == ordered.take(last - 1, along)):
            raise Unsuitable("a tie, where it jumps")
    g.emit(op, [x], axis=axis)


@generates("CumSum")
def cumsum(g, op):
    x = g.pick("i64", "i32", where=len) if g.chance(0.2) else g.float(lambda d: len(d) > 0)
    axis = g.scalar(g.integer(-g.rank(x), g.rank(x) - 1), g.choose("i64", "i32"))
    g.emit("CumSum", [x, axis], exclusive=g.choose(None, 1, 0), reverse=g.choose(None, 1, 0))


# -- known values ----------------------------------------------------------------------------------


@generates("Constant")
def constant(g, op):
    way = g.integer(0, 4)
    if way == 0:
        g.emit(
            "Constant", [], dtype="f32", value_float=float(np.float32(g.choose(0.5, -1.25, 0.1)))
        )
    elif way == 1:
        g.emit(
            "Constant",
            [],
            dtype="f32",
            value_floats=[float(np.float32(v)) for v in g.numbers.standard_normal(g.integer(1, 5))],
        )
    elif way == 2:
        g.emit("Constant", [], dtype="i64", value_int=g.integer(-3, 9))
    elif way == 3:
        g.emit(
            "Constant",
            [],
            dtype="i64",
            value_ints=[g.integer(0, 4) for _ in range(g.integer(1, 4))],
        )
    else:
        g.order.append(g.literal(g.shape(), g.choose(*TYPES)))


@generates("ConstantOfShape")
def constant_of_shape(g, op):
    dtype = g.choose(g.main, "i64", "b1", "i32")
    value = (dtype, np.array([g.choose(1, 0, 2)], TYPES["f32" if dtype in FLOATS else dtype][1]))
    (
        g.emit("ConstantOfShape", [g.ints(g.shape())], dtype=dtype, value=value)
        if g.chance(0.8)
        else g.emit("ConstantOfShape", [g.ints(g.shape())], dtype="f32")
    )


@generates("EyeLike")
def eye_like(g, op):
    x = g.any(lambda d: len(d) == 2)
    dtype = g.choose(g.type(x), g.main) if g.type(x) != "b1" else g.main
    g.emit(
        "EyeLike",
        [x],
        dtype=dtype,
        k=g.choose(None, 1, -1, 2),
        **({} if dtype == g.type(x) and g.chance(0.5) else {"of": dtype}),
    )


@generates("NonZero")
def non_zero(g, op):
    x = g.literal(g.shape(g.choose(1, 2)), g.choose("i64", "b1", g.main))
    g.emit("NonZero", [x], dtype="i64")


@generates("Range")
def arange(g, op):
    dtype = g.choose("i64", "i64", "i32", "f32", g.main if g.main in ("f32", "f64") else "f32")
    step = g.choose(1, 1, 2, -1, -3)
    start, count = g.integer(-3, 5), g.integer(1, 9)
    scale = g.choose(1, 0.5) if dtype in FLOATS else 1
    bounds = [start * scale, (start + count * step) * scale, step * scale]
    if dtype == "i64" and g.chance(0.5):
        limit = g.computed_dim(g.choose(1, 2, 3, 4))
        limit = g.emit("Squeeze", [limit, g.constant(np.array([0]), "i64")], usable=False)
        g.emit("Range", [g.scalar(0, "i64"), limit, g.scalar(1, "i64")])
        return
    g.emit("Range", [g.scalar(b, dtype) for b in bounds])


@generates("Shape", "Size")
def shape_of(g, op):
    x = g.any(lambda d: len(d) > 0)
    if op == "Size" or g.program.opset < 15:
        g.emit(op, [x], dtype="i64")
        return
    start = g.choose(None, 0, g.integer(-g.rank(x), g.rank(x) - 1))
    g.emit("Shape", [x], dtype="i64", start=start)


# -- sequences -------------------------------------------------------------------------------------


@generates(
    "SplitToSequence", "SequenceAt", "SequenceLength", "ConcatFromSequence", "SequenceConstruct"
)
def sequences(g, op):
    x = g.any(lambda d: len(d) > 0)
    dtype, rank = g.type(x), g.rank(x)
    if op == "SequenceConstruct" or g.chance(0.3):
        elements = [x]
        for _ in range(g.integer(0, 2)):
            elements.append(g.pick(dtype, where=lambda d: d == g.dims(x)))
        sequence = g.emit("SequenceConstruct", elements, dtype=dtype, usable=False)
        axis = g.integer(0, rank - 1)
    else:
        axis = g.integer(0, rank - 1)
        total = g.dims(x)[axis]
        way = g.integer(0, 2)
        if way == 0:
            sequence = g.emit(
                "SplitToSequence", [x, g.ints(pieces(g, total))], axis=axis, usable=False
            )
        elif way == 1:
            sequence = g.emit(
                "SplitToSequence",
                [x, g.scalar(g.integer(1, total), "i64")],
                axis=axis,
                usable=False,
            )
        else:
            sequence = g.emit(
                "SplitToSequence", [x], axis=axis, keepdims=g.choose(None, 1, 0), usable=False
            )
    items = g.values[sequence][0]
    if op == "SequenceLength":
        g.emit("SequenceLength", [sequence], dtype="i64")
    alike = all(i.shape == items[0].shape for i in items)
    if op == "ConcatFromSequence" or g.chance(0.3):
        new = 1 if alike and g.chance(0.5) else None
        most = items[0].ndim if new else items[0].ndim - 1
        if most < 0:
            raise Unsuitable("scalars")
        at = g.integer(-most - 1, most) if alike else axis
        g.emit("ConcatFromSequence", [sequence], axis=at, new_axis=new)
    for _ in range(g.integer(1, 2)):
        g.emit(
            "SequenceAt",
            [sequence, g.scalar(g.integer(-len(items), len(items) - 1), g.choose("i64", "i32"))],
            dtype=dtype,
        )


@generates("SequenceEmpty", "SequenceInsert", "SequenceErase")
def edited_sequences(g, op):
    x = g.any(lambda d: len(d) > 0)
    dtype = g.type(x)
    place = lambda low, high: g.scalar(g.integer(low, high), g.choose("i64", "i32"))
    if op == "SequenceEmpty" or g.chance(0.4):
        of = {} if dtype == "f32" and g.chance(0.5) else {"of": dtype}
        sequence = g.emit(op="SequenceEmpty", inputs=[], dtype=dtype, usable=False, **of)
    else:
        sequence = g.emit("SequenceConstruct", [x], dtype=dtype, usable=False)
    for _ in range(g.integer(1, 3)):
        count = len(g.values[sequence][0])
        item = g.pick(dtype, where=lambda d: d == g.dims(x))
        at = [place(-count, count)] if g.chance(0.6) else []
        sequence = g.emit("SequenceInsert", [sequence, item, *at], dtype=dtype, usable=False)
    count = len(g.values[sequence][0])
    if count > 1 and (op == "SequenceErase" or g.chance(0.3)):
        at = [place(-count, count - 1)] if g.chance(0.6) else []
        sequence = g.emit("SequenceErase", [sequence, *at], dtype=dtype, usable=False)
    g.emit("ConcatFromSequence", [sequence], dtype=dtype, axis=g.integer(0, g.rank(x) - 1))


__all__ = ["indices", "MOST_ELEMENTS"]
