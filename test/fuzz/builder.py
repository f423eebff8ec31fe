"""Puts a random program together: values so far, what is known of each, and the ways to get an
argument of a kind that an operator needs. Every node is evaluated while it is added, on all parts
of the step: one that is not finite or too large is taken back."""
import random

import numpy as np

import numpy_ops_fourier  # noqa: F401
import numpy_ops_moves  # noqa: F401
import numpy_ops_quantize  # noqa: F401
import numpy_ops_recurrent  # noqa: F401
import numpy_ops_reductions  # noqa: F401
import numpy_ops_windows  # noqa: F401
from numpy_ops import OPS, Call
from evaluate import folded
from program import (
    FLOATS,
    INTEGERS,
    OF_SHAPES,
    TYPES,
    Input,
    Node,
    Program,
    folds_inexactly,
    rounded,
)

SIZES = (1, 1, 2, 2, 3, 4, 5, 7, 8, 13)
MOST_ELEMENTS, MOST_VALUE, MOST_RANK = 1500, 60.0, 5


class Unsuitable(Exception):
    """The values so far do not allow this node."""


class Builder:
    def __init__(self, seed, opset, batch, parts, main="f32", smooth=False):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.program, self.parts, self.main = Program(opset, batch), parts, main
        self.smooth = smooth  # no steps: nothing that rounding could turn over
        self.values = {}  # name: an array (or list, for a sequence) for each part
        self.known = set()  # names that the compiler knows while it compiles
        self.order = []  # names that may be used, oldest first
        self.count = 0
        self.hints = {}  # node's first output: module path

    # -- chance ------------------------------------------------------------------------------------

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return self.random.choice(options)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def size(self, most=13):
        return self.random.choice([s for s in SIZES if s <= most])

    def shape(self, rank=None, most=200):
        rank = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        while True:
            shape = [self.size() for _ in range(rank)]
            if np.prod(shape) <= most:
                return shape

    def normal(self, shape, style=None):
        """Values that a gradient likes, and at times ones, zeros and ties."""
        style = (
            style or self.random.choices(("normal", "coarse", "ones", "zeros"), (12, 2, 1, 0.5))[0]
        )
        values = self.numbers.standard_normal(shape)
        if style == "coarse" and not self.smooth:
            values = np.round(values * 2) / 2
        elif style == "ones":
            values = np.ones(shape)
        elif style == "zeros":
            values = np.where(self.numbers.random(shape) < 0.5, 0.0, values)
        return np.asarray(values)

    # -- what is known of a value ------------------------------------------------------------------

    def type(self, name):
        return self.program.types[name]

    def dims(self, name):
        return list(self.program.shapes[name])

    def rank(self, name):
        return len(self.program.shapes[name])

    def fresh(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def define(self, name, dtype, arrays, known):
        self.values[name] = arrays
        self.program.types[name] = dtype
        self.program.shapes[name] = () if isinstance(arrays[0], list) else tuple(arrays[0].shape)
        if known:
            self.known.add(name)

    # -- leaves ------------------------------------------------------------------------------------

    def input(self, dtype, values):
        name = self.fresh(self.choose("x", "input_", "data."))
        values = rounded(values, dtype)
        self.program.inputs[name] = Input(dtype, values)
        b = self.program.batch
        self.define(name, dtype, [values[p * b : (p + 1) * b] for p in range(self.parts)], False)
        self.order.append(name)
        return name

    def parameter(self, shape, dtype=None, style=None, name=None):
        dtype = dtype or self.main
        scale = 1 / np.sqrt(max(shape[0], 1)) if len(shape) > 1 else 1
        values = rounded(self.normal(tuple(shape), style) * (scale if style is None else 1), dtype)
        if name is None:
            module = self.choose(
                "layers.0", "layers.1", "layers.2", "blocks.0.mlp", "encoder", "head", "norm"
            )
            name = f"{module}.{self.choose('weight', 'p', 'gain', 'scale')}{self.fresh('')}"
        self.program.parameters[name] = (dtype, values)
        self.define(name, dtype, [values] * self.parts, False)
        return name

    def constant(self, values, dtype, how=None):
        """A constant as a node, or as an initializer."""
        values = np.asarray(rounded(values, dtype))
        name = self.fresh("c")
        self.program.constants[name] = (dtype, values)
        self.program.how[name] = how or self.choose("node", "initializer")
        self.define(name, dtype, [values] * self.parts, True)
        return name

    def scalar(self, value, dtype=None, how=None):
        return self.constant(
            np.array(float(value) if (dtype or self.main) in FLOATS else value),
            dtype or self.main,
            how,
        )

    # -- nodes -------------------------------------------------------------------------------------

    def emit(self, op, inputs, dtype=None, outputs=1, usable=True, bounded=True, **attributes):
        """Adds a node; its result's name, or the list of their names. dtype: the results' type,
        default that of the first input."""
        names = [self.fresh() for _ in range(outputs)]
        if "of" in attributes:  # the attribute dtype, whose name is taken
            attributes["dtype"] = TYPES[attributes.pop("of")][0]
        node = Node(op, list(inputs), names, {k: v for k, v in attributes.items() if v is not None})
        types = dtype if isinstance(dtype, list) else [dtype or self.type(inputs[0])] * outputs
        # Of its second input CastLike takes the type alone.
        taken = inputs[:1] if op == "CastLike" else inputs
        known = all(not i or i in self.known for i in taken) or op in OF_SHAPES
        if known and folds_inexactly(op, [*(self.type(i) for i in inputs if i), *types]):
            raise Unsuitable(f"{op}: known")
        results = []
        for part in range(1 if known else self.parts):
            arguments = [self.values[i][part] if i else None for i in inputs]
            try:
                with np.errstate(all="ignore"):
                    results.append(OPS[op](Call(node, arguments, self.program.opset, np.float64)))
            except (IndexError, ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
                raise Unsuitable(f"{op}: {error}") from error
        results = results * self.parts if known else results
        for at in range(outputs):
            arrays = [folded(r[at], types[at], np.float64) if known else r[at] for r in results]
            self.check(op, arrays, bounded)
            self.define(names[at], types[at], arrays, known)
        self.program.nodes.append(node)
        if usable:
            self.order += names
        return names[0] if outputs == 1 else names

    def check(self, op, arrays, bounded):
        for array in arrays:
            if self.smooth and op in ("Tanh", "Erf") and np.any(np.abs(array) > 0.98):
                raise Unsuitable("saturated: its derivative from its rounded result tells little")
            if isinstance(array, list):
                continue
            if (
                array.size > MOST_ELEMENTS
                or array.ndim > MOST_RANK
                or array.shape != arrays[0].shape
                or 0 in array.shape
            ):
                raise Unsuitable(f"{op}: shape {array.shape}")
            if bounded and array.dtype.kind == "f" and not np.all(np.abs(array) <= MOST_VALUE):
                raise Unsuitable(f"{op}: values")
            if array.dtype == np.int64 and np.any(np.abs(array) > 1 << 31):
                raise Unsuitable(f"{op}: values")

    def available_from(self, since):
        return self.program.opset >= since

    def available(self, since):
        if self.program.opset < since:
            raise Unsuitable(f"needs opset {since}")

    def wide_only(self, why):
        if self.main in ("f16", "bf16"):
            raise Unsuitable(why)

    # -- arguments ---------------------------------------------------------------------------------

    def pick(self, *dtypes, where=None, known=None):
        """A value of one of the types, rather a late one."""
        names = [
            n
            for n in self.order
            if self.type(n) in dtypes
            and (known is None or (n in self.known) == known)
            and not isinstance(self.values[n][0], list)
            and (where is None or where(self.dims(n)))
        ]
        if not names:
            raise Unsuitable("no such value")
        return names[min(len(names) - 1, int(len(names) * self.random.random() ** 0.6))]

    def float(self, where=None):
        """A float value: a result, an input, or a parameter, old or new."""
        draw = self.random.random()
        if draw < 0.12:
            names = [
                p
                for p, (t, _) in self.program.parameters.items()
                if where is None or where(self.dims(p))
            ]
            if names:
                return self.choose(*names)
        if draw < 0.2:
            for _ in range(20):
                shape = self.shape()
                if where is None or where(shape):
                    return self.parameter(shape)
        return self.pick(*FLOATS, where=where, known=None if self.chance(0.05) else False)

    def any(self, where=None):
        return self.pick(*TYPES, where=where) if self.chance(0.3) else self.float(where)

    def partner(self, name, narrow=False):
        """A value of the same type that broadcasts against `name`; narrow: to its shape."""
        dtype, dims = self.type(name), self.dims(name)

        def fits(other):
            try:
                shape = np.broadcast_shapes(tuple(other), tuple(dims))
            except ValueError:
                return False
            return shape == tuple(dims) if narrow else np.prod(shape) <= MOST_ELEMENTS

        draw = self.random.random()
        if draw < 0.35:
            try:
                return self.pick(dtype, where=fits)
            except Unsuitable:
                pass
        if dtype in FLOATS and draw < 0.55:
            used = [
                p
                for p, (t, _) in self.program.parameters.items()
                if t == dtype and fits(self.dims(p))
            ]
            turned = [
                p
                for p, (t, v) in self.program.parameters.items()
                if t == dtype and v.ndim == 2 and fits(v.shape[::-1])
            ]
            if turned and self.chance(0.5):
                return self.emit("Transpose", [self.choose(*turned)], perm=[1, 0])
            if used:
                return self.choose(*used)
        shape = [d if self.chance(0.7) else 1 for d in dims][
            self.integer(0, len(dims)) if self.chance(0.5) else 0 :
        ]
        if not narrow and self.chance(0.15) and np.prod(dims) * 3 < MOST_ELEMENTS and len(dims) < 4:
            shape = [self.integer(1, 3)] + [d if self.chance(0.7) else 1 for d in dims]
        if dtype in FLOATS and draw < 0.9:
            return self.parameter(shape, dtype)
        return self.literal(shape, dtype)

    def literal(self, shape, dtype):
        if dtype in FLOATS:
            return self.constant(np.round(self.normal(tuple(shape), "normal") * 8) / 8, dtype)
        if dtype == "b1":
            return self.constant(self.numbers.random(tuple(shape)) < 0.6, dtype)
        return self.constant(
            self.numbers.integers(0 if dtype == "u8" else -4, 6, tuple(shape)), dtype
        )

    def positive(self, x):
        """x made positive, away from zero."""
        dtype = self.type(x)
        way = self.integer(0, 4)
        if way == 0:
            return self.emit("Exp", [self.emit("Tanh", [x])])
        if way == 1:
            return self.emit(
                "Add", [self.emit("Mul", [x, x], bounded=False), self.scalar(0.5, dtype)]
            )
        if way == 2:
            return self.emit("Add", [self.scalar(0.25, dtype), self.emit("Softplus", [x])])
        if way == 3:
            return self.emit("Add", [self.emit("Sigmoid", [x]), self.scalar(0.125, dtype)])
        return self.emit("Add", [self.emit("Abs", [x]), self.scalar(0.5, dtype)])

    # -- integers that the compiler must work out --------------------------------------------------

    def ints(self, values, scalar=False):
        """A known int64 tensor: as a constant, or worked out from shapes."""
        target = np.array(values[0] if scalar else values, np.int64)
        draw = self.random.random()
        try:
            if draw < 0.3:
                name = self.computed(target)
                if (
                    np.array_equal(self.values[name][0], target)
                    and self.program.types[name] == "i64"
                ):
                    return name
        except Unsuitable:
            pass
        return self.constant(target, "i64")

    def computed(self, target):
        way = self.integer(0, 6)
        if target.ndim == 1 and target.size and way <= 2:
            return self.emit(
                "Concat", [self.computed_dim(int(t)) for t in target], axis=0, usable=False
            )
        if way == 3:
            delta = self.constant(self.numbers.integers(1, 5, target.shape), "i64")
            return self.emit(
                "Sub",
                [self.emit("Add", [self.constant(target, "i64"), delta], usable=False), delta],
                usable=False,
            )
        if way == 4:
            factor = self.scalar(self.integer(1, 4), "i64")
            return self.emit(
                "Div",
                [self.emit("Mul", [self.constant(target, "i64"), factor], usable=False), factor],
                usable=False,
            )
        if way == 5:
            kept = self.numbers.random(target.shape) < 0.5
            sentinel = self.constant(np.where(kept, target, -1), "i64")
            other = self.constant(target, "i64")
            is_open = self.emit(
                "Equal", [sentinel, self.scalar(-1, "i64")], dtype="b1", usable=False
            )
            return self.emit("Where", [is_open, other, sentinel], dtype="i64", usable=False)
        middle = self.emit(
            "Cast",
            [self.constant(target, "i64")],
            dtype=(to := self.choose("i32", "f32", "f64")),
            to=TYPES[to][0],
            usable=False,
        )
        return self.emit("Cast", [middle], dtype="i64", to=7, usable=False)

    def computed_dim(self, value):
        """[value] from the shape of some value that has such a dim."""
        owners = [
            (n, d)
            for n in self.order
            if not isinstance(self.values[n][0], list)
            for d, s in enumerate(self.dims(n))
            if s == value
        ]
        if not owners:
            return self.constant(np.array([value]), "i64")
        name, dim = self.choose(*owners)
        if self.program.opset >= 15 and self.chance(0.3):
            return self.emit("Shape", [name], dtype="i64", start=dim, end=dim + 1, usable=False)
        dims = self.emit("Shape", [name], dtype="i64", usable=False)
        if self.chance(0.5):
            picked = self.emit("Gather", [dims, self.scalar(dim, "i64")], axis=0, usable=False)
            return self.emit(
                "Unsqueeze", [picked, self.constant(np.array([0]), "i64")], usable=False
            )
        ends = self.constant(np.array([dim + 1]), "i64")
        return self.emit("Slice", [dims, self.constant(np.array([dim]), "i64"), ends], usable=False)


__all__ = ["Builder", "Unsuitable", "FLOATS", "INTEGERS"]
