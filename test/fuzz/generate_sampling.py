"""Generators: images sampled at computed places, and blocks put back into images."""
import numpy as np

from builder import Unsuitable
from generate_products import of_shape
from generate_windows import windows
from generators import generates
from numpy_ops import Call
from numpy_ops_windows import Windows
from program import Node

WHY = "places between elements are told from each other in more bits"


def places(g, shape):
    """A grid's numbers, most of them within the image."""
    x = of_shape(g, shape, g.main)
    return g.emit("Mul", [g.emit("Tanh", [x]), g.scalar(g.choose(0.75, 1.25), g.main)])


@generates("GridSample")
def grid_sample(g, op):
    g.available(16)
    g.wide_only(WHY)
    dims = g.choose(2, 2, 3) if g.available_from(20) else 2
    samples, sizes = g.size(2), [g.integer(1, 5 if dims == 2 else 3) for _ in range(dims)]
    image = of_shape(g, [samples, g.size(3), *sizes], g.main)
    grid = places(g, [samples, *(g.integer(1, 3) for _ in range(dims)), dims])
    names = (
        ("linear", "cubic", "nearest")
        if g.available_from(20)
        else ("bilinear", "bicubic", "nearest")
    )
    mode = g.choose(None, *names[:2], *(() if g.smooth else names[2:]))
    if dims == 3 and mode in names[1:2]:
        mode = names[0]
    g.emit(
        op,
        [image, grid],
        mode=mode,
        padding_mode=g.choose(None, "zeros", "border", "reflection"),
        align_corners=g.choose(None, 0, 1),
    )


@generates("RoiAlign")
def roi_align(g, op):
    """Regions are known: they have no gradient, and differences would find one."""
    g.wide_only(WHY)
    g.program.takes_constants = True  # one over the number of places
    samples, sizes, regions = g.size(3), [g.integer(2, 6), g.integer(2, 6)], g.size(4)
    image = of_shape(g, [samples, g.size(3), *sizes], g.main)
    # Some reach over the border, and a few are turned around.
    begins = g.numbers.uniform(-1.5, 5, (regions, 2))
    ends = begins + g.numbers.uniform(-0.5, 6, (regions, 2))
    rois = g.constant(np.concatenate([begins, ends], 1).round(3), g.main)
    of = g.constant(g.numbers.integers(0, samples, regions), "i64")
    coordinates = (None, "half_pixel", "output_half_pixel") if g.available_from(16) else (None,)
    g.emit(
        op,
        [image, rois, of],
        mode=g.choose(None, "avg", *(() if g.smooth else ("max",))),
        output_height=g.integer(1, 3),
        output_width=g.choose(None, 1, 2),
        sampling_ratio=g.integer(1, 3),
        spatial_scale=g.choose(None, 0.5, 0.75),
        coordinate_transformation_mode=g.choose(*coordinates),
    )


@generates("AffineGrid")
def affine_grid(g, op):
    g.available(20)
    dims, samples = g.choose(2, 2, 3), g.size(2)
    g.program.takes_constants = True
    theta = of_shape(g, [samples, dims, dims + 1], g.main)
    size = [samples, g.size(2), *(g.integer(1, 4) for _ in range(dims))]
    g.emit(op, [theta, g.ints(size)], align_corners=g.choose(None, 0, 1))


def padded_windows(g, spatial, kernel):
    """Attributes without auto_pad, and the number of windows along each dim."""
    attributes = windows(g, spatial, kernel, 1)
    if attributes.pop("auto_pad") not in (None, "NOTSET"):
        raise Unsuitable("has no auto_pad")
    given = {k: v for k, v in attributes.items() if v is not None}
    node = Node("Conv", [], [], given)
    return attributes, Windows(Call(node, [], 19, np.float64), spatial, kernel).output


@generates("DeformConv")
def deform_conv(g, op):
    g.available(19)
    g.wide_only(WHY)
    groups, parts = g.choose(1, 1, 2), g.choose(1, 1, 2)
    samples, channels = g.size(2), 2 * g.choose(1, 2)
    spatial = [g.integer(2, 4), g.integer(2, 4)]
    kernel = [g.choose(1, 2), g.choose(1, 2, 3)]
    attributes, output = padded_windows(g, spatial, kernel)
    taps, out = int(np.prod(kernel)), groups * g.choose(1, 2)
    x = of_shape(g, [samples, channels, *spatial], g.main)
    offset = g.emit(
        "Mul",
        [
            g.emit("Tanh", [of_shape(g, [samples, parts * taps * 2, *output], g.main)]),
            g.scalar(1.5, g.main),
        ],
    )
    inputs = [x, g.parameter([out, channels // groups, *kernel], g.main), offset]
    inputs.append(g.parameter([out], g.main) if g.chance(0.5) else "")
    if g.chance(0.5):
        inputs.append(of_shape(g, [samples, parts * taps, *output], g.main))
    while not inputs[-1]:
        inputs.pop()
    g.emit(op, inputs, group=groups, offset_group=parts, **attributes)


@generates("Col2Im")
def col2im(g, op):
    g.available(18)
    dims = g.choose(1, 2, 2, 3)
    image = [g.integer(2, 5 if dims < 3 else 3) for _ in range(dims)]
    block = [g.integer(1, 3) for _ in range(dims)]
    attributes, output = padded_windows(g, image, block)
    del attributes["kernel_shape"]
    shape = [g.size(2), g.size(2) * int(np.prod(block)), int(np.prod(output))]
    g.emit(op, [of_shape(g, shape, g.main), g.ints(image), g.ints(block)], **attributes)


@generates("MaxUnpool")
def max_unpool(g, op):
    dims = g.choose(1, 2, 2)
    kernel = [g.integer(1, 3) for _ in range(dims)]
    strides = [g.choose(k, k, k + 1) for k in kernel]
    shape = [g.size(2), g.size(2), *(g.integer(1, 3) for _ in range(dims))]
    whole = shape[:2] + [(s - 1) * t + k for s, t, k in zip(shape[2:], strides, kernel)]
    count = int(np.prod(shape))
    indices = g.numbers.choice(int(np.prod(whole)), count, replace=False).reshape(shape)
    inputs = [of_shape(g, shape, g.main), g.constant(indices, "i64")]
    if g.chance(0.3):
        inputs.append(g.ints(whole[:2] + [s + g.integer(0, 2) for s in whole[2:]]))
    g.emit(op, inputs, kernel_shape=kernel, strides=strides)
