"""The written reference: images sampled at computed places, and blocks put back into images."""
import itertools

import numpy as np
from numpy_ops import op
from numpy_ops_windows import Windows


def reflected(place, low, high):
    """Into [low, high] by turns at both ends."""
    span = high - low
    if span == 0:
        return np.zeros_like(place)
    away = np.abs(place - low)
    rest = away - np.floor(away / (2 * span)) * (2 * span)
    return low + np.where(rest > span, 2 * span - rest, rest)


class Sampler:
    """Of images [N, C, S...] at places [N, P] per dim."""

    def __init__(self, images, mode, padding, align):
        self.images, self.mode, self.padding = images, mode, padding
        self.sizes = images.shape[2:]
        self.ends = [(0, s - 1) if align else (-0.5, s - 0.5) for s in self.sizes]

    def element(self, index):
        """[N, C, P] at whole places."""
        inside, where = True, []
        for i, size, (low, high) in zip(index, self.sizes, self.ends):
            if self.padding == "zeros":
                inside = inside & (i >= 0) & (i <= size - 1)
            if self.padding == "reflection":
                i = reflected(i, low, high)
            where.append(np.clip(i, 0, size - 1).astype(np.int64))
        samples = np.arange(len(self.images))[:, None]
        taken = np.moveaxis(np.moveaxis(self.images, 1, -1)[(samples, *where)], -1, 1)
        return taken if inside is True else np.where(inside[:, None], taken, 0)

    def weights(self, ratio):
        if self.mode == "linear":
            return {0: 1 - ratio, 1: ratio}
        a = -0.75

        def near(x):
            return (a + 2) * x**3 - (a + 3) * x**2 + 1

        def far(x):
            return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

        return {-1: far(ratio + 1), 0: near(ratio), 1: near(1 - ratio), 2: far(2 - ratio)}

    def at(self, places):
        if self.mode == "nearest":
            places = [np.rint(p) for p in places]
        moved = []
        for place, size, (low, high) in zip(places, self.sizes, self.ends):
            if self.padding == "border" and self.mode != "cubic":
                place = np.clip(place, 0, size - 1)
            if self.padding == "reflection":
                place = reflected(place, low, high)
            moved.append(place)
        if self.mode == "nearest":
            return self.element(moved)
        begins = [np.floor(p) for p in moved]
        weights = [self.weights(p - b) for p, b in zip(moved, begins)]
        total = 0
        for taps in itertools.product(*weights):
            factor = 1
            for tap, weight in zip(taps, weights):
                factor = factor * weight[tap]
            index = [b + tap for b, tap in zip(begins, taps)]
            total = total + self.element(index) * factor[:, None]
        return total


@op("GridSample")
def grid_sample(call):
    images, grid = call[0], call[1]
    dims, align = images.ndim - 2, call.attribute("align_corners", 0)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(
        call.attribute("mode", "linear"), call.attribute("mode", "linear")
    )
    places = []
    for dim, size in enumerate(images.shape[2:]):
        given = grid[..., dims - 1 - dim].reshape(len(grid), -1)
        places.append((given + 1) * (size - 1) / 2 if align else ((given + 1) * size - 1) / 2)
    taken = Sampler(images, mode, call.attribute("padding_mode", "zeros"), align).at(places)
    return [taken.reshape(*images.shape[:2], *grid.shape[1:-1])]


@op("RoiAlign")
def roi_align(call):
    images, rois, of = call[0], call[1], call[2]
    ratio = call.attribute("sampling_ratio", 0)
    bins = [call.attribute(f"output_{name}", 1) for name in ("height", "width")]
    otherwise = "half_pixel" if call.opset >= 16 else "output_half_pixel"
    aligned = call.attribute("coordinate_transformation_mode", otherwise) == "half_pixel"
    edges = rois * call.real("spatial_scale", 1) - (0.5 if aligned else 0)
    largest, results = call.attribute("mode", "avg") == "max", []
    for region, image in zip(edges, images[of]):
        taps, near = [], []
        for first, last, count, size in zip(region[1::-1], region[:1:-1], bins, image.shape[1:]):
            length = last - first if aligned else max(last - first, 1)
            place = first + (np.arange(count * ratio) + 0.5) * (length / (count * ratio))
            near.append((place >= -1) & (place <= size))
            place = np.clip(place, 0, size - 1)
            low = np.floor(place).astype(int)
            part = place - low
            taps.append([(low, 1 - part), (np.minimum(low + 1, size - 1), part)])
        parts = [
            image[:, y[:, None], x] * (wy[:, None] * wx) for y, wy in taps[0] for x, wx in taps[1]
        ]
        taken = np.maximum.reduce(parts) if largest else sum(parts)
        taken = np.where(near[0][:, None] & near[1], taken, 0)
        taken = taken.reshape(len(taken), bins[0], ratio, bins[1], ratio)
        results.append(taken.max((2, 4)) if largest else taken.mean((2, 4)))
    return [np.stack(results)]


