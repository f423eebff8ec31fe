"""Generators: products, reductions, norms, attention and losses."""
import numpy as np

from builder import FLOATS, MOST_ELEMENTS, Unsuitable
from generators import generates, number
from numpy_ops_reductions import REDUCTIONS


def weight(g, rows, columns, dtype):
    """A matrix [rows, columns]: a parameter, new or used before, as it is or transposed."""
    draw = g.random.random()
    if draw < 0.25:
        for name, (t, v) in g.program.parameters.items():
            if t == dtype and list(v.shape) == [rows, columns]:
                return name
    if draw < 0.5:
        turned = [
            n
            for n, (t, v) in g.program.parameters.items()
            if t == dtype and list(v.shape) == [columns, rows]
        ]
        name = (
            g.choose(*turned) if turned and g.chance(0.7) else g.parameter([columns, rows], dtype)
        )
        return g.emit("Transpose", [name], perm=g.choose([1, 0], [1, 0], None), usable=False)
    return g.parameter([rows, columns], dtype)


@generates("MatMul")
def mat_mul(g, op):
    way = g.integer(0, 5)
    x = g.float(lambda d: len(d) > 0)
    dims, dtype = g.dims(x), g.type(x)
    if way <= 2:
        columns = g.choose(1, 2, 3, 4, 5, 7, 8)
        y = g.emit("MatMul", [x, weight(g, dims[-1], columns, dtype)])
        if g.chance(0.5):
            bias = g.parameter([columns], dtype)
            g.emit("Add", [y, bias] if g.chance(0.5) else [bias, y])
    elif way == 3:  # by a vector
        g.emit(
            "MatMul",
            (
                [x, g.parameter([dims[-1]], dtype)]
                if g.chance(0.6)
                else [g.parameter([dims[-2] if len(dims) > 1 else dims[0]], dtype), x]
            ),
        )
    elif way == 4:  # from the left
        if len(dims) < 2:
            raise Unsuitable("vector")
        g.emit("MatMul", [weight(g, g.integer(1, 5), dims[-2], dtype), x])
    else:  # of two values, with broadcast batches
        if len(dims) < 2:
            raise Unsuitable("vector")
        try:
            y = g.pick(dtype, where=lambda d: len(d) >= 2 and d[-2] == dims[-1])
        except Unsuitable:
            lead = [d if g.chance(0.6) else 1 for d in dims[:-2]][
                g.integer(0, len(dims) - 2) if g.chance(0.4) else 0 :
            ]
            y = g.parameter([*lead, dims[-1], g.integer(1, 4)], dtype)
        g.emit("MatMul", [x, y])


EQUATIONS = (
    ("ab,bc->ac", 2),
    ("ab,cb", 2),
    ("abc,acd->abd", 2),
    ("abcd,abed->abce", 2),
    ("ab,ab->a", 2),
    ("ab,ab->ab", 2),
    ("ab->ba", 1),
    ("ab->b", 1),
    ("ab", 1),
    ("aab->ab", 1),
    ("aba->b", 1),
    ("a,b->ab", 2),
    ("...a,ab->...b", 2),
    ("...a,...a->...", 2),
    ("abc,bd,cd->ad", 3),
    ("ab,cd->", 2),
)


@generates("Einsum")
def einsum(g, op):
    equation, count = g.choose(*EQUATIONS)
    sizes = {letter: g.integer(1, 4) for letter in "abcde"}
    more = g.shape(g.integer(0, 2), 8)
    shapes = []
    for letters in equation.split("->")[0].split(","):
        before, *after = letters.split("...")
        shapes.append([sizes[x] for x in before])
        if after:
            shapes[-1] += more + [sizes[x] for x in after[0]]
    inputs = [
        of_shape(g, shape, g.main) if g.chance(0.6) else g.parameter(shape, g.main)
        for shape in shapes
    ]
    assert len(inputs) == count
    if g.main in ("f16", "bf16") and count > 2:
        raise Unsuitable("what is between two products is rounded")
    g.emit(op, inputs, equation=equation if g.chance(0.7) else equation.replace(",", " , "))


@generates("Gemm")
def gemm(g, op):
    x = g.float(lambda d: len(d) == 2)
    dtype, turn_a, turn_b = g.type(x), g.integer(0, 1), g.integer(0, 1)
    rows, depth = g.dims(x)[::-1] if turn_a else g.dims(x)
    columns = g.choose(1, 2, 3, 5, 8)
    w = weight(g, columns, depth, dtype) if turn_b else weight(g, depth, columns, dtype)
    inputs = [x, w]
    if g.chance(0.8):
        shape = g.choose([columns], [1, columns], [rows, columns], [rows, 1], [1], [], [1, 1])
        inputs.append(g.parameter(shape, dtype) if g.chance(0.8) else g.literal(shape, dtype))
    plain = g.chance(0.5)
    g.emit(
        "Gemm",
        inputs,
        transA=turn_a or None,
        transB=turn_b or None,
        alpha=None if plain else number(g, dtype, 0.5, 2.0, -1.0),
        beta=None if plain else number(g, dtype, 0.5, 2.0, 0.0),
    )


