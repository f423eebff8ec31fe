"""The written reference: convolutions, pools, norms of channels, Resize."""
import itertools

import numpy as np

from numpy_ops import op


class Windows:
    """Window i of a dim has the elements i stride - low + tap dilation."""

    def __init__(self, call, spatial, kernel):
        dims = len(spatial)
        self.spatial, self.kernel = list(spatial), list(kernel)
        self.strides = call.attribute("strides") or [1] * dims
        self.dilations = call.attribute("dilations") or [1] * dims
        pads = call.attribute("pads") or [0] * (2 * dims)
        mode = call.attribute("auto_pad", "NOTSET")
        self.low, self.high, self.output = [], [], []
        for i, size in enumerate(spatial):
            low, high = (pads[i], pads[dims + i]) if mode == "NOTSET" else (0, 0)
            reach, stride = (kernel[i] - 1) * self.dilations[i] + 1, self.strides[i]
            if mode.startswith("SAME"):
                count = -(-size // stride)
                total = max(0, (count - 1) * stride + reach - size)
                less, more = total // 2, total - total // 2
                low, high = (less, more) if mode == "SAME_UPPER" else (more, less)
            span = size + low + high - reach
            if call.attribute("ceil_mode", 0) and -stride < span < 0:
                span = 0  # a window that is not whole
            if span < 0:
                raise ValueError("no window")
            count = span // stride + 1
            if call.attribute("ceil_mode", 0) and span % stride:
                count += count * stride < size + low
            self.low.append(low)
            self.high.append(high)
            self.output.append(count)

    def taps(self):
        return itertools.product(*map(range, self.kernel))

    def places(self, tap):
        """Of each dim: where the windows have that tap, which may be outside."""
        return [
            np.arange(count) * stride - low + at * dilation
            for count, stride, low, at, dilation in zip(
                self.output, self.strides, self.low, tap, self.dilations
            )
        ]

    def values(self, x, tap, outside):
        """[N, C, output...]."""
        places = self.places(tap)
        inside = [(p >= 0) & (p < s) for p, s in zip(places, self.spatial)]
        index = np.ix_(*(np.clip(p, 0, s - 1) for p, s in zip(places, self.spatial)))
        mask = np.ones((), np.bool_)
        for i, each in enumerate(inside):
            mask = mask & each.reshape([-1 if d == i else 1 for d in range(len(places))])
        return np.where(mask, x[(slice(None), slice(None), *index)], outside)


@op("Conv")
def conv(call):
    x, w, groups = call[0], call[1], call.attribute("group", 1)
    windows = Windows(call, x.shape[2:], w.shape[2:])
    n, out = x.shape[0], w.shape[0]
    result = np.zeros((n, out, *windows.output), x.dtype)
    part, out_part = x.shape[1] // groups, out // groups
    for tap in windows.taps():
        values = windows.values(x, tap, 0)
        for g in range(groups):
            kernel = w[(slice(g * out_part, (g + 1) * out_part), slice(None), *tap)]
            taken = values[:, g * part : (g + 1) * part]
            result[:, g * out_part : (g + 1) * out_part] += np.einsum(
                "nc...,oc->no...", taken, kernel
            )
    return [result if call[2] is None else result + channels(call[2], x.ndim)]


@op("ConvTranspose")
def conv_transpose(call):
    x, w, groups = call[0], call[1], call.attribute("group", 1)
    dims, spatial, kernel = x.ndim - 2, x.shape[2:], w.shape[2:]
    strides = call.attribute("strides") or [1] * dims
    dilations = call.attribute("dilations") or [1] * dims
    more = call.attribute("output_padding") or [0] * dims
    pads, mode = call.attribute("pads") or [0] * (2 * dims), call.attribute("auto_pad", "NOTSET")
    whole = [
        (s - 1) * t + (k - 1) * d + 1 for s, t, k, d in zip(spatial, strides, kernel, dilations)
    ]
    wanted = call.attribute("output_shape")
    low, output = [], []
    for i in range(dims):
        if wanted or mode.startswith("SAME"):
            size = wanted[i] if wanted else spatial[i] * strides[i]
            total = max(0, whole[i] + more[i] - size)
            low.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
            output.append(size)
        else:
            low.append(pads[i] if mode == "NOTSET" else 0)
            high = pads[dims + i] if mode == "NOTSET" else 0
            output.append(whole[i] + more[i] - low[i] - high)
    part, out_part = x.shape[1] // groups, w.shape[1]
    # Large enough for whatever lies outside of the result.
    result = np.zeros(
        (x.shape[0], out_part * groups, *(w + o for w, o in zip(whole, output))), x.dtype
    )
    for tap in itertools.product(*map(range, kernel)):
        index = tuple(
            slice(at * d, at * d + (s - 1) * t + 1, t)
            for at, d, s, t in zip(tap, dilations, spatial, strides)
        )
        for g in range(groups):
            taken = x[:, g * part : (g + 1) * part]
            kernel_at = w[(slice(g * part, (g + 1) * part), slice(None), *tap)]
            result[(slice(None), slice(g * out_part, (g + 1) * out_part), *index)] += np.einsum(
                "nc...,co->no...", taken, kernel_at
            )
    result = result[(slice(None), slice(None), *(slice(b, b + o) for b, o in zip(low, output)))]
    return [result if call[2] is None else result + channels(call[2], x.ndim)]


@op("MaxPool")
def max_pool(call):
    x = call[0]
    windows = Windows(call, x.shape[2:], call.attribute("kernel_shape"))
    size = int(np.prod(x.shape[2:]))
    order = "F" if call.attribute("storage_order", 0) else "C"
    numbers = np.arange(size).reshape(x.shape[2:], order=order)
    before = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2)) * size
    numbers = np.broadcast_to(numbers, x.shape) + before
    best = place = None
    for tap in windows.taps():
        values = windows.values(x, tap, -np.inf)
        at = windows.values(numbers, tap, 0)
        larger = np.ones(values.shape, np.bool_) if best is None else values > best
        best = values if best is None else np.where(larger, values, best)
        place = at if place is None else np.where(larger, at, place)
    return [best, place.astype(np.int64)]


