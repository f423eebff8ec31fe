"""What both sides of a stored architecture have: values of parameters and data that are drawn by
name, so that graphs alone are stored, and what is kept of gradients. Needs numpy alone."""
import zlib

import numpy as np


def drawn(name, shape):
    """RandomState's streams never change."""
    return np.asarray(np.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape))


def initial_value(name, shape):
    """Matrices keep the size of what they multiply; other weights are near 1, and biases near 0."""
    numbers = drawn(name, shape)
    if len(shape) > 1:
        return (numbers / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
    return np.asarray(0.05 * numbers + (not name.endswith("bias")), np.float32)


def described(data):
    """Floats by their shape, integers by value."""
    return {
        key: {"drawn": array.shape} if array.dtype.kind == "f" else array.tolist()
        for key, array in data.items()
    }


def arrays(description):
    return {
        key: (
            drawn(key, each["drawn"]).astype(np.float32)
            if isinstance(each, dict)
            else np.array(each, np.int64)
        )
        for key, each in description.items()
    }


def digest(name, gradient):
    """Its norm, and how long it is in a direction that is drawn: nothing that differs escapes."""
    gradient = np.asarray(gradient, np.float64)
    along = np.sum(gradient * drawn("along " + name, gradient.shape))
    return [float(np.linalg.norm(gradient)), float(along)]


def differences(found, kept):
    """{name: how far a gradient's digest is off, of its norm}"""
    # One that is 0 but for rounding has no norm of its own.
    least = 1e-7 * max(norm for norm, _ in kept.values())
    return {
        name: max(abs(a - b) for a, b in zip(digest(name, found[name]), wanted))
        / max(wanted[0], least)
        for name, wanted in kept.items()
    }
