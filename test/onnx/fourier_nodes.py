#!/usr/bin/env python3
"""Fourier transforms beside numpy.fft's, in the form of ONNX's operator tests (a model, its inputs
and its outputs each): lengths that are short, long, prime, products of two and of three factors;
real and complex; cut and padded. fourier-nodes.test runs them.

    fourier_nodes.py FOLDER
"""
import sys

import node_tests
import numpy as np
from onnx import helper

numbers = np.random.default_rng(20)


def signal(*shape, dtype=np.float32):
    return numbers.standard_normal(shape).astype(dtype)


def as_complex(x):
    return x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


def in_parts(x, like):
    return np.stack([x.real, x.imag], -1).astype(like.dtype)


def write(folder, name, op, version, inputs, expected, **attributes):
    """inputs: by position, None where one is left out. What is no signal is known when a model is
    compiled."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    given = {name: array for name, array in zip(names, inputs) if array is not None}
    known = [node_tests.constant(name, array) for name, array in list(given.items())[1:]]
    node = helper.make_node(op, names, ["y"], **attributes)
    signal = {names[0]: inputs[0]}
    node_tests.write(folder, name, version, [*known, node], signal, {"y": expected})


def scalar(number):
    return np.array(number, np.int64)


def transforms(folder):
    for n in (1, 2, 5, 128, 131, 134, 400, 1000, 3001, 8192):
        # A sum of thousands of float32 that is nearly nothing has few digits.
        dtype = np.float64 if n > 1000 else np.float32
        for parts in (1, 2):
            x = signal(2, n, parts, dtype=dtype)
            for inverse in (0, 1):
                function = np.fft.ifft if inverse else np.fft.fft
                expected = in_parts(function(as_complex(x), axis=1), x)
                name = f"dft_{n}_{'real' if parts == 1 else 'complex'}{'_inverse' * inverse}"
                write(folder, name, "DFT", 20, [x], expected, inverse=inverse)
        half = in_parts(np.fft.rfft(x[..., 0]), x)
        write(folder, f"dft_{n}_onesided", "DFT", 20, [x[..., :1]], half, onesided=1)
        whole = np.fft.irfft(as_complex(half), n)[..., None].astype(x.dtype)
        inputs = [half, scalar(n)]
        write(folder, f"dft_{n}_back", "DFT", 20, inputs, whole, onesided=1, inverse=1)
    # Not the spectrum of real numbers: its first and last imaginary part do not count.
    half = signal(3, 9, 2)
    whole = np.fft.irfft(as_complex(half))[..., None].astype(half.dtype)
    write(folder, "dft_back_of_any", "DFT", 17, [half], whole, onesided=1, inverse=1)


def axes_and_lengths(folder):
    x = signal(6, 3, 4, 2)
    for axis in (0, 1, 2, -2, -4):
        expected = in_parts(np.fft.fft(as_complex(x), axis=axis % 4), x)
        write(folder, f"dft_axis_{axis}", "DFT", 20, [x, None, scalar(axis)], expected)
        write(folder, f"dft_17_axis_{axis}", "DFT", 17, [x], expected, axis=axis)
    for length in (3, 6, 7, 260):
        for inverse in (0, 1):
            function = np.fft.ifft if inverse else np.fft.fft
            expected = in_parts(function(as_complex(x), length, axis=0), x)
            inputs = [x, scalar(length), scalar(0)]
            name = f"dft_length_{length}{'_inverse' * inverse}"
            write(folder, name, "DFT", 20, inputs, expected, inverse=inverse)
    for dtype in (np.float16, np.float64):
        x = signal(2, 300, 1, dtype=dtype)
        expected = in_parts(np.fft.fft(x[..., 0].astype(np.float64)), x)
        write(folder, f"dft_{np.dtype(dtype).name}", "DFT", 20, [x], expected)


def frames(folder):
    for name, length, step, parts, has_window in (
        ("overlap", 16, 5, 1, True),
        ("apart", 8, 11, 1, False),
        ("complex", 16, 4, 2, True),
        ("long", 400, 160, 1, True),
    ):
        x, window = signal(2, 2 * length + 9, parts), np.hanning(length).astype(np.float32)
        starts = range(0, x.shape[1] - length + 1, step)
        pieces = np.stack([as_complex(x)[:, s : s + length] for s in starts], 1)
        pieces = pieces * (window if has_window else 1)
        one_sided = int(parts == 1)
        expected = np.fft.rfft(pieces.real) if one_sided else np.fft.fft(pieces)
        inputs = [x, scalar(step), window if has_window else None, scalar(length)]
        expected = in_parts(expected, x)
        write(folder, f"stft_{name}", "STFT", 17, inputs, expected, onesided=one_sided)


if __name__ == "__main__":
    transforms(sys.argv[1])
    axes_and_lengths(sys.argv[1])
    frames(sys.argv[1])
