"""Ops that put elements around a tensor, or cut some off."""
from builder import FLOATS, Unsuitable
from generators import generates


@generates("Pad")
def pad(g, op):
    x = g.pick("i64", "i32") if g.chance(0.15) else g.float(lambda d: len(d) > 0)
    rank, dtype = g.rank(x), g.type(x)
    if not rank:
        raise Unsuitable
    axes = list(range(rank))
    if g.program.opset >= 18 and g.chance(0.4):
        axes = g.random.sample(axes, g.integer(1, rank))
    amounts = [g.choose(0, 0, 1, 2, 3, -1) for _ in range(2 * len(axes))]
    mode = g.choose(
        None, "constant", "edge", "reflect", *(("wrap",) if g.available_from(19) else ())
    )
    if mode not in (None, "constant"):
        amounts = [min(abs(a), g.dims(x)[axes[i % len(axes)]] - 1) for i, a in enumerate(amounts)]
    for i, axis in enumerate(axes):
        # What keeps no element is a constant, which the compiler rounds as the file does.
        if g.dims(x)[axis] + min(amounts[i], 0) + min(amounts[len(axes) + i], 0) < 1:
            amounts[i] = 0
    inputs = [x, g.ints(amounts)]
    if g.chance(0.5) or len(axes) < rank:
        way = g.integer(0, 3)
        inputs.append(
            ""
            if way == 0
            else (
                g.scalar(g.choose(0, 1, -2), dtype)
                if way < 3 or dtype not in FLOATS
                else g.parameter([], dtype)
            )
        )
    if len(axes) < rank:
        inputs.append(g.ints([a - rank if g.chance(0.3) else a for a in axes]))
    g.emit("Pad", inputs, mode=mode)


@generates("CenterCropPad")
def center_crop_pad(g, op):
    g.available(18)
    x = g.float(lambda d: len(d) > 0)
    rank = g.rank(x)
    if not rank:
        raise Unsuitable
    axes = g.random.sample(range(rank), g.integer(1, rank)) if g.chance(0.5) else None
    sizes = [
        max(1, g.dims(x)[axis] + g.integer(-3, 3))
        for axis in (range(rank) if axes is None else axes)
    ]
    if axes is not None:
        axes = [a - rank if g.chance(0.3) else a for a in axes]
    g.emit(op, [x, g.ints(sizes)], axes=axes)
