"""The second reference: convolutions, pools, norms of channels, Resize."""
import numpy as np
import torch
import torch.nn.functional as F

from numpy_ops_windows import Resizing, Windows
from torch_ops import op

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAX_POOL = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def padded(x, windows, value=0.0):
    """All that the windows reach, and no more, so that each of them is whole."""
    pads = []
    for size, low, count, stride, kernel, dilation in zip(
        windows.spatial,
        windows.low,
        windows.output,
        windows.strides,
        windows.kernel,
        windows.dilations,
    ):
        end = (count - 1) * stride + (kernel - 1) * dilation + 1 - low
        pads = [low, end - size] + pads
    return F.pad(x, pads, value=value)


@op("Conv")
def conv(call):
    x, w = call[0], call[1]
    windows = Windows(call, x.shape[2:], w.shape[2:])
    return [
        CONV[x.ndim - 2](
            padded(x, windows),
            w,
            call[2],
            windows.strides,
            0,
            windows.dilations,
            call.attribute("group", 1),
        )
    ]


@op("ConvTranspose")
def conv_transpose(call):
    x, w = call[0], call[1]
    dims = x.ndim - 2
    strides = call.attribute("strides") or [1] * dims
    dilations = call.attribute("dilations") or [1] * dims
    more = call.attribute("output_padding") or [0] * dims
    pads, mode = call.attribute("pads") or [0] * (2 * dims), call.attribute("auto_pad", "NOTSET")
    groups = call.attribute("group", 1)
    result = CONV_TRANSPOSE[dims](x, w, None, strides, 0, 0, groups, dilations)
    for i in range(dims):
        size = result.shape[2 + i] + more[i]
        wanted = call.attribute("output_shape")
        if wanted or mode.startswith("SAME"):
            output = wanted[i] if wanted else x.shape[2 + i] * strides[i]
            total = max(0, size - output)
            low = total // 2 if mode == "SAME_UPPER" else total - total // 2
        else:
            low, high = (pads[i], pads[dims + i]) if mode == "NOTSET" else (0, 0)
            output = size - low - high
        grown = F.pad(result, [0, 0] * (dims - 1 - i) + [0, output])
        result = grown.narrow(2 + i, low, output)
    if call[2] is not None:
        result = result + call[2].reshape(-1, *[1] * dims)
    return [result]


@op("MaxPool")
def max_pool(call):
    x = call[0]
    windows = Windows(call, x.shape[2:], call.attribute("kernel_shape"))
    grown = padded(x, windows, -float("inf"))
    value, place = MAX_POOL[x.ndim - 2](
        grown, windows.kernel, windows.strides, 0, windows.dilations, return_indices=True
    )
    # From places of a channel with its pads to places in the whole, without.
    at, number, step = [], 0, 1
    for size, low in zip(reversed(grown.shape[2:]), reversed(windows.low)):
        at = [place % size - low] + at
        place = place // size
    column_first = call.attribute("storage_order", 0)
    order = range(len(at)) if column_first else reversed(range(len(at)))
    for i in order:
        number = number + at[i] * step
        step *= windows.spatial[i]
    before = torch.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    return [value, number + before * step]


@op("AveragePool", "LpPool")
def average_pool(call):
    x = call[0]
    windows = Windows(call, x.shape[2:], call.attribute("kernel_shape"))
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    if call.attribute("count_include_pad", 0):
        pads = []
        for low, high in zip(windows.low, windows.high):
            pads = [low, high] + pads
        ones = F.pad(ones, pads, value=1.0)
        # Those that are counted lie in front of what the windows reach beyond.
        reach = padded(x[:1, :1], windows).shape
        for d in range(2, x.ndim):
            ones = F.pad(ones, [0, 0] * (x.ndim - 1 - d) + [0, max(0, reach[d] - ones.shape[d])])
            ones = ones.narrow(d, 0, reach[d])
    else:
        ones = padded(ones, windows)
    kernel = torch.ones((1, 1, *windows.kernel), dtype=x.dtype)

    def total(values):
        flat = values.reshape(-1, 1, *values.shape[2:])
        added = CONV[x.ndim - 2](flat, kernel, None, windows.strides, 0, windows.dilations)
        return added.reshape(*values.shape[:2], *added.shape[2:])

    if call.node.op == "AveragePool":
        return [total(padded(x, windows)) / total(ones)]
    p = call.attribute("p", 2)
    return [total(padded(torch.abs(x) ** p, windows)) ** (1 / p)]


