"""Quantization that is not defined, or for which no type is there."""
from onnx_writer import DOUBLE, FLOAT, INT8, INT32, INT64, UINT8, floats, node, tensor, value
from single_node import single

ONE = floats("s", [], [0.5])
ZERO = tensor("z", INT8, [], ints=[0])
WHOLE = value("q", INT8, ["batch", 4])


class BadQuantization:
    """For TestCases that have accepted() and refused()."""

    def quantize(self, *more, version=21, **attributes):
        names = ["x", "s", "z"][: 1 + len(more)]
        return single(
            node("QuantizeLinear", names, ["y"], **attributes),
            *more,
            outputs=[value("y", INT8, ["batch", 4])],
            version=version,
        )

    def dequantize(self, *more, inputs=(WHOLE,), version=21, **attributes):
        names = ["q", "s", "z"][: 1 + len(more)]
        return single(
            node("DequantizeLinear", names, ["y"], **attributes),
            *more,
            inputs=inputs,
            version=version,
        )

    def test_quantization(self):
        self.accepted(self.quantize(ONE, ZERO), r"nn\.round")
        self.accepted(self.quantize(floats("s", [4], [1] * 4)), r"nn\.round")
        self.accepted(self.quantize(floats("s", [2, 2], [1] * 4), block_size=3), r"nn\.round")
        self.refused(
            self.quantize(ONE, tensor("z", INT32, [], ints=[0])),
            "quantizes to int32, which is not supported; supported are int8, uint8, int16 and",
        )
        self.refused(self.quantize(ONE, output_dtype=INT64), "quantizes to int64")
        self.refused(self.quantize(ONE, output_dtype=17), "output_dtype float8e4m3fn is not supp")
        self.refused(
            self.quantize(ONE, ZERO, output_dtype=UINT8),
            "expects a zero point of the quantized type uint8, got int8",
        )
        self.refused(
            self.quantize(floats("s", [3], [1] * 3)),
            r"one number, or one for each of the 4 places of axis 1, got \[3\]",
        )
        self.refused(
            self.quantize(floats("s", [4], [1] * 4), ZERO),
            r"expects a zero point of the scale's shape \[4\], got \[\]",
        )
        self.refused(
            self.quantize(floats("s", [2, 3], [1] * 6), block_size=3),
            r"expects input 1 to be \[2, 2\], one number for each block of 3 along axis 1",
        )
        self.accepted(self.quantize(floats("s", [2, 1], [1] * 2), block_size=1 << 62), "nn.round")
        self.refused(self.quantize(floats("s", [2, 2], [1] * 4), block_size=-3), "got -3")
        self.refused(
            self.quantize(floats("s", [2, 2], [1] * 4), block_size=3, axis=2),
            "axis 2 is out of range for rank 2",
        )
        self.refused(
            self.quantize(tensor("s", INT32, [], ints=[1])), "expects a scale of floats, got int32"
        )

    def test_dequantization(self):
        self.accepted(self.dequantize(ONE, ZERO), r"nn\.cast")
        self.accepted(self.dequantize(ONE, output_dtype=DOUBLE, version=23), r"xf64>")
        self.refused(
            self.dequantize(ONE, inputs=[value("q", INT64, ["batch", 4])]),
            "data type int64; expects int8, uint8, int16, uint16 or int32",
        )
        self.refused(
            self.dequantize(ONE, tensor("z", UINT8, [], ints=[0])),
            "expects a zero point of the quantized type int8, got uint8",
        )
        self.refused(self.dequantize(ONE, output_dtype=INT8, version=23), "output_dtype of floats")

    def test_what_opset_28_takes(self):
        whole = tensor("w", INT32, [], ints=[1])
        y = value("y", INT32, ["batch", 4])
        count = value("x", INT32, ["batch", 4])
        shift = node("BitShift", ["x", "w"], ["y"], direction="RIGHT")
        self.refused(
            single(shift, whole, inputs=[count], outputs=[y], version=27),
            "integers without a sign, or, from opset 28 on, integers",
        )
        self.accepted(single(shift, whole, inputs=[count], outputs=[y], version=28), r"nn\.div")
        self.refused(
            single(node("SwiGLU", ["x", "w"], ["y"]), floats("w", [4], [1] * 4), version=28),
            r"expects two inputs of one shape, got \[2, 4\] and \[4\]",
        )
        image = value("x", FLOAT, ["batch", 1, 4, 4])
        blocks = node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode="RCD")
        self.refused(
            single(blocks, inputs=[image], version=28), "the mode 'RCD'; expects DCR or CRD"
        )

    def test_windows(self):
        heads = value("x", FLOAT, ["batch", 1, 4, 4])
        attention = node("Attention", ["x", "x", "x"], ["y"], left_window_size=-2)
        self.refused(
            single(attention, inputs=[heads], version=25),
            "expects left_window_size to be -1, which hides no key, or more, got -2",
        )
