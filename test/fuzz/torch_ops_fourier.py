"""The second reference: Fourier transforms and windows by torch's own functions."""
import numpy as np
import numpy_ops
import torch
from torch_ops import op


def as_complex(x):
    return torch.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0]))


@op("DFT")
def dft(call):
    x = call[0]
    axis = call.attribute("axis", 1) if call.opset < 20 else -2
    axis = int(call[2]) if call[2] is not None else axis
    axis %= x.ndim
    half, inverse = call.attribute("onesided", 0), call.attribute("inverse", 0)
    length = 2 * (x.shape[axis] - 1) if half and inverse else x.shape[axis]
    length = call.ints(1)[0] if call[1] is not None else length
    if half and inverse:
        return [torch.fft.irfft(as_complex(x), length, axis)[..., None]]
    if half:
        return [torch.view_as_real(torch.fft.rfft(x[..., 0], length, axis))]
    function = torch.fft.ifft if inverse else torch.fft.fft
    return [torch.view_as_real(function(as_complex(x), length, axis))]


@op("STFT")
def stft(call):
    step = call.ints(1)[0]
    frame = call.ints(3)[0] if call[3] is not None else call[2].shape[0]
    pieces = as_complex(call[0]).unfold(1, frame, step)
    pieces = pieces if call[2] is None else pieces * call[2]
    whole = torch.view_as_real(torch.fft.fft(pieces))
    return [whole[:, :, : frame // 2 + 1] if call.attribute("onesided", 1) else whole]


def window(function):
    def of(call):
        periodic = bool(call.attribute("periodic", 1))
        return [function(call.ints(0)[0], periodic=periodic, dtype=torch.float64)]

    return of


op("HannWindow")(window(torch.hann_window))
op("BlackmanWindow")(window(torch.blackman_window))
op("HammingWindow")(
    window(lambda n, **more: torch.hamming_window(n, alpha=25 / 46, beta=21 / 46, **more))
)


@op("MelWeightMatrix")
def mel_weights(call):
    """torch has none: known numbers, by the formula of the written reference."""
    arrays = [each.numpy() for each in call.inputs]
    made = numpy_ops.OPS["MelWeightMatrix"](numpy_ops.Call(call.node, arrays, 0, np.float64))
    return [torch.from_numpy(made[0])]
