"""Runs of models that draw, on inputs of their own, beside plain gradient descent."""
import os
import tempfile
import unittest

import numpy as np
from onnx import helper

from emulated_cuda import emulated
from reference import SHARDC, command, read_metrics, read_safetensors

GLOBAL, LENGTH, FEATURES, HIDDEN, OUT = 8, 3, 5, 16, 4
RATE, SEED = 0.5, 7


def initial():
    random = np.random.default_rng(3)
    return {
        "w0": random.standard_normal((FEATURES, HIDDEN)) / 2,
        "w1": random.standard_normal((HIDDEN, OUT)) / 4,
    }


def written(nodes, values, dtype, opset, changes=(), length=LENGTH):
    """The ONNX file of nodes that make "loss" from "x" [batch, length, features]; of `changes`,
    each replaces the node that gives a value by others."""
    for at, other in changes:
        index = next(i for i, each in enumerate(nodes) if at in each.output)
        nodes[index : index + 1] = other
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", dtype, ["batch", length, FEATURES])],
        [helper.make_tensor_value_info("loss", dtype, [])],
        values,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    ).SerializeToString()


class DrawnRuns(unittest.TestCase):
    STEPS, LENGTH = 4, LENGTH

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        shape = (GLOBAL * self.STEPS, self.LENGTH, FEATURES)
        self.x = np.random.default_rng(9).standard_normal(shape)
        np.save(self.path("x.npy"), self.x)

    def write(self, content):
        with open(self.path("m.onnx"), "wb") as file:
            file.write(content)

    def compile(self, mesh="1", *flags, precision="float64", micro=1):
        ranks = int(np.prod([int(size) for size in mesh.split("x")]))
        words = ["--mesh", mesh, "--optimizer", "sgd", "--units", "size:1kB", *flags]
        words += ["--precision", precision, "--dim", f"batch={GLOBAL // ranks // micro}"]
        command(SHARDC, self.path("m.onnx"), "-o", self.path("m.trainer"), *words)

    def train(self, *flags, steps=None, seed=SEED):
        words = ["--data", f"x={self.path('x.npy')}", "--lr", RATE, "--steps", steps or self.STEPS]
        words += ["--metrics", self.path("m.jsonl"), "--seed", seed]
        words += ["--export-safetensors", self.path("p.safetensors")]
        if os.path.exists(self.path("m.jsonl")):
            os.remove(self.path("m.jsonl"))
        command(self.path("m.trainer"), *words, *flags)
        losses = [step["loss"] for step in read_metrics(self.path("m.jsonl"))[0]]
        return losses, read_safetensors(self.path("p.safetensors"))

    def agrees_on_gpus(self, content, want):
        """A model in float32 on two emulated GPUs, and on processors."""
        self.write(content)
        np.save(self.path("x.npy"), self.x.astype(np.float32))
        self.compile("2", "--target", "cuda", precision="float32")
        with emulated():
            self.agrees(self.train(), want, 1e-5)
        self.compile("2", precision="float32")
        self.agrees(self.train(), want, 1e-5)

    def agrees(self, got, want, tolerance=1e-12):
        np.testing.assert_allclose(got[0], want[0], rtol=tolerance)
        for name, value in want[1].items():
            np.testing.assert_allclose(got[1][name], value, rtol=tolerance, atol=tolerance)
