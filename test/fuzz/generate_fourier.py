"""Generators: Fourier transforms, and what is multiplied with signals and spectra. In float64: the
factors of other types are rounded to them when a model is compiled."""
from builder import Unsuitable
from generate_products import of_shape
from generators import generates
from program import TYPES


def wide_alone(g):
    if g.main != "f64":
        raise Unsuitable("factors are rounded to the type of the file")


@generates("DFT")
def dft(g, op):
    g.available(17)
    wide_alone(g)
    length, inverse, half = g.size(9), g.choose(None, 0, 1), g.choose(None, 0, 1)
    parts = g.choose(1, 2) if not half else 2 if inverse else 1
    shape = [g.size(3), g.size(3), g.size(3), parts]
    axis = g.choose(0, 1, 2)
    shape[axis] = length
    inputs = [of_shape(g, shape, g.main), ""]
    if g.chance(0.4) or (half and inverse):
        inputs[1] = g.scalar(g.integer(1, 12), "i64")
    flags = {"inverse": inverse, "onesided": half}
    if g.available_from(20):
        inputs.append(g.scalar(g.choose(axis, axis - 4), "i64"))
    else:
        flags["axis"] = axis
        while not inputs[-1]:
            inputs.pop()
    g.emit(op, inputs, **flags)


@generates("HannWindow", "HammingWindow", "BlackmanWindow")
def window(g, op):
    g.available(17)
    wide_alone(g)
    size = g.integer(2, 9)
    flags = {"periodic": g.choose(None, 0, 1), "output_datatype": TYPES["f64"][0]}
    weights = g.emit(op, [g.scalar(size, "i64")], dtype="f64", **flags)
    g.emit("Mul", [of_shape(g, [g.size(3), size], g.main), weights])


@generates("MelWeightMatrix")
def mel_weights(g, op):
    g.available(17)
    wide_alone(g)
    bins = g.choose(17, 33)
    numbers = [g.scalar(n, "i64") for n in (g.integer(1, 6), 2 * (bins - 1), 16000)]
    edges = [g.scalar(hertz, "f64") for hertz in (g.choose(0.0, 250.0), g.choose(7000.0, 4000.0))]
    weights = g.emit(
        op, numbers + edges, dtype="f64", output_datatype=TYPES["f64"][0], usable=False
    )
    g.emit("MatMul", [of_shape(g, [g.size(3), bins], g.main), weights])


@generates("STFT")
def stft(g, op):
    g.available(17)
    wide_alone(g)
    frame, half = g.integer(1, 6), g.choose(None, 0, 1)
    parts = g.choose(1, 2) if half == 0 else 1
    x = of_shape(g, [g.size(3), frame + g.integer(0, 7), parts], g.main)
    has_window = g.chance(0.6)
    inputs = [x, g.scalar(g.integer(1, 4), "i64"), ""]
    if has_window:
        inputs[2] = of_shape(g, [frame], g.main)
    if not has_window or g.chance(0.5):
        inputs.append(g.scalar(frame, "i64"))
    g.emit(op, inputs, onesided=half)