@op("AveragePool")
def average_pool(call):
    x = call[0]
    windows = Windows(call, x.shape[2:], call.attribute("kernel_shape"))
    total, count = 0, 0
    grown = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if call.attribute("count_include_pad", 0):
        grown = np.pad(grown, [(0, 0), (0, 0), *zip(windows.low, windows.high)], constant_values=1)
    for tap in windows.taps():
        total = total + windows.values(x, tap, 0)
        places = windows.places(tap)
        if call.attribute("count_include_pad", 0):
            places = [p + low for p, low in zip(places, windows.low)]
        inside = np.ones((), x.dtype)
        for i, p in enumerate(places):
            is_in = ((p >= 0) & (p < grown.shape[2 + i])).astype(x.dtype)
            inside = inside * is_in.reshape([-1 if d == i else 1 for d in range(len(places))])
        count = count + inside
    return [total / count]


@op("LpPool")
def lp_pool(call):
    x, p = call[0], call.attribute("p", 2)
    windows = Windows(call, x.shape[2:], call.attribute("kernel_shape"))
    total = sum(np.abs(windows.values(x, tap, 0)) ** p for tap in windows.taps())
    return [total ** (x.dtype.type(1) / p)]


def spatial(x):
    return tuple(range(2, x.ndim))


@op("GlobalAveragePool")
def global_average_pool(call):
    return [np.mean(call[0], spatial(call[0]), keepdims=True)]


@op("GlobalMaxPool")
def global_max_pool(call):
    return [np.max(call[0], spatial(call[0]), keepdims=True)]


@op("GlobalLpPool")
def global_lp_pool(call):
    x, p = call[0], call.attribute("p", 2)
    return [np.sum(np.abs(x) ** p, spatial(x), keepdims=True) ** (x.dtype.type(1) / p)]


def channels(vector, rank):
    return vector.reshape(-1, *[1] * (rank - 2))


@op("BatchNormalization")
def batch_normalization(call):
    x = call[0]
    scale, bias, mean, variance = (channels(call[i], x.ndim) for i in (1, 2, 3, 4))
    if call.attribute("training_mode", 0):
        axes = (0, *spatial(x))
        mean = np.mean(x, axes, keepdims=True)
        variance = np.mean((x - mean) ** 2, axes, keepdims=True)
        epsilon = call.decimal("epsilon", 1e-5)
    else:  # made of ops, which have it in the file's type
        epsilon = call.real("epsilon", 1e-5)
    return [(x - mean) / np.sqrt(variance + epsilon) * scale + bias]


def standardized(x, axes, epsilon):
    mean = np.mean(x, axes, keepdims=True)
    return (x - mean) / np.sqrt(np.mean((x - mean) ** 2, axes, keepdims=True) + epsilon)


@op("InstanceNormalization")
def instance_normalization(call):
    x = call[0]
    y = standardized(x, spatial(x), call.decimal("epsilon", 1e-5))
    return [y * channels(call[1], x.ndim) + channels(call[2], x.ndim)]