@generates(*REDUCTIONS)
def reduce(g, op):
    if op in (
        "ReduceSum",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceL1",
        "ReduceSumSquare",
    ) and g.chance(0.15):
        x = g.pick("i64", "i32", *(("i8", "u8") if op in ("ReduceMax", "ReduceMin") else ()))
    else:
        x = g.float()
    if op == "ReduceLogSum":
        x = g.positive(x)
    rank = g.rank(x)
    axes = g.random.sample(range(rank), g.integer(0, rank))
    axes = [a - rank if g.chance(0.3) else a for a in axes]
    keep = g.choose(None, 0, 1)
    as_input = g.program.opset >= (13 if op == "ReduceSum" else 18)
    if not axes:
        g.emit(
            op,
            [x],
            keepdims=keep,
            noop_with_empty_axes=g.choose(None, 0) if not as_input else g.choose(None, 0, 1),
        )
    elif as_input:
        g.emit(op, [x, g.ints(axes)], keepdims=keep)
    else:
        g.emit(op, [x], axes=axes, keepdims=keep)


@generates("Softmax", "LogSoftmax")
def softmax(g, op):
    x = g.float(lambda d: len(d) > 0)
    g.emit(op, [x], axis=g.choose(None, -1, g.integer(-g.rank(x), g.rank(x) - 1)))


def normalized(g):
    """(value, axis, dims from the axis on)."""
    x = g.float(lambda d: len(d) > 0)
    axis = g.choose(-1, -1, g.integer(-g.rank(x), g.rank(x) - 1))
    return x, axis, g.dims(x)[axis:] if axis < 0 else g.dims(x)[axis:]


def epsilon(g):
    return number(g, "f32", 1e-5, 1e-3, 1e-2, 0.5)


def vector(g, shape, dtype):
    """Scale or bias: of the shape, or one that broadcasts to it."""
    if g.chance(0.15):
        shape = [s if g.chance(0.6) else 1 for s in shape][g.integer(0, len(shape) - 1) :]
    if g.chance(0.2):
        used = [
            p for p, (t, v) in g.program.parameters.items() if t == dtype and list(v.shape) == shape
        ]
        if used:
            return g.choose(*used)
    return g.parameter(shape, dtype) if g.chance(0.9) else g.literal(shape, dtype)


@generates("LayerNormalization")
def layer_normalization(g, op):
    x, axis, shape = normalized(g)
    inputs = [x, vector(g, shape, g.type(x))] + (
        [vector(g, shape, g.type(x))] if g.chance(0.7) else []
    )
    count = g.choose(1, 1, 1, 3)
    g.emit(
        op,
        inputs,
        outputs=count,
        dtype=[g.type(x), "f32", "f32"][:count],
        axis=None if axis == -1 and g.chance(0.5) else axis,
        epsilon=epsilon(g),
    )


@generates("RMSNormalization")
def rms_normalization(g, op):
    x, axis, shape = normalized(g)
    g.emit(
        op,
        [x, vector(g, shape, g.type(x))],
        axis=None if axis == -1 and g.chance(0.5) else axis,
        epsilon=epsilon(g),
    )


@generates("LpNormalization")
def lp_normalization(g, op):
    x = g.float(lambda d: len(d) > 0)
    g.emit(
        op, [x], axis=g.choose(None, g.integer(-g.rank(x), g.rank(x) - 1)), p=g.choose(None, 1, 2)
    )


def of_shape(g, shape, dtype):
    """A value of that shape, made from another where there is none."""
    try:
        return g.pick(dtype, where=lambda d: d == list(shape), known=False)
    except Unsuitable:
        pass
    total = int(np.prod(shape))
    if total > MOST_ELEMENTS // 2:
        raise Unsuitable("large")
    try:
        x = g.pick(
            dtype,
            where=lambda d: len(d) > 1 and total % int(np.prod(d[:-1])) == 0 and np.prod(d) > 1,
            known=False,
        )
        width = total // int(np.prod(g.dims(x)[:-1]))
        y = g.emit("MatMul", [x, g.parameter([g.dims(x)[-1], width], dtype)], usable=False)
        return g.emit("Reshape", [y, g.ints(list(shape))])
    except Unsuitable:
        return g.parameter(list(shape), dtype)


