"""What is refused of windows, resized and padded dims, contractions and norms of channels; tests
of bad_inputs_test.py."""
import numpy as np

from onnx_writer import FLOAT, floats, ints, node, value
from single_node import WEIGHT, X, single


class BadSignals:
    def test_windows(self):
        image = value("x", FLOAT, ["batch", 4, 8, 8])
        open_output = value("y", FLOAT, ["n", "c", "h", "w"])

        def of_image(op, *initializers, kernel=None, **attributes):
            inputs = ["x", *(name for name, _ in initializers)]
            if kernel:
                attributes["kernel_shape"] = kernel
            return single(
                node(op, inputs, ["y"], **attributes),
                *(each for _, each in initializers),
                inputs=[image],
                outputs=[open_output],
            )

        def kernel_of(*shape):
            return "k", floats("k", list(shape), [0.5] * int(np.prod(shape)))

        bias = "b", floats("b", [3], [0.5] * 3)
        for model, text in (
            (of_image("MaxPool"), "has no attribute kernel_shape"),
            (of_image("MaxPool", kernel=[2]), "expects a kernel of 2 dims"),
            (of_image("MaxPool", kernel=[9, 2]), "reaches over 9 elements of spatial dim 0"),
            (of_image("MaxPool", kernel=[2, 0]), r"has a kernel of \[2, 0\]"),
            (
                of_image("MaxPool", kernel=[1 << 31, 1 << 31]),
                "expects 1 to 4096 elements",
            ),
            (of_image("MaxPool", kernel=[2, 2], pads=[2, 0, 0, 0]), "has pads of 2 and 0"),
            (of_image("MaxPool", kernel=[2, 2], pads=[1, 1]), "expects pads to have 4 numbers"),
            (of_image("MaxPool", kernel=[2, 2], strides=[0, 1]), "has 0 in strides"),
            (of_image("MaxPool", kernel=[2, 2], auto_pad="SAME"), "has the auto_pad 'SAME'"),
            (
                of_image(
                    "AveragePool", kernel=[64, 64], dilations=[1 << 30, 1 << 30], auto_pad="VALID"
                ),
                "reaches over",
            ),
            (of_image("LpPool", kernel=[2, 2], p=0), "expects p to be 1 or more, got 0"),
            (of_image("Conv", kernel_of(3, 3, 2, 2)), "expects W to take 4 channels in 1 groups"),
            (of_image("Conv", kernel_of(3, 4, 2)), "expects W to have rank 4"),
            (of_image("Conv", kernel_of(3, 2, 2, 2), group=3), "cannot put 4 channels"),
            (
                of_image("Conv", kernel_of(2, 4, 2, 2), bias),
                r"expects B to have the shape \[2\], got \[3\]",
            ),
            (
                of_image("Conv", kernel_of(2, 4, 2, 2), pads=[1 << 30] * 4),
                "elements",
            ),
            (
                of_image("ConvTranspose", kernel_of(4, 2, 2, 2), strides=[1 << 30, 1 << 30]),
                "at most 4096 in all dims together are supported",
            ),
            (
                of_image("ConvTranspose", kernel_of(4, 2, 2, 2), strides=[64, 65]),
                r"has strides \[64, 65\]; at most 4096",
            ),
            (
                of_image("ConvTranspose", kernel_of(4, 2, 2, 2), pads=[5, 5, 5, 5]),
                "has a result of size -1 in spatial dim 0",
            ),
        ):
            self.refused(model, text)

    def test_resizing_and_padding(self):
        def with_ints(op, values, *empty, **attributes):
            return single(
                node(op, ["x", *empty, "n"], ["y"], **attributes), ints("n", values), inputs=[X]
            )

        self.refused(with_ints("Resize", [2, 0], "", ""), "resizes dim 1 of size 4 to 0")
        self.refused(with_ints("Resize", [2], "", ""), "has 1 scales or sizes for 2 dims")
        self.refused(with_ints("Resize", [2, 4], "", "", mode="area"), "has the mode 'area'")
        self.refused(with_ints("Pad", [0, 1, 0, 1], mode="mirror"), "has the mode 'mirror'")
        self.refused(
            with_ints("Pad", [0, 1 << 28, 0, 1], mode="wrap"), "at most 33554432 are supported"
        )

    def test_einsum(self):
        for equation, text in (
            ("ab", "equation of 1"),
            ("ab,a2->b", "is not understood"),
            ("ab,abc->c", "to have the dims 'abc', got rank 2"),
            ("ab,bc->ad", "names a dim that no input has"),
            ("aa,bc->bc", "has a dim of 2 and of 4 elements"),
        ):
            call = node("Einsum", ["x", "w"], ["y"], equation=equation)
            self.refused(single(call, WEIGHT), text)

    def test_batch_norms_of_train_mode(self):
        vectors = [floats(name, [4], [1.0] * 4) for name in "sbmv"]
        read = ["x", *"sbmv"]
        call = (
            "%y : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit{}]"
            "(args = ({}), kwargs = {{}})"
        )
        names = "%x, %s, %b, %m, %v, "
        for node_of_batch in (
            node("BatchNormalization", read, ["y"], training_mode=1),
            node(
                "BatchNormalization",
                read,
                ["y"],
                metadata={
                    "pkg.torch.onnx.fx_node": call.format(
                        "_functional.default", names + "True, 0.1, 1e-05"
                    )
                },
            ),
        ):
            self.accepted(single(node_of_batch, *vectors), r"nn\.batch_norm .* momentum = 9\.0")
        told = call.format("_no_training.default", names + "0.1, 1e-05")
        self.accepted(
            single(
                node("BatchNormalization", read, ["y"], metadata={"pkg.torch.onnx.fx_node": told}),
                *vectors,
            ),
            r"nn\.mul",
        )

    def test_fourier_transforms(self):
        open_output = [value("y", FLOAT, ["a", "b", "c", "d"])]

        def of_signal(op, *known, shape=("batch", 40, 1), version=20, **attributes):
            names = ["x", *("" if number is None else f"k{i}" for i, number in enumerate(known))]
            given = [ints(f"k{i}", [n], []) for i, n in enumerate(known) if n is not None]
            signal = [value("x", FLOAT, list(shape))]
            a_node = node(op, names, ["y"], **attributes)
            return single(a_node, *given, inputs=signal, outputs=open_output, version=version)

        for model, text in (
            (of_signal("DFT", shape=("batch", 40, 3)), r"last dim is 1 \(real\) or 2"),
            (of_signal("DFT", None, -1), "its axis is the last one"),
            (of_signal("DFT", None, 5), "axis 5"),
            (of_signal("DFT", 0), "expects its dft_length to be a positive number, got"),
            (of_signal("DFT", 1 << 40), "cannot transform 1099511627776 elements"),
            (of_signal("DFT", 1 << 22), "cannot transform 4194304 elements; supported are 2097152"),
            (of_signal("DFT", shape=("batch", 40, 2), onesided=1), "expects a real signal"),
            (of_signal("DFT", onesided=1, inverse=1), "expects a complex spectrum"),
            (
                of_signal("DFT", shape=("batch", 1, 2), onesided=1, inverse=1),
                "has nothing to transform",
            ),
            (of_signal("STFT", 4), "has neither a window nor a frame_length"),
            (of_signal("STFT", 0, None, 8), "expects its frame_step to be a positive number"),
            (of_signal("STFT", 4, None, 41), "has no frame of 41 in a signal of 40"),
            (
                of_signal("STFT", 4, None, 8, shape=("batch", 40, 2)),
                "expects a real signal",
            ),
            (of_signal("STFT", 4, None, 8, shape=("batch", 2, 40, 1)), "expects a signal"),
        ):
            self.refused(model, text)

    def test_windows_of_signals_and_mel_bands(self):
        def of_numbers(op, *numbers, **attributes):
            names = [f"k{i}" for i in range(len(numbers))]
            given = [
                floats(n, [], [number]) if isinstance(number, float) else ints(n, [number], [])
                for n, number in zip(names, numbers)
            ]
            return single(
                node(op, names, ["y"], **attributes),
                *given,
                outputs=[value("y", FLOAT, ["n", "m"][: 2 if len(numbers) > 1 else 1])],
            )

        for model, text in (
            (of_numbers("HannWindow", 0), "expects its size to be a positive number"),
            (of_numbers("HammingWindow", 1 << 40), "has more than 33554432 elements"),
            (of_numbers("BlackmanWindow", 8, output_datatype=14), "output_datatype 14"),
            (of_numbers("MelWeightMatrix", 1 << 40, 64, 16000, 0.0, 8000.0), "elements"),
            (of_numbers("MelWeightMatrix", 8, 64, 16000, 0.0, 16000.0), "beyond the 33 bins"),
            (of_numbers("MelWeightMatrix", 8, 64, 16000, -900.0, 8000.0), "beyond the 33 bins"),
        ):
            self.refused(model, text)