@op("AffineGrid")
def affine_grid(call):
    sizes, align = call.ints(1)[2:], call.attribute("align_corners", 0)
    numbers = []
    for size in sizes:
        along = np.arange(size).astype(call.wide)
        if not align:
            numbers.append((2 * along + 1) / size - 1)
        else:
            numbers.append(2 * along / (size - 1) - 1 if size > 1 else along)
    places = [*np.meshgrid(*numbers, indexing="ij")][::-1]
    base = np.stack([*places, np.ones_like(places[0])], -1)
    return [np.einsum("...i,nji->n...j", base, call[0])]


@op("DeformConv")
def deform_conv(call):
    x, w, offset, bias, mask = call[0], call[1], call[2], call[3], call[4]
    windows = Windows(call, x.shape[2:], w.shape[2:])
    dims, taps = x.ndim - 2, list(windows.taps())
    parts, groups = call.attribute("offset_group", 1), call.attribute("group", 1)
    samples, part = len(x), x.shape[1] // parts
    columns = np.zeros((samples, x.shape[1], len(taps), *windows.output), x.dtype)
    for group in range(parts):
        channels = slice(group * part, (group + 1) * part)
        sampler = Sampler(x[:, channels], "linear", "zeros", 0)
        for i, tap in enumerate(taps):
            number = group * len(taps) + i
            begins = np.meshgrid(*windows.places(tap), indexing="ij")
            places = [
                (offset[:, number * dims + d] + begins[d]).reshape(samples, -1) for d in range(dims)
            ]
            taken = sampler.at(places).reshape(samples, part, *windows.output)
            if mask is not None:
                taken = taken * mask[:, number : number + 1]
            columns[:, channels, i] = taken
    size = x.shape[1] // groups
    kernels = w.reshape(groups, len(w) // groups, size, len(taps))
    grouped = columns.reshape(samples, groups, size, len(taps), *windows.output)
    result = np.einsum("goct,ngct...->ngo...", kernels, grouped)
    result = result.reshape(samples, len(w), *windows.output)
    return [result if bias is None else result + bias.reshape(-1, *[1] * dims)]


@op("Col2Im")
def col2im(call):
    x, image, block = call[0], call.ints(1), call.ints(2)
    windows = Windows(call, image, block)
    taps = list(windows.taps())
    blocks = x.reshape(len(x), -1, len(taps), *windows.output)
    result = np.zeros((*blocks.shape[:2], *image), x.dtype)
    for i, tap in enumerate(taps):
        places = windows.places(tap)
        inside = [(p >= 0) & (p < s) for p, s in zip(places, image)]
        to = np.ix_(*(p[k] for p, k in zip(places, inside)))
        taken = np.ix_(*(np.flatnonzero(k) for k in inside))
        result[(slice(None), slice(None), *to)] += blocks[:, :, i][
            (slice(None), slice(None), *taken)
        ]
    return [result]


@op("MaxUnpool")
def max_unpool(call):
    x, kernel = call[0], call.attribute("kernel_shape")
    dims = len(kernel)
    strides, pads = call.attribute("strides") or [1] * dims, call.attribute("pads")
    pads = pads or [0] * (2 * dims)
    shape = [
        (s - 1) * stride + k - low - high
        for s, stride, k, low, high in zip(x.shape[2:], strides, kernel, pads, pads[dims:])
    ]
    shape = [*x.shape[:2], *shape]
    result = np.zeros(int(np.prod(shape)), x.dtype)
    result[call[1].ravel()] = x.ravel()
    result = result.reshape(shape)
    if call[2] is not None:
        result = np.pad(result, [(0, n - s) for s, n in zip(shape, call.ints(2))])
    return [result]