@generates("Attention")
def attention(g, op):
    dtype, b, s, t, d = g.main, g.size(3), g.size(5), g.size(5), g.size(8)
    kv = g.choose(1, 2)
    heads, e = kv * g.choose(1, 1, 2, 3), d if g.chance(0.7) else g.size(5)
    t = s if g.chance(0.5) else t
    flat = g.chance(0.4)
    shapes = (
        ([b, s, heads * d], [b, t, kv * d], [b, t, kv * e])
        if flat
        else ([b, heads, s, d], [b, kv, t, d], [b, kv, t, e])
    )
    inputs = [of_shape(g, shape, dtype) for shape in shapes]
    earlier = g.integer(1, 3) if g.chance(0.25) else 0
    t += earlier
    masked = g.chance(0.5)
    if masked:
        mask = g.choose(
            [s, t],
            [b, 1, s, t],
            [1, heads, s, t],
            [b, heads, s, t],
            [1, 1, 1, t],
            [b, 1, 1, t],
            [1, 1, s, t],
        )
        if g.chance(0.5):
            inputs.append(g.constant(g.numbers.random(tuple(mask)) < 0.7, "b1"))
        else:
            inputs.append(g.parameter(mask, dtype) if g.chance(0.5) else g.literal(mask, dtype))
    more = {"q_num_heads": heads, "kv_num_heads": kv} if flat else {}
    if earlier:
        inputs += [""] * (not masked)
        inputs += [of_shape(g, [b, kv, earlier, size], dtype) for size in (d, e)]
    if g.chance(0.25):
        more["softcap"] = number(g, "f32", 1.0, 2.0)
        g.program.takes_constants = True  # one over the root of the heads' size
    if g.available_from(25) and g.chance(0.5):
        more["left_window_size"], more["right_window_size"] = (
            g.choose(None, -1, 0, 1, 2) for _ in range(2)
        )
    g.emit(op, inputs, is_causal=g.choose(None, 1), scale=number(g, "f32", 0.25, 1.0, 0.7), **more)


@generates("RotaryEmbedding")
def rotary_embedding(g, op):
    dtype, b, s, heads, d = g.main, g.size(3), g.size(5), g.choose(1, 2, 3), 2 * g.integer(1, 4)
    flat = g.chance(0.4)
    x = of_shape(g, [b, s, heads * d] if flat else [b, heads, s, d], dtype)
    turned = d if g.chance(0.6) else 2 * g.integer(1, d // 2)
    more = {"num_heads": heads} if flat else {}
    if turned != d or g.chance(0.2):
        more["rotary_embedding_dim"] = turned
        more.setdefault("num_heads", heads)
    if g.chance(0.5):
        rows = s + g.integer(0, 3)
        tables = [
            g.constant(g.numbers.uniform(-1, 1, (rows, turned // 2)), dtype) for _ in range(2)
        ]
        tables.append(g.constant(g.numbers.integers(0, rows, (b, s)), "i64"))
    else:
        shape = [b if g.chance(0.5) else b, s, turned // 2]
        tables = [
            (
                g.parameter(shape, dtype)
                if g.chance(0.2)
                else g.constant(g.numbers.uniform(-1, 1, tuple(shape)), dtype)
            )
            for _ in range(2)
        ]
    g.emit(op, [x, *tables], interleaved=g.choose(None, 0, 1), **more)


@generates("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(g, op):
    """Inside the graph, as a value among others."""
    x = g.float(lambda d: len(d) >= 2 and d[1] > 1)
    classes = g.dims(x)[1]
    rows = [g.dims(x)[0], *g.dims(x)[2:]]
    if op == "NegativeLogLikelihoodLoss" and g.chance(0.7):
        x = g.emit("LogSoftmax", [x], axis=1)
    labels, ignore = g.numbers.integers(0, classes, tuple(rows)), None
    if g.chance(0.5):
        ignore = g.choose(-100, 0, -1)
        labels = np.where(g.numbers.random(tuple(rows)) < 0.3, ignore, labels)
    inputs = [x, g.constant(labels, g.choose("i64", "i64", "i32"))]
    if g.chance(0.3):
        values = np.abs(g.numbers.standard_normal(classes)) + 0.25
        inputs.append(g.constant(values, g.type(x)))
    g.program.takes_constants |= op == "SoftmaxCrossEntropyLoss"
    # A mean would be by one over a number of labels, in 16 bits.
    narrow = g.type(x) in ("f16", "bf16")
    reductions = ("sum", "none") if narrow else (None, "mean", "sum", "none")
    outputs = 2 if op == "SoftmaxCrossEntropyLoss" and g.chance(0.3) else 1
    g.emit(op, inputs, outputs=outputs, reduction=g.choose(*reductions), ignore_index=ignore)


__all__ = ["FLOATS", "of_shape", "weight"]
