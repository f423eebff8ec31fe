"""Generators: convolutions, pools, norms of channels, Resize."""
import numpy as np

from builder import Unsuitable
from generate_products import epsilon, of_shape
from generators import generates, number


def image(g, channels=None, dims=None):
    """A float value [N, C, S...]."""
    dims = dims or g.choose(1, 2, 2, 2, 3)
    shape = [
        g.size(3),
        channels or g.size(6),
        *(g.integer(2, 7 if dims < 3 else 4) for _ in range(dims)),
    ]
    return of_shape(g, shape, g.main)


def windows(g, spatial, kernel, most_pads, can_be_dilated=True):
    """Attributes of windows that fit."""
    dims = len(spatial)
    mode = g.random.choices((None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), (8, 1, 2, 2, 1))
    dilations = [g.choose(1, 1, 2) if can_be_dilated else 1 for _ in range(dims)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    found = {
        "kernel_shape": list(kernel),
        "strides": g.choose(None, [g.choose(1, 1, 2, 3) for _ in range(dims)]),
        "dilations": dilations if any(d > 1 for d in dilations) or g.chance(0.2) else None,
        "auto_pad": mode[0],
    }
    pads = [0] * (2 * dims)
    if mode[0] in (None, "NOTSET"):
        if g.chance(0.6):
            pads = [g.integer(0, min(most_pads, r - 1)) for r in reach + reach]
            found["pads"] = pads
    if mode[0] not in ("SAME_UPPER", "SAME_LOWER"):
        for i in range(dims):
            if reach[i] > spatial[i] + pads[i] + pads[dims + i]:
                raise Unsuitable("no window fits")
    return found


@generates("Conv")
def conv(g, op):
    groups = g.choose(1, 1, 1, 2, 3)
    x = image(g, channels=groups * g.choose(1, 1, 2, 3))
    channels, spatial = g.dims(x)[1], g.dims(x)[2:]
    kernel = [g.choose(1, 2, 3, 3) for _ in spatial]
    attributes = windows(g, spatial, kernel, 3)
    if g.chance(0.2):  # patches
        attributes |= {"strides": kernel, "dilations": None, "auto_pad": None, "pads": None}
        if any(k > s for k, s in zip(kernel, spatial)):
            raise Unsuitable("no window fits")
    if g.chance(0.3):
        del attributes["kernel_shape"]
    out = groups * g.choose(1, 2, 3)
    inputs = [x, g.parameter([out, channels // groups, *kernel], g.main)]
    if g.chance(0.6):
        inputs.append(g.parameter([out], g.main))
    g.emit(op, inputs, group=groups if groups > 1 or g.chance(0.3) else None, **attributes)


@generates("ConvTranspose")
def conv_transpose(g, op):
    groups, dims = g.choose(1, 1, 1, 2), g.choose(1, 2, 2)
    x = image(g, channels=groups * g.choose(1, 2, 3), dims=dims)
    kernel = [g.choose(1, 2, 3) for _ in range(dims)]
    strides = [g.choose(1, 2, 2, 3) for _ in range(dims)]
    dilations = [g.choose(1, 1, 2) for _ in range(dims)]
    attributes = {"strides": strides, "dilations": dilations, "kernel_shape": kernel}
    way = g.integer(0, 3)
    whole = [
        (s - 1) * t + (k - 1) * d + 1
        for s, t, k, d in zip(g.dims(x)[2:], strides, kernel, dilations)
    ]
    if way == 1:
        pads = [g.integer(0, 1) for _ in range(2 * dims)]
        if any(w - pads[i] - pads[dims + i] < 1 for i, w in enumerate(whole)):
            raise Unsuitable("nothing left")
        attributes["pads"] = pads
        if g.chance(0.5):
            attributes["output_padding"] = [g.integer(0, t - 1) for t in strides]
    elif way == 2:
        attributes["output_shape"] = [max(1, w - g.integer(0, 2)) for w in whole]
        attributes["auto_pad"] = g.choose(None, "SAME_UPPER", "SAME_LOWER")
    elif way == 3:
        attributes["auto_pad"] = g.choose("SAME_UPPER", "SAME_LOWER")
    out = g.choose(1, 2, 3)
    inputs = [x, g.parameter([g.dims(x)[1], out, *kernel], g.main)]
    if g.chance(0.6):
        inputs.append(g.parameter([out * groups], g.main))
    g.emit(op, inputs, group=groups if groups > 1 else None, **attributes)


def beyond_the_input(g, spatial, attributes):
    """Kernels that are larger than the input and its pads, by less than a stride."""
    if attributes.get("auto_pad") or attributes.get("dilations"):
        return
    dims = len(spatial)
    strides = attributes.get("strides") or [1] * dims
    pads = attributes.get("pads") or [0] * (2 * dims)
    for i, (size, stride) in enumerate(zip(spatial, strides)):
        if stride > 1:
            more = g.integer(1, stride - 1)
            attributes["kernel_shape"][i] = size + pads[i] + pads[dims + i] + more


@generates("MaxPool", "AveragePool", "LpPool")
def pool(g, op):
    x = image(g)
    kernel = [g.choose(1, 2, 2, 3) for _ in g.dims(x)[2:]]
    since = {"MaxPool": 13, "AveragePool": 19, "LpPool": 18}[op]
    attributes = windows(g, g.dims(x)[2:], kernel, 2, g.program.opset >= since)
    if op != "LpPool" and g.chance(0.4):
        attributes["ceil_mode"] = 1
    if "ceil_mode" in attributes and g.chance(0.3):
        beyond_the_input(g, g.dims(x)[2:], attributes)
    if op == "AveragePool":
        attributes["count_include_pad"] = g.choose(None, 0, 1)
    if op == "LpPool":
        # A window's gradient at zeros is torch's convention; the root has none of its own.
        x, p = g.positive(x), g.choose(None, 1, 2, 3)
        g.program.takes_constants |= p == 3  # a third
        g.emit(op, [x], p=p, **attributes)
    elif op == "MaxPool" and g.chance(0.25):
        attributes["storage_order"] = g.choose(None, 0, 1)
        g.emit(op, [x], outputs=2, dtype=[g.type(x), "i64"], **attributes)
    else:
        g.emit(op, [x], **attributes)


@generates("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, op):
    x = image(g)
    if op == "GlobalLpPool":
        p = g.choose(None, 1, 2, 3)
        g.program.takes_constants |= p == 3
        g.emit(op, [g.positive(x)], p=p)
    else:
        g.emit(op, [x])


@generates("BatchNormalization")
def batch_normalization(g, op):
    x = image(g) if g.chance(0.8) else of_shape(g, [g.size(5), g.size(7)], g.main)
    channels = g.dims(x)[1]
    mean = g.constant(np.round(g.normal((channels,), "normal") * 8) / 8, g.main)
    variance = g.constant(np.round(g.numbers.random(channels) * 8 + 2) / 8, g.main)
    scale, bias = g.parameter([channels], g.main), g.parameter([channels], g.main)
    dims = g.dims(x)
    of_batch = g.chance(0.5) and dims[0] * int(np.prod(dims[2:])) > 1
    g.emit(
        op,
        [x, scale, bias, mean, variance],
        epsilon=epsilon(g),
        training_mode=1 if of_batch else None,
        momentum=g.choose(None, 0.5) if of_batch else None,
    )


@generates("InstanceNormalization")
def instance_normalization(g, op):
    x = image(g)
    channels = g.dims(x)[1]
    vectors = [g.parameter([channels], g.main) for _ in range(2)]
    g.emit(op, [x, *vectors], epsilon=epsilon(g))


@generates("GroupNormalization")
def group_normalization(g, op):
    g.available(18)
    groups = g.choose(1, 2, 3)
    x = image(g, channels=groups * g.choose(1, 2))
    count = groups if g.program.opset < 21 else g.dims(x)[1]
    vectors = [g.parameter([count], g.main) for _ in range(2)]
    g.emit(op, [x, *vectors], num_groups=groups, epsilon=epsilon(g))


@generates("MeanVarianceNormalization")
def mean_variance_normalization(g, op):
    x = image(g, dims=2)
    axes = g.choose(None, [0, 2, 3], [2, 3], [1, -1])
    for part in g.values[x]:
        if np.any(np.std(part, tuple(axes or (0, 2, 3))) < 1e-3):
            raise Unsuitable("a root has no derivative at 0")
    g.program.takes_constants = True
    g.emit(op, [x], axes=axes)


@generates("LRN")
def local_response_normalization(g, op):
    x = image(g) if g.chance(0.8) else of_shape(g, [g.size(4), g.size(7)], g.main)
    size = g.choose(1, 2, 3, 4, 5)
    g.program.takes_constants = True  # alpha / size
    alpha, beta = number(g, g.main, 0.25, 1.0, 0.5), number(g, g.main, 0.5, 0.75, 1.0)
    bias = number(g, g.main, 1.0, 0.5, 2.0)
    g.emit(op, [x], size=size, alpha=alpha, beta=beta, bias=bias)


@generates("Resize")
def resize(g, op):
    x = image(g, dims=g.choose(1, 2))
    mode = g.choose("nearest", "linear", "cubic")
    if mode != "nearest" and g.main in ("f16", "bf16"):
        raise Unsuitable("weights are no numbers of 16 bits")
    g.program.takes_constants |= mode != "nearest"
    places = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    places += ["half_pixel_symmetric"] if g.program.opset >= 19 else []
    attributes = {"mode": mode, "coordinate_transformation_mode": g.choose(None, *places)}
    if mode == "nearest":
        attributes["nearest_mode"] = g.choose(
            None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
        )
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.choose(None, -0.5)
    if mode != "nearest" and g.chance(0.3):
        attributes["exclude_outside"] = 1
    if mode != "nearest" and g.program.opset >= 18 and g.chance(0.3):
        attributes["antialias"] = 1
    dims, rank = g.dims(x), g.rank(x)
    axes = list(range(rank))
    if g.program.opset >= 18 and g.chance(0.4):
        axes = list(range(2, rank))
        attributes["axes"] = axes
    if g.chance(0.5):
        scales = [g.choose(0.5, 1.0, 1.5, 2.0, 3.0) if a > 1 else 1.0 for a in axes]
        if any(int(dims[a] * s) < 1 for a, s in zip(axes, scales)):
            raise Unsuitable("nothing left")
        inputs = [x, "", g.constant(np.array(scales), "f32")]
    else:
        sizes = [g.integer(1, 9) if a > 1 else dims[a] for a in axes]
        inputs = [x, "", "", g.ints(sizes)]
    if mode == "nearest":
        g.emit(op, inputs, **attributes)
        return
    # Values that cancel would be 0 or nearly: what follows may bend there.
    y = g.emit(op, inputs, usable=False, **attributes)
    g.emit("Add", [y, g.scalar(0.3125, g.type(x))])