def spatial(x):
    return tuple(range(2, x.ndim))


@op("GlobalAveragePool")
def global_average_pool(call):
    return [call[0].mean(spatial(call[0]), keepdim=True)]


@op("GlobalMaxPool")
def global_max_pool(call):
    return [torch.amax(call[0], spatial(call[0]), keepdim=True)]


@op("GlobalLpPool")
def global_lp_pool(call):
    x, p = call[0], call.attribute("p", 2)
    return [(torch.abs(x) ** p).sum(spatial(x), keepdim=True) ** (1 / p)]


@op("BatchNormalization")
def batch_normalization(call):
    x, scale, bias, mean, variance = (call[i] for i in range(5))
    if call.attribute("training_mode", 0):
        y = standardized(x, (0, *spatial(x)), call.decimal("epsilon", 1e-5))
        return [y * along_channels(scale, x.dim()) + along_channels(bias, x.dim())]
    epsilon = float(call.real("epsilon", 1e-5))
    return [F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)]


def standardized(x, axes, epsilon):
    # Not F.group_norm, of whose steps rounding could show nothing.
    centred = x - x.mean(axes, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(axes, keepdim=True) + epsilon)


def along_channels(vector, rank):
    return vector.reshape(-1, *[1] * (rank - 2))


@op("InstanceNormalization")
def instance_normalization(call):
    x = call[0]
    y = standardized(x, spatial(x), call.decimal("epsilon", 1e-5))
    return [y * along_channels(call[1], x.ndim) + along_channels(call[2], x.ndim)]


@op("GroupNormalization")
def group_normalization(call):
    x, groups = call[0], call.attribute("num_groups")
    grouped = x.reshape(x.shape[0], groups, -1)
    y = standardized(grouped, (2,), call.decimal("epsilon", 1e-5)).reshape(x.shape)
    each = x.shape[1] // groups if call.opset < 21 else 1
    scale, bias = (along_channels(call[i].repeat_interleave(each), x.ndim) for i in (1, 2))
    return [y * scale + bias]


@op("MeanVarianceNormalization")
def mean_variance_normalization(call):
    x, axes = call[0], tuple(call.attribute("axes", [0, 2, 3]))
    centred = x - x.mean(axes, keepdim=True)
    return [centred / (torch.sqrt((centred * centred).mean(axes, keepdim=True)) + 1e-9)]


@op("LRN")
def local_response_normalization(call):
    x, size = call[0], call.attribute("size")
    alpha, beta, bias = call.real("alpha", 1e-4), call.real("beta", 0.75), call.real("bias", 1)
    before = (size - 1) // 2
    grown = F.pad((x * x).movedim(1, -1), [before, size - 1 - before])
    total = sum(grown.narrow(-1, i, x.shape[1]) for i in range(size)).movedim(-1, 1)
    return [x / (float(bias) + float(alpha) / size * total) ** float(beta)]


@op("Resize")
def resize(call):
    """By the matrices of the written reference; torch's interpolate has three of the modes."""
    x = call[0]
    axes = call.attribute("axes") or list(range(x.ndim))
    resizing, result = Resizing(call), x
    for k, axis in enumerate(axes):
        size = x.shape[axis]
        if call[2] is not None and call[2].numel():
            scale = float(np.float32(float(call[2][k])))
            output = int(np.floor(size * scale))
        else:
            output = call.ints(3)[k]
            scale = output / size
        if scale == 1:
            continue
        matrix = torch.from_numpy(resizing.along(np.eye(size), 0, scale, output)).to(x.dtype)
        result = torch.tensordot(matrix, result, ([1], [axis])).movedim(0, axis)
    return [result]
