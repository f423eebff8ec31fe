"""Generators: operators that write at positions."""
import numpy as np

from builder import FLOATS, Unsuitable
from generators import generates


@generates("ScatterND", "ScatterElements")
def scatter(g, op):
    x = g.pick("i64", "i32", "u8", where=len) if g.chance(0.2) else g.float(lambda d: len(d) > 0)
    dims, dtype = g.dims(x), g.type(x)
    adds = g.chance(0.5)
    if op == "ScatterND":
        tuples = g.integer(1, len(dims))
        places = int(np.prod(dims[:tuples]))
        # Where nothing is added, no place may be there twice.
        count = g.integer(1, min(6, places))
        picked = g.numbers.choice(places, count, replace=adds)
        indices = np.stack(np.unravel_index(picked, dims[:tuples]), -1)
        if g.chance(0.3):
            indices = indices - np.array(dims[:tuples])
        shape, more = [count, *dims[tuples:]], {}
    else:
        axis = g.integer(0, len(dims) - 1)
        shape = [g.integer(1, d) for d in dims]
        indices = np.moveaxis(
            np.apply_along_axis(
                lambda _: g.numbers.choice(dims[axis], shape[axis], replace=adds),
                0,
                np.zeros([shape[axis], *(s for d, s in enumerate(shape) if d != axis)]),
            ),
            0,
            axis,
        )
        more = {"axis": axis - len(dims) if g.chance(0.3) else axis}
    if dtype in FLOATS:
        try:
            updates = g.pick(dtype, where=lambda d: d == shape)
        except Unsuitable:
            updates = g.parameter(shape, dtype)
    else:
        updates = g.literal(shape, dtype)
    if g.program.opset >= 16:
        # What is multiplied or compared may be there twice, too.
        others = ("mul", "min", "max") if g.available_from(18) else ()
        more["reduction"] = g.choose("add", *others) if adds else g.choose(None, "none")
    elif adds:
        raise Unsuitable("needs opset 16")
    g.emit(op, [x, g.constant(indices, g.choose("i64", "i64", "i32")), updates], **more)
