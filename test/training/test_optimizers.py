"""Every optimizer of shardc against its formula in numpy, from the paper or torch's documentation,
on meshes that cut its state in different ways. The gradient of the loss is the mean of the samples,
whatever the weights are, so that no other code has a part in it.
"""
import json
import os
import re
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, command, read_safetensors

FEATURES, CLASSES, GLOBAL, STEPS, RATE, DECAY = 3, 5, 8, 7, 0.01, 0.1


def adam(beta1, beta2, epsilon=1e-8, decoupled=True, amsgrad=False):
    """torch.optim.AdamW and Adam:
    https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html."""

    def run(p, gradients):
        m = v = most = np.zeros_like(p)
        for t, g in enumerate(gradients, 1):
            if decoupled:
                p = p - RATE * DECAY * p
            else:
                g = g + DECAY * p
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            most = np.maximum(most, v)
            second = (most if amsgrad else v) / (1 - beta2**t)
            p = p - RATE * (m / (1 - beta1**t)) / (np.sqrt(second) + epsilon)
        return p

    return run


def lion(beta1, beta2):
    """Algorithm 2 of https://arxiv.org/abs/2302.06675."""

    def run(p, gradients):
        m = np.zeros_like(p)
        for g in gradients:
            p = p - RATE * (np.sign(beta1 * m + (1 - beta1) * g) + DECAY * p)
            m = beta2 * m + (1 - beta2) * g
        return p

    return run


def adagrad(epsilon):
    """torch.optim.Adagrad:
    https://docs.pytorch.org/docs/stable/generated/torch.optim.Adagrad.html."""

    def run(p, gradients):
        total = np.zeros_like(p)
        for g in gradients:
            g = g + DECAY * p
            total = total + g * g
            p = p - RATE * g / (np.sqrt(total) + epsilon)
        return p

    return run


def sgd(momentum, nesterov=False):
    """torch.optim.SGD: https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html."""

    def run(p, gradients):
        buffer = np.zeros_like(p)
        for g in gradients:
            g = g + DECAY * p
            buffer = momentum * buffer + g
            p = p - RATE * (g + momentum * buffer if nesterov else buffer)
        return p

    return run


# Flags, the formula with the same numbers, and the tensors of state.
OPTIMIZERS = {
    "adamw": [
        ((), adam(0.9, 0.999), 2),
        (("--betas", "0.3,0.6", "--eps", "1e-3"), adam(0.3, 0.6, 1e-3), 2),
    ],
    "adam": [((), adam(0.9, 0.999, decoupled=False), 2)],
    "amsgrad": [
        ((), adam(0.9, 0.999, amsgrad=True), 3),
        (("--betas", "0.8,0.3"), adam(0.8, 0.3, amsgrad=True), 3),
    ],
    "lion": [((), lion(0.9, 0.99), 1), (("--betas", "0.3,0.6"), lion(0.3, 0.6), 1)],
    "adagrad": [((), adagrad(1e-10), 1), (("--eps", "1e-2"), adagrad(1e-2), 1)],
    "sgd": [((), sgd(0), 1), (("--momentum", "0.9", "--nesterov"), sgd(0.9, True), 1)],
}
MESHES = (("1", "full"), ("4", "full"), ("4", "none"), ("2x2", "hybrid_opt"))


class Optimizers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        random = np.random.default_rng(5)
        self.weight = random.standard_normal((FEATURES, CLASSES))
        # Means that change their sign from step to step, and grow and shrink.
        self.x = random.standard_normal((GLOBAL * STEPS, FEATURES))
        self.x += np.repeat(random.standard_normal((STEPS, FEATURES)), GLOBAL, 0)
        self.gradients = [
            np.repeat(rows.mean(0)[:, None], CLASSES, 1) for rows in np.split(self.x, STEPS)
        ]
        nodes = [
            helper.make_node("MatMul", ["x", "weight"], ["z"]),
            helper.make_node("ReduceSum", ["z", "one"], ["s"], keepdims=0),
            helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0),
        ]
        graph = helper.make_graph(
            nodes,
            "linear",
            [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", FEATURES])],
            [helper.make_tensor_value_info("loss", TensorProto.DOUBLE, [])],
            [
                numpy_helper.from_array(self.weight, "weight"),
                numpy_helper.from_array(np.array([1]), "one"),
            ],
        )
        with open(self.path("m.onnx"), "wb") as file:
            file.write(
                helper.make_model(
                    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
                ).SerializeToString()
            )
        np.save(self.path("x.npy"), self.x)

    def test_each_follows_its_formula_on_every_mesh(self):
        for kind, cases in OPTIMIZERS.items():
            for mesh, strategy in MESHES:
                ranks = int(np.prod([int(size) for size in mesh.split("x")]))
                command(
                    SHARDC,
                    self.path("m.onnx"),
                    "-o",
                    self.path("m.trainer"),
                    "--mesh",
                    mesh,
                    "--strategy",
                    strategy,
                    "--optimizer",
                    kind,
                    "--precision",
                    "float64",
                    "--dim",
                    f"batch={GLOBAL // ranks}",
                    "--report",
                    self.path("r.json"),
                )
                for flags, formula, _ in cases:
                    with self.subTest(optimizer=kind, mesh=mesh, strategy=strategy, flags=flags):
                        command(
                            self.path("m.trainer"),
                            "--data",
                            f"x={self.path('x.npy')}",
                            "--lr",
                            RATE,
                            "--weight-decay",
                            DECAY,
                            "--steps",
                            STEPS,
                            *flags,
                            "--export-safetensors",
                            self.path("p.safetensors"),
                        )
                        got = read_safetensors(self.path("p.safetensors"))["weight"]
                        np.testing.assert_allclose(
                            got, formula(self.weight, self.gradients), rtol=1e-12, atol=1e-13
                        )

    def test_each_keeps_the_states_that_it_has(self):
        for kind, cases in OPTIMIZERS.items():
            command(
                SHARDC,
                self.path("m.onnx"),
                "-o",
                self.path("m.trainer"),
                "--optimizer",
                kind,
                "--precision",
                "float64",
                "--dim",
                "batch=8",
                "--report",
                self.path("r.json"),
            )
            with open(self.path("r.json"), encoding="utf-8") as file:
                (unit,) = json.load(file)["units"]
            self.assertEqual(
                unit["per_rank"]["optimizer"], cases[0][2] * FEATURES * CLASSES * 8, kind
            )

    def test_help_names_them_with_their_numbers(self):
        self.assertRegex(
            re.sub(r"\s+", " ", command(SHARDC, "--help").stdout),
            "adamw, adam, sgd, lion, amsgrad, adagrad or muon",
        )
        command(
            SHARDC,
            self.path("m.onnx"),
            "-o",
            self.path("m.trainer"),
            "--optimizer",
            "lion",
            "--precision",
            "float64",
            "--dim",
            "batch=8",
        )
        text = re.sub(r"\s+", " ", command(self.path("m.trainer"), "--help").stdout)
        self.assertIn("0.9,0.999 for adamw, adam, amsgrad and muon, 0.9,0.99 for lion", text)
        self.assertIn("0.01 for adamw and amsgrad, 0 for adam, sgd, lion and adagrad", text)
        self.assertIn("0 for adam, sgd, lion and adagrad, 0.1 for muon", text)


if __name__ == "__main__":
    unittest.main()
