"""A case from a seed: a program and how it is compiled. The same seed gives the same case
on every machine."""
import random

import numpy as np

import generate_carried  # noqa: F401  (registers its generators)
import generate_fourier  # noqa: F401
import generate_moves  # noqa: F401
import generate_pad  # noqa: F401
import generate_products  # noqa: F401
import generate_quantize  # noqa: F401
import generate_recurrent  # noqa: F401
import generate_sampling  # noqa: F401
import generate_scatter  # noqa: F401
import generate_windows  # noqa: F401
from builder import FLOATS, Builder, Unsuitable
from configuration import draw_configuration
from generators import GENERATORS, JUMPS, SINCE, cast
from patterns import PATTERNS
from program import Loss

OPSETS = (13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 20, 21, 22, 23, 23, 24, 24, 25, 26, 27, 28)


class Case:
    def __init__(self, seed, program, configuration, habit):
        self.seed = seed
        self.program = program
        self.configuration = configuration
        self.habit = habit
        self.wrapped = set()  # If, function: what the file has around its nodes

    def operators(self):
        """(operator, type of its first input, or of its result where it has none) of each node that
        the loss depends on."""
        yield from ((name, "b1") for name in self.wrapped if name == "If")
        kept, types = self.program.needed([self.program.loss.value]), self.program.types
        for node in self.program.nodes:
            if any(o in kept for o in node.outputs):
                yield node.op, types[node.inputs[0]] if node.inputs else types[node.outputs[0]]


def add_inputs(g, samples):
    rank = g.choose(1, 2, 2, 3, 3, 4)
    x = g.input(g.main, g.numbers.standard_normal((samples, *g.shape(rank - 1, 60))))
    if g.chance(0.8):
        shape = (samples, *g.shape(g.choose(0, 1, 1, 2), 20))
        g.input(g.choose("i64", "i64", "i32"), g.numbers.integers(0, g.choose(2, 5, 11), shape))
    if g.chance(0.35):
        g.input("b1", g.numbers.random((samples, *g.shape(g.choose(0, 1, 2), 20))) < 0.7)
    if g.chance(0.25):
        dtype = g.choose("i8", "u8")
        g.input(
            dtype,
            g.numbers.integers(
                0 if dtype == "u8" else -5, 9, (samples, *g.shape(g.choose(0, 1), 20))
            ),
        )
    if g.chance(0.3):
        g.input(
            g.main if g.chance(0.8) or g.main != "f32" else "f64",
            g.numbers.standard_normal((samples, *g.shape(g.choose(0, 1, 2), 30))),
        )
    return x


def add_nodes(g, count, focus):
    """Random nodes; focus: an operator that must be among them."""
    names = [
        n
        for n in GENERATORS
        if SINCE.get(n, 13) <= g.program.opset and not (g.smooth and n in JUMPS)
    ]
    wanted = [focus] if focus in names else []
    made = attempts = 0
    while (made < count or wanted) and attempts < 12 * count + 60:
        attempts += 1
        before = len(g.program.nodes)
        try:
            if not wanted and g.chance(0.15):
                g.choose(*PATTERNS)(g)
            else:
                op = wanted[0] if wanted and g.chance(0.5) else g.choose(*names)
                GENERATORS[op](g, op)
                wanted = [w for w in wanted if w != op]
        except Unsuitable:
            continue
        made += (len(g.program.nodes) - before + 1) // 2


def as_float(g, name):
    """An integer, a bool or what is known as floats that a parameter scales."""
    x = name if g.type(name) == g.main else cast(g, name, g.main)
    if np.max(np.abs(g.values[x][0])) > 8:
        x = g.emit("Mul", [x, g.scalar(0.0625)])
    return g.emit("Mul", [x, g.parameter(g.dims(x)[-1:] if g.chance(0.5) else [])])


def scalar_of(g, name):
    """One number that depends on all elements of a value."""
    x, dtype = name, g.type(name)
    way = g.integer(0, 9)
    if way <= 5 and g.rank(x):
        x = g.emit(
            "Mul", [x, g.constant(np.round(g.numbers.standard_normal(g.dims(x)) * 8) / 8, dtype)]
        )
    elif way == 6:
        x = g.emit("Mul", [x, x])
    axes = list(range(g.rank(x)))
    if axes:
        op = g.choose("ReduceMean", "ReduceMean", "ReduceSum")
        if op == "ReduceSum" and int(np.prod(g.dims(x))) > 50:
            op = "ReduceMean"
        if g.chance(0.5):
            x = g.emit(op, [x], keepdims=0)
        elif op == "ReduceSum" or g.program.opset >= 18:
            x = g.emit(op, [x, g.constant(np.array(axes), "i64")], keepdims=0)
        else:
            x = g.emit(op, [x], axes=axes, keepdims=0)
    return x if dtype == g.main else cast(g, x, g.main)


def unread(g):
    read = {i for n in g.program.nodes for i in n.inputs}
    leaves = {**g.program.inputs, **g.program.constants}
    names = [
        n
        for n in g.order
        if n not in read and n not in leaves and not isinstance(g.values[n][0], list)
    ]
    return list(dict.fromkeys(names))


