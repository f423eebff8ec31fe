"""What exporters write for modules: chains of nodes that the compiler recognises as one operation,
and chains that only look like it (another constant, an operand from elsewhere, another axis), which
it must leave alone."""
import numpy as np

from builder import Unsuitable
from generate_products import of_shape, weight


def near(g, value):
    """The constant of the pattern, or one beside it."""
    return value if g.chance(0.8) else value * g.choose(0.5, 1.125, -1.0, 2.0)


def swap(g, a, b):
    return [a, b] if g.chance(0.5) else [b, a]


def other(g, x):
    """x, or at times another value of its shape."""
    return x if g.chance(0.85) else g.partner(x, narrow=True)


def gelu(g):
    x = g.float()
    t = g.type(x)
    g.program.takes_constants = True
    if g.chance(0.5):
        inner = (
            g.emit("Div", [x, g.scalar(near(g, np.sqrt(2)), t)])
            if g.chance(0.5)
            else g.emit("Mul", [x, g.scalar(near(g, np.sqrt(0.5)), t)])
        )
        gate = g.emit("Add", swap(g, g.emit("Erf", [inner]), g.scalar(1.0, t)))
    else:
        cube = (
            g.emit("Pow", [x, g.scalar(3.0, t)])
            if g.chance(0.5)
            else g.emit("Mul", [x, g.emit("Mul", [x, x])])
        )
        inner = g.emit(
            "Add", swap(g, x, g.emit("Mul", swap(g, cube, g.scalar(near(g, 0.044715), t))))
        )
        gate = g.emit(
            "Add",
            swap(
                g,
                g.emit(
                    "Tanh",
                    [g.emit("Mul", swap(g, inner, g.scalar(near(g, np.sqrt(2 / np.pi)), t)))],
                ),
                g.scalar(1.0, t),
            ),
        )
    half = g.scalar(near(g, 0.5), t)
    if g.chance(0.5):
        g.emit("Mul", swap(g, g.emit("Mul", swap(g, other(g, x), half)), gate))
    else:
        g.emit("Mul", swap(g, g.emit("Mul", swap(g, other(g, x), gate)), half))


def silu(g):
    x = g.float()
    g.emit("Mul", swap(g, other(g, x), g.emit("Sigmoid", [x])))


def norm(g):
    """LayerNorm or RMSNorm in pieces."""
    x = g.float(lambda d: len(d) > 0)
    t, axis = g.type(x), -1 if g.chance(0.85) else 0
    keep = 1

    def mean(v):
        if g.program.opset >= 18:
            return g.emit("ReduceMean", [v, g.ints([axis])], keepdims=keep)
        return g.emit("ReduceMean", [v], axes=[axis], keepdims=keep)

    centred = g.emit("Sub", [x, mean(x)]) if g.chance(0.5) else x
    square = (
        g.emit("Pow", [centred, g.scalar(2.0, t)])
        if g.chance(0.5)
        else g.emit("Mul", [centred, centred])
    )
    # Numbers that are the same in decimal: shardc takes what float32 made of 1e-5 for 1e-5.
    shifted = g.emit(
        "Add", swap(g, mean(square), g.scalar(g.choose(2.0**-10, 2.0**-5, 0.5), t))
    )
    scaled = lambda v: g.emit("Mul", swap(g, v, g.parameter([g.dims(x)[-1]], t)))
    way = g.integer(0, 2)
    if way == 0:
        result = g.emit("Div", [other(g, centred), g.emit("Sqrt", [shifted])])
    elif way == 1:
        result = g.emit(
            "Mul", swap(g, other(g, centred), g.emit("Reciprocal", [g.emit("Sqrt", [shifted])]))
        )
    else:
        result = g.emit(
            "Mul", swap(g, other(g, centred), g.emit("Pow", [shifted, g.scalar(-0.5, t)]))
        )
    result = scaled(result) if g.chance(0.8) else result
    if g.chance(0.5):
        g.emit("Add", swap(g, result, g.parameter([g.dims(x)[-1]], t)))


def capped(g, x):
    """c tanh(x / c), as Gemma 2 has scores."""
    t, cap = g.type(x), g.choose(0.5, 1.0, 2.0)
    small = g.emit("Div", [x, g.scalar(cap, t)])
    return g.emit("Mul", swap(g, g.emit("Tanh", [small]), g.scalar(near(g, cap), t)))


