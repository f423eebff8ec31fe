"""The second reference: images sampled at computed places, and blocks put back into images."""
import numpy as np
import torch
import torch.nn.functional as F
from numpy_ops_windows import Windows
from torch_ops import op


def reflected(place, low, high):
    span = high - low
    if span == 0:
        return torch.zeros_like(place)
    rest = torch.remainder(torch.abs(place - low), 2 * span)
    return low + torch.where(rest > span, 2 * span - rest, rest)


def element(images, index, padding, ends):
    """[N, C, P] at whole places, by torch.gather over the flat image."""
    inside, flat = None, None
    for i, size, (low, high) in zip(index, images.shape[2:], ends):
        within = (i >= 0) & (i <= size - 1)
        inside = within if inside is None else inside & within
        if padding == "reflection":
            i = reflected(i, low, high)
        whole = i.clamp(0, size - 1).long()
        flat = whole if flat is None else flat * size + whole
    rows = images.flatten(2)
    taken = torch.gather(rows, 2, flat[:, None].expand(-1, rows.shape[1], -1))
    return torch.where(inside[:, None], taken, 0) if padding == "zeros" else taken


@op("GridSample")
def grid_sample(call):
    images, grid = call[0], call[1]
    align, padding = bool(call.attribute("align_corners", 0)), call.attribute(
        "padding_mode", "zeros"
    )
    mode = call.attribute("mode", "linear")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    # torch has images and volumes, cubic of images alone.
    if images.ndim == 4 and (mode != "bicubic" or padding != "reflection"):
        if mode == "nearest" and padding == "reflection":
            return [written(call, images, grid, align)]
        return [F.grid_sample(images, grid, mode=mode, padding_mode=padding, align_corners=align)]
    return [written(call, images, grid, align)]


@op("RoiAlign")
def roi_align(call):
    """Of all regions at once, as torchvision's written in Python."""
    images, rois, of = call[0], call[1].detach(), call[2].long()
    ratio = call.attribute("sampling_ratio", 0)
    bins = [call.attribute(f"output_{name}", 1) for name in ("height", "width")]
    otherwise = "half_pixel" if call.opset >= 16 else "output_half_pixel"
    aligned = call.attribute("coordinate_transformation_mode", otherwise) == "half_pixel"
    edges = rois * float(np.float32(call.attribute("spatial_scale", 1))) - (0.5 if aligned else 0)
    low, rest, near = [], [], []
    for dim in (0, 1):
        begin, end = edges[:, 1 - dim, None], edges[:, 3 - dim, None]
        length = end - begin if aligned else (end - begin).clamp(min=1)
        count, size = bins[dim] * ratio, images.shape[2 + dim]
        place = begin + (torch.arange(count, dtype=begin.dtype) + 0.5) * (length / count)
        near.append((place >= -1) & (place <= size))
        place = place.clamp(0, size - 1)
        low.append(place.floor().long())
        rest.append(place - low[-1])
    picked = images[of]
    rows = torch.arange(len(of))[:, None, None]
    parts = []
    for up in (0, 1):
        for right in (0, 1):
            y = (low[0] + up).clamp(max=images.shape[2] - 1)[:, :, None]
            x = (low[1] + right).clamp(max=images.shape[3] - 1)[:, None]
            wy = (rest[0] if up else 1 - rest[0])[:, :, None]
            wx = (rest[1] if right else 1 - rest[1])[:, None]
            parts.append(picked.permute(0, 2, 3, 1)[rows, y, x] * (wy * wx)[..., None])
    largest = call.attribute("mode", "avg") == "max"
    stacked = torch.stack(parts)
    taken = stacked.amax(0) if largest else stacked.sum(0)
    taken = torch.where((near[0][:, :, None] & near[1][:, None])[..., None], taken, 0)
    taken = taken.reshape(len(of), bins[0], ratio, bins[1], ratio, images.shape[1])
    taken = taken.amax((2, 4)) if largest else taken.mean((2, 4))
    return [taken.permute(0, 3, 1, 2)]


def written(call, images, grid, align):
    """What torch has no function for: dim by dim."""
    dims, places = images.ndim - 2, []
    for dim, size in enumerate(images.shape[2:]):
        given = grid[..., dims - 1 - dim].flatten(1)
        places.append((given + 1) * (size - 1) / 2 if align else ((given + 1) * size - 1) / 2)
    mode, padding = call.attribute("mode", "linear"), call.attribute("padding_mode", "zeros")
    return sampled(images, places, mode, padding, align).reshape(
        *images.shape[:2], *grid.shape[1:-1]
    )


