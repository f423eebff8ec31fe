"""The written reference: Fourier transforms by numpy.fft, windows and mel bands."""
import numpy as np
from numpy_ops import op


def as_complex(x):
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0] + 0j


def in_parts(x):
    return np.stack([x.real, x.imag], -1)


@op("DFT")
def dft(call):
    x = call[0]
    axis = call.attribute("axis", 1) if call.opset < 20 else -2
    axis = int(call[2].reshape(())) if call[2] is not None else axis
    axis %= x.ndim
    half, inverse = call.attribute("onesided", 0), call.attribute("inverse", 0)
    length = 2 * (x.shape[axis] - 1) if half and inverse else x.shape[axis]
    length = call.ints(1)[0] if call[1] is not None else length
    if half and inverse:
        return [np.fft.irfft(as_complex(x), length, axis)[..., None]]
    if half:
        return [in_parts(np.fft.rfft(x[..., 0], length, axis))]
    return [in_parts((np.fft.ifft if inverse else np.fft.fft)(as_complex(x), length, axis))]


@op("STFT")
def stft(call):
    x, step = call[0], call.ints(1)[0]
    frame = call.ints(3)[0] if call[3] is not None else call[2].shape[0]
    starts = range(0, x.shape[1] - frame + 1, step)
    pieces = np.stack([as_complex(x)[:, s : s + frame] for s in starts], 1)
    pieces = pieces if call[2] is None else pieces * call[2]
    if call.attribute("onesided", 1):
        return [in_parts(np.fft.rfft(pieces.real))]
    return [in_parts(np.fft.fft(pieces))]


def cosines(call, *factors):
    size = call.ints(0)[0]
    angle = 2 * np.pi * np.arange(size) / (size - 1 + call.attribute("periodic", 1))
    return [sum(factor * np.cos(k * angle) for k, factor in enumerate(factors))]


@op("HannWindow")
def hann(call):
    return cosines(call, 0.5, -0.5)


@op("HammingWindow")
def hamming(call):
    return cosines(call, 25 / 46, -21 / 46)


@op("BlackmanWindow")
def blackman(call):
    return cosines(call, 0.42, -0.5, 0.08)


@op("MelWeightMatrix")
def mel_weights(call):
    bands, length, rate = (call.ints(i)[0] for i in range(3))
    edges = [2595 * np.log10(1 + float(call[i]) / 700) for i in (3, 4)]
    mels = edges[0] + np.arange(bands + 2) * (edges[1] - edges[0]) / (bands + 2)
    corners = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype(int)
    weights = np.zeros((length // 2 + 1, bands))
    for band, (low, middle, high) in enumerate(zip(corners, corners[1:], corners[2:])):
        for at in range(low, middle + 1):
            weights[at, band] = (at - low) / (middle - low) if middle > low else 1
        for at in range(middle, high):
            weights[at, band] = (high - at) / (high - middle)
    return [weights]