def with_sinks(g, scores):
    """Probabilities beside a score of each head that no value belongs to, as gpt-oss has it."""
    t, (b, heads, rows, columns) = g.type(scores), g.dims(scores)
    sinks = g.parameter(g.choose([heads, 1, 1], [heads, 1, 1], [rows, 1], [1, heads, 1, 1]), t)
    sinks = g.emit("Expand", [sinks, g.ints([b, heads, rows, 1])])
    both = g.emit("Concat", swap(g, scores, sinks) if g.chance(0.1) else [scores, sinks], axis=-1)
    if g.chance(0.5):
        largest = (
            g.emit("ReduceMax", [both], axes=[-1])
            if g.program.opset < 18
            else g.emit("ReduceMax", [both, g.ints([-1])])
        )
        both = g.emit("Sub", [both, largest])
    shares = g.emit("Softmax", [both], axis=-1)
    return g.emit("Slice", [shares, g.ints([0]), g.ints([columns]), g.ints([3])])


def attention(g):
    """Heads split from products, scores, a mask, softmax, and heads joined again."""
    t = g.main
    b = g.size(3)
    s = g.choose(2, 3, 4, 5)
    heads = g.choose(1, 2, 3)
    d = g.choose(1, 2, 4, 5)
    g.program.takes_constants |= d not in (1, 4)
    x = of_shape(g, [b, s, heads * d], t)
    keys = x if g.chance(0.8) else of_shape(g, [b, g.choose(2, 3), heads * d], t)
    kv = heads if g.chance(0.7) else 1

    def split(v, count):
        y = g.emit("MatMul", [v, weight(g, heads * d, count * d, t)])
        if g.chance(0.4):
            y = g.emit("Add", swap(g, y, g.parameter([count * d], t)))
        y = g.emit("Reshape", [y, g.ints([g.choose(0, b), g.dims(v)[1], count, d])])
        return g.emit("Transpose", [y], perm=[0, 2, 1, 3])

    q, k, v = split(x, heads), split(keys, kv), split(keys, kv)
    if kv != heads and g.chance(0.7):

        def repeat(y):
            wide = g.emit("Unsqueeze", [y, g.ints([2])])
            wide = g.emit("Expand", [wide, g.ints([b, kv, heads // kv, g.dims(y)[2], d])])
            return g.emit("Reshape", [wide, g.ints([b, heads, g.dims(y)[2], d])])

        k, v = repeat(k), repeat(v)
    scale = g.scalar(near(g, 1 / np.sqrt(d)), t)
    early = g.chance(0.3)
    q = g.emit("Mul", swap(g, q, scale)) if early else q
    scores = g.emit("MatMul", [q, g.emit("Transpose", [k], perm=[0, 1, 3, 2])])
    if not early:
        scores = (
            g.emit("Mul", swap(g, scores, scale))
            if g.chance(0.6)
            else g.emit("Div", [scores, g.scalar(near(g, np.sqrt(d)), t)])
        )
    rows, columns = g.dims(scores)[-2:]
    if g.chance(0.25):
        scores = capped(g, scores)
    way = g.integer(0, 4)
    if way == 1:
        causal = np.where(
            np.tri(rows, columns, g.choose(0, 0, 1, -1) if rows > 1 else 0) > 0,
            0.0,
            g.choose(-1e4, -30.0),
        )
        scores = g.emit(
            "Add",
            swap(
                g,
                scores,
                g.constant(causal.reshape(g.choose((rows, columns), (1, 1, rows, columns))), t),
            ),
            bounded=False,
        )
    elif way == 2:
        seen = g.constant(np.tri(rows, columns) > 0, "b1")
        scores = g.emit(
            "Where", [seen, scores, g.scalar(g.choose(-1e4, -40.0), t)], dtype=t, bounded=False
        )
    elif way == 3:
        scores = g.emit(
            "Add",
            swap(
                g,
                scores,
                g.parameter(
                    g.choose([heads, rows, columns], [1, heads, 1, columns], [b, 1, 1, columns]), t
                ),
            ),
        )
    if g.chance(0.8):
        probabilities = g.emit("Softmax", [scores], axis=g.choose(-1, -1, -1, 3, 2))
    else:
        probabilities = with_sinks(g, scores)
    y = g.emit("MatMul", [probabilities, v])
    y = g.emit("Transpose", [y], perm=g.choose([0, 2, 1, 3], [0, 2, 1, 3], [2, 0, 1, 3]))
    g.emit("Reshape", [y, g.ints([b, s, heads * d] if g.chance(0.8) else [-1, heads * d])])


def rope(g):
    """x cos + rotate_half(x) sin."""
    t, b, h, s, half = g.main, g.size(3), g.choose(1, 2), g.size(5), g.integer(1, 4)
    x = of_shape(g, [b, h, s, 2 * half], t)
    angles = g.numbers.uniform(-2, 2, (s, half))
    tables = [
        g.constant(
            np.concatenate([f(angles), f(angles)], -1).reshape(
                g.choose((s, 2 * half), (1, 1, s, 2 * half))
            ),
            t,
        )
        for f in (np.cos, np.sin)
    ]
    if g.chance(0.2):
        tables[1] = g.parameter([s, 2 * half], t)
    if g.chance(0.5):
        first, second = g.emit("Split", [x, g.ints([half, half])], outputs=2, axis=-1)
    else:
        axis = g.ints([3])
        first = g.emit("Slice", [x, g.ints([0]), g.ints([half]), axis])
        second = g.emit(
            "Slice", [x, g.ints([half]), g.constant(np.array([(1 << 63) - 1]), "i64"), axis]
        )
    turned = g.emit(
        "Concat",
        [g.emit("Neg", [second]), first] if g.chance(0.8) else [second, g.emit("Neg", [first])],
        axis=-1,
    )
    g.emit(
        "Add",
        swap(
            g,
            g.emit("Mul", swap(g, other(g, x), tables[0])),
            g.emit("Mul", swap(g, turned, tables[1])),
        ),
    )


def embedding(g):
    ids = g.pick("i64", "i32", known=False)
    classes = g.choose(3, 5, 7, 11)
    place = g.emit("Mod", [ids, g.scalar(classes, g.type(ids))])
    table = g.parameter([classes, g.choose(1, 2, 4, 5)])
    g.emit("Gather", [table, place], axis=0)
    if g.chance(0.4):  # the tied head
        x = g.float(lambda d: len(d) > 0 and d[-1] == g.dims(table)[1])
        if g.type(x) == g.type(table):
            g.emit("MatMul", [x, g.emit("Transpose", [table], perm=[1, 0], usable=False)])


def cross_entropy(g):
    """-log_softmax at the labels, in pieces."""
    x = g.float(lambda d: len(d) >= 2 and d[-1] > 1)
    labels = g.constant(g.numbers.integers(0, g.dims(x)[-1], (*g.dims(x)[:-1], 1)), "i64")
    logs = (
        g.emit("LogSoftmax", [x], axis=-1)
        if g.chance(0.6)
        else g.emit("Log", [g.emit("Softmax", [x], axis=-1)])
    )
    picked = g.emit("GatherElements", [logs, labels], axis=g.choose(-1, g.rank(x) - 1))
    g.emit("Neg", [g.emit(g.choose("ReduceMean", "ReduceSum"), [picked], keepdims=0)])


def mask_arithmetic(g):
    """Positions by Range, compared, cast and used as a factor."""
    x = g.float(lambda d: len(d) >= 1 and d[-1] > 1)
    size = g.dims(x)[-1]
    limit = g.emit(
        "Squeeze", [g.computed_dim(size), g.constant(np.array([0]), "i64")], usable=False
    )
    line = g.emit("Range", [g.scalar(0, "i64"), limit, g.scalar(1, "i64")])
    rows = g.emit("Unsqueeze", [line, g.constant(np.array([1]), "i64")])
    seen = g.emit(
        g.choose("GreaterOrEqual", "Greater", "LessOrEqual", "Equal"), [rows, line], dtype="b1"
    )
    if g.chance(0.5):
        seen = g.emit(
            "And",
            [
                seen,
                g.emit(
                    "Less",
                    [g.emit("Sub", [rows, line]), g.scalar(g.integer(1, size), "i64")],
                    dtype="b1",
                ),
            ],
        )
    if g.rank(x) >= 2 and g.dims(x)[-2] == size:
        g.emit("Where", [seen, x, g.scalar(0.0, g.type(x))], dtype=g.type(x))
    else:
        g.emit(
            "MatMul",
            [
                x,
                g.emit(
                    "Cast",
                    [seen],
                    dtype=g.type(x),
                    to={"f32": 1, "f64": 11, "f16": 10, "bf16": 16}[g.type(x)],
                ),
            ],
        )


def runtime_mask(g):
    """A mask of the data as a bias, as encoders have it."""
    x = g.float(lambda d: len(d) >= 1)
    mask = g.pick(
        "b1", "i64", "i32", known=False, where=lambda d: len(d) and d[-1] == g.dims(x)[-1]
    )
    if g.type(mask) != "b1":
        mask = g.emit("Equal", [mask, g.scalar(g.integer(0, 2), g.type(mask))], dtype="b1")
    if g.rank(mask) > g.rank(x):
        raise Unsuitable("rank")
    g.emit("Where", [mask, x, g.partner(x)], dtype=g.type(x))


PATTERNS = (
    gelu,
    silu,
    norm,
    attention,
    attention,
    rope,
    embedding,
    cross_entropy,
    mask_arithmetic,
    runtime_mask,
)