def sampled(images, places, mode, padding, align):
    """[N, C, P] at places [N, P] per dim."""
    ends = [(0, s - 1) if align else (-0.5, s - 0.5) for s in images.shape[2:]]
    taps = [([], None)]
    for place, size, (low, high) in zip(places, images.shape[2:], ends):
        if "nearest" in mode:
            place = torch.round(place)
        if padding == "border" and "cubic" not in mode:
            place = place.clamp(0, size - 1)
        if padding == "reflection":
            place = reflected(place, low, high)
        if "nearest" in mode:
            steps = [(place, torch.ones_like(place))]
        else:
            begin = torch.floor(place).detach()
            steps = [(begin + k, weight) for k, weight in weights(mode, place - begin)]
        taps = [
            ([*index, i], w if weight is None else weight * w)
            for index, weight in taps
            for i, w in steps
        ]
    return sum(element(images, i, padding, ends) * w[:, None] for i, w in taps)


def weights(mode, t):
    if "linear" in mode:
        return [(0, 1 - t), (1, t)]
    a, rest = -0.75, 1 - t
    return [
        (-1, a * t * rest**2),
        (0, 1 - (a + 3) * t**2 + (a + 2) * t**3),
        (1, 1 - (a + 3) * rest**2 + (a + 2) * rest**3),
        (2, a * rest * t**2),
    ]


@op("AffineGrid")
def affine_grid(call):
    size = [int(s) for s in call[1]]
    theta, align = call[0], bool(call.attribute("align_corners", 0))
    return [F.affine_grid(theta, size, align_corners=align)]


@op("DeformConv")
def deform_conv(call):
    """As one convolution of the taken elements: grid_sample would turn places over by rounding."""
    x, w, offset, bias, mask = call[0], call[1], call[2], call[3], call[4]
    windows = Windows(call, x.shape[2:], w.shape[2:])
    taps, parts = list(windows.taps()), call.attribute("offset_group", 1)
    sizes = [s for s in x.shape[2:]]
    columns = []
    for i, tap in enumerate(taps):
        begins = [
            torch.from_numpy(b.astype(np.float64))
            for b in np.meshgrid(*windows.places(tap), indexing="ij")
        ]
        parted = []
        for group, image in enumerate(x.chunk(parts, 1)):
            number = group * len(taps) + i
            places = [
                (offset[:, number * len(sizes) + d] + begins[d]).flatten(1)
                for d in range(len(sizes))
            ]
            taken = sampled(image, places, "linear", "zeros", False)
            taken = taken.reshape(*image.shape[:2], *windows.output)
            parted.append(taken if mask is None else taken * mask[:, number : number + 1])
        columns.append(torch.cat(parted, 1))
    stacked = torch.stack(columns, 2).flatten(1, 2)  # [N, C taps, output...]
    kernels = w.flatten(2).reshape(len(w), -1, *[1] * len(sizes))
    return [F.conv2d(stacked, kernels, bias, groups=call.attribute("group", 1))]


@op("Col2Im")
def col2im(call):
    """The gradient of taking the blocks out, which is linear."""
    x, image, block = call[0], [int(i) for i in call[1]], [int(i) for i in call[2]]
    windows = Windows(call, image, block)
    taps = list(windows.taps())
    blocks = x.reshape(len(x), -1, len(taps), *windows.output)
    result = torch.zeros(*blocks.shape[:2], int(np.prod(image)), dtype=x.dtype)
    for i, tap in enumerate(taps):
        places = np.meshgrid(*windows.places(tap), indexing="ij")
        inside = np.ones(windows.output, bool)
        flat = np.zeros(windows.output, np.int64)
        for p, size in zip(places, image):
            inside &= (p >= 0) & (p < size)
            flat = flat * size + np.clip(p, 0, size - 1)
        term = torch.where(torch.from_numpy(inside), blocks[:, :, i], 0).flatten(2)
        index = torch.from_numpy(flat.ravel()).expand_as(term)
        result = result.scatter_add(2, index, term)
    return [result.reshape(*blocks.shape[:2], *image)]


@op("MaxUnpool")
def max_unpool(call):
    x, kernel = call[0], call.attribute("kernel_shape")
    dims = len(kernel)
    strides = call.attribute("strides") or [1] * dims
    pads = call.attribute("pads") or [0] * (2 * dims)
    shape = [
        (s - 1) * stride + k - low - high
        for s, stride, k, low, high in zip(x.shape[2:], strides, kernel, pads, pads[dims:])
    ]
    shape = [*x.shape[:2], *shape]
    flat = torch.zeros(int(np.prod(shape)), dtype=x.dtype)
    result = flat.index_add(0, call[1].flatten(), x.flatten()).reshape(shape)
    if call[2] is not None:
        more = [n - s for s, n in zip(shape, (int(i) for i in call[2]))]
        result = F.pad(result, [n for size in reversed(more) for n in (0, size)])
    return [result]