def total(g, most=10):
    """The sum of one number of each value that nothing has read."""
    names = unread(g)
    g.random.shuffle(names)
    parts = []
    for name in names[:most]:
        try:
            plain = g.type(name) in FLOATS and name not in g.known
            parts.append(scalar_of(g, name if plain else as_float(g, name)))
        except Unsuitable:
            pass
    if not parts:
        return None
    if len(parts) == 1 or g.chance(0.4):
        return g.emit("Sum", parts, bounded=False)
    result = parts[0]
    for part in parts[1:]:
        result = g.emit("Add", [result, part] if g.chance(0.5) else [part, result], bounded=False)
    return result


def finish(g, x, samples):
    """The loss: the graph's own number, or logits or an output that the trainer
    compares with labels."""
    b, kind = g.program.batch, g.random.choices(("output", "mse", "cross_entropy"), (5, 2, 3))[0]
    everything = total(g)
    if kind == "output":
        if everything is None:
            everything = scalar_of(g, g.emit("Mul", [x, g.parameter(g.dims(x)[1:])]))
        shape = g.choose([], [], [1], [1, 1])
        everything = (
            g.emit("Reshape", [everything, g.ints(shape)], bounded=False) if shape else everything
        )
        g.program.loss = Loss("output", everything)
        return
    rank = 2 if kind == "cross_entropy" else 1
    try:
        y = g.pick(
            g.main, where=lambda d: len(d) >= rank and d[0] == b and 1 < d[-1] < 30, known=False
        )
    except Unsuitable:
        flat = g.emit("Reshape", [x, g.constant(np.array([b, -1]), "i64")])
        y = g.emit("MatMul", [flat, g.parameter([g.dims(flat)[1], g.integer(2, 9)])])
    y = g.emit("Mul", [y, g.parameter(g.dims(y)[-1:])])
    if everything is not None:
        factor = g.emit(
            "Add", [g.emit("Tanh", [g.emit("Mul", [everything, g.scalar(0.25)])]), g.scalar(1.5)]
        )
        y = g.emit("Mul", [y, factor])
    name = g.choose("labels", "target", "y")
    if kind == "mse":
        values = g.numbers.standard_normal((samples, *g.dims(y)[1:])).astype(np.float32)
        g.program.loss = Loss("mse", y, name, values.astype(np.float64))
        return
    dims = g.dims(y)
    labels = g.numbers.integers(0, dims[-1], (samples, *dims[1:-1]))
    ignore = g.choose(-100, -100, -1, 0)
    shift = 1 if len(dims) > 2 and dims[-2] > 1 and g.chance(0.4) else 0
    if g.chance(0.5):
        labels = np.where(g.numbers.random(labels.shape) < g.choose(0.2, 0.5), ignore, labels)
    counted = labels[..., shift:] if shift else labels
    if np.all(counted == ignore):
        labels[...] = dims[-1] - 1 if ignore == 0 else 0
    g.program.loss = Loss("cross_entropy", y, name, labels, ignore, shift)


def generate(seed, size=None, target=""):
    """The case of a seed. size: about how many nodes; default: drawn. target: what it is compiled
    for; default: shardc's."""
    chance = random.Random(seed * 2654435761 % (1 << 61))
    opset, batch = chance.choice(OPSETS), chance.choice((1, 2, 2, 3, 4, 5))
    configuration = draw_configuration(chance).for_target(target)
    smooth = configuration.precision != "float64"
    main = chance.choices(("f32", "f64", "f16", "bf16"), (14, 2, 2, 2))[0]
    habit = chance.choices(("plain", "dynamo", "legacy"), (4, 4, 3))[0]
    size = size or chance.choice((3, 5, 8, 12, 18))
    names = sorted(
        n for n in GENERATORS if SINCE.get(n, 13) <= opset and not (smooth and n in JUMPS)
    )
    focus = chance.choice(names)
    for attempt in range(50):
        g = Builder(seed * 64 + attempt, opset, batch, configuration.parts(), main, smooth)
        samples = batch * g.parts
        try:
            x = add_inputs(g, samples)
            g.emit(
                "Mul" if g.chance(0.5) or g.rank(x) < 2 else "MatMul",
                [x, g.parameter(g.dims(x)[-1:] if g.rank(x) > 1 else [])],
            )
            add_nodes(g, size, focus)
            finish(g, x, samples)
        except Unsuitable:
            continue
        program = g.program
        if program.trained() and any(
            i in program.needed([program.loss.value], numbers=True) for i in program.inputs
        ):
            break
    else:
        raise RuntimeError(f"seed {seed}: no program in 50 attempts")
    outputs = [n for n in unread(g) if n != program.loss.value]
    program.extra_outputs = outputs[: g.integer(0, 2)] if g.chance(0.4) else []
    program = program.pruned()
    configuration.settle(chance, program)
    return Case(seed, program, configuration, habit)