@op("GroupNormalization")
def group_normalization(call):
    x, groups = call[0], call.attribute("num_groups")
    grouped = x.reshape(x.shape[0], groups, -1)
    y = standardized(grouped, (2,), call.decimal("epsilon", 1e-5)).reshape(x.shape)
    each = x.shape[1] // groups if call.opset < 21 else 1
    scale, bias = (channels(np.repeat(call[i], each), x.ndim) for i in (1, 2))
    return [y * scale + bias]


@op("MeanVarianceNormalization")
def mean_variance_normalization(call):
    x, axes = call[0], tuple(call.attribute("axes", [0, 2, 3]))
    mean = np.mean(x, axes, keepdims=True)
    deviation = np.sqrt(np.mean((x - mean) ** 2, axes, keepdims=True))
    return [(x - mean) / (deviation + x.dtype.type(1e-9))]


@op("LRN")
def local_response_normalization(call):
    x, size = call[0], call.attribute("size")
    total = np.zeros_like(x)
    for c in range(x.shape[1]):
        first, last = max(0, c - (size - 1) // 2), min(x.shape[1], c + size // 2 + 1)
        total[:, c] = np.sum(x[:, first:last] ** 2, 1)
    alpha, beta, bias = call.real("alpha", 1e-4), call.real("beta", 0.75), call.real("bias", 1)
    return [x / (bias + alpha / size * total) ** beta]


class Resizing:
    """As the specification has it: the nearest elements of a padded row, by their distances."""

    def __init__(self, call):
        self.call = call
        self.mode = call.attribute("mode", "nearest")
        self.place = call.attribute("coordinate_transformation_mode", "half_pixel")
        self.rounding = call.attribute("nearest_mode", "round_prefer_floor")
        self.cubic = float(np.float32(call.attribute("cubic_coeff_a", -0.75)))
        self.smooth = call.attribute("antialias", 0)

    def at(self, i, size, scale, output):
        length = scale * size
        if self.place == "align_corners":
            return 0.0 if length == 1 else i * (size - 1) / (length - 1)
        if self.place == "asymmetric":
            return i / scale
        if self.place == "pytorch_half_pixel" and length == 1:
            return -0.5
        middle = (i + 0.5) / scale - 0.5
        if self.place == "half_pixel_symmetric":
            return size / 2 * (1 - output / length) + middle
        return middle

    def kernel(self, distance):
        x, a = abs(distance), self.cubic
        if self.mode == "linear":
            return max(0.0, 1 - x)
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    def weights(self, x, size, scale):
        """{element: weight}; elements outside are those at the ends."""
        if self.mode == "nearest":
            down, up = np.floor(x), np.ceil(x)
            nearest = {
                "round_prefer_floor": down if x - down <= 0.5 else up,
                "round_prefer_ceil": down if x - down < 0.5 else up,
                "floor": down,
                "ceil": up,
            }[self.rounding]
            return {int(np.clip(nearest, 0, size - 1)): 1.0}
        narrow = min(scale, 1.0) if self.smooth else 1.0
        radius = (1 if self.mode == "linear" else 2) / narrow
        places = range(int(np.floor(x - radius)) - 1, int(np.ceil(x + radius)) + 2)
        found = {p: self.kernel((p - x) * narrow) for p in places}
        if self.call.attribute("exclude_outside", 0):
            found = {p: w for p, w in found.items() if 0 <= p < size}
        if self.smooth or self.call.attribute("exclude_outside", 0):
            total = sum(found.values())
            found = {p: w / total for p, w in found.items()}
        inside = {}
        for p, w in found.items():
            end = int(np.clip(p, 0, size - 1))
            inside[end] = inside.get(end, 0.0) + w
        return inside

    def along(self, x, axis, scale, output):
        size = x.shape[axis]
        matrix = np.zeros((output, size), x.dtype)
        for i in range(output):
            for p, w in self.weights(self.at(i, size, scale, output), size, scale).items():
                matrix[i, p] = w
        if x.dtype.kind != "f":
            return np.take(x, np.argmax(matrix, 1), axis)
        return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


@op("Resize")
def resize(call):
    x = call[0]
    axes = call.attribute("axes") or list(range(x.ndim))
    result, resizing = x, Resizing(call)
    for k, axis in enumerate(axes):
        size = x.shape[axis]
        if call[2] is not None and call[2].size:
            scale = float(np.float32(call[2][k]))
            output = int(np.floor(size * scale))
        else:
            output = call.ints(3)[k]
            scale = output / size
        if scale != 1:
            result = resizing.along(result, axis, scale, output)
    return [result]
