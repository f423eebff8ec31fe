"""A loss that is not finite: the step runs again, and what made it so is named with its entry, ONNX
node, rank and samples; nothing is exported. On one process and on several."""
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest

import numpy as np

from reference import command, read_safetensors
from small_models import Small

RANKS, BATCH = 4, 8


def poisoned(source, target, name, element):
    """A copy of a safetensors file with a NaN in one element."""
    with open(source, "rb") as file:
        content = bytearray(file.read())
    (length,) = struct.unpack("<Q", content[:8])
    begin = 8 + length + json.loads(content[8 : 8 + length])[name]["data_offsets"][0] + 4 * element
    content[begin : begin + 4] = struct.pack("<f", float("nan"))
    with open(target, "wb") as file:
        file.write(content)


class NotFinite(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        """x -> linear -> log of a column that is positive -> linear -> the loss."""
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        model = Small(cls.folder)
        model.batch = BATCH
        x = model.input("x", [6])
        first = model.node("Relu", model.linear(x, "first", 6, 12))
        positive = model.input("positive", [1])
        model.values["positive"] = np.abs(model.values["positive"]) + np.float32(0.5)
        log = model.node("Log", positive)
        second = model.linear(model.node("Add", first, log), "second", 12, 5)
        model.node("Identity", second, output="logits")
        model.input("labels", [], np.int64, high=5)
        model.finish("cross-entropy:logits=logits,labels=labels", logits=[5])
        cls.model, cls.trainer = model, os.path.join(cls.folder, "trainer")
        model.compile(cls.trainer, RANKS, "float32", *cls.flags, batch=BATCH)

    def data(self, **changed):
        return [
            word
            for name, values in self.model.values.items()
            for word in ("--data", f"{name}={self.save(name, changed.get(name, values))}")
        ]

    def save(self, name, values):
        path = os.path.join(self.folder, f"{name}-{abs(hash(values.tobytes()))}.npy")
        np.save(path, values)
        return path

    def found(self, *flags, nodes, reads, ranks, samples):
        """Runs it in 1, 2 and 4 processes; who says it first does."""
        out = os.path.join(self.folder, "out.safetensors")
        for processes in (1, 2, 4):
            with self.subTest(processes=processes):
                run = subprocess.run(
                    [self.trainer, *map(str, flags), "--lr", "1e-3", "--export-safetensors", out]
                    + (["--nproc-per-node", str(processes)] if processes > 1 else []),
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                self.assertEqual(run.returncode, 1, run.stderr)
                lines = re.findall(
                    r"error: the loss of step (\d+) \(counting from 0\) is nan: run again, plan"
                    r" entry (\S+) \(train, forward\): makes the first number that is not finite,"
                    r" in step \d+, micro-batch (\d)/\d: (.*); ONNX nodes? (.*), rank (\d), samples"
                    r" ([\d, ]+); ",
                    run.stderr,
                )
                self.assertTrue(lines, run.stderr)
                self.assertNotIn("in the middle of a step", run.stderr)
                for line in lines:
                    self.assertIn(nodes, line[4])
                    self.assertIn(reads, line[3])
                    self.assertIn(int(line[5]), ranks)
                    if samples:
                        self.assertEqual((line[2], line[6]), samples)
                self.assertFalse(os.path.exists(out))

    def test_in_a_weight(self):
        whole = os.path.join(self.folder, "whole.safetensors")
        bad = os.path.join(self.folder, "bad.safetensors")
        flags = (*self.data(), "--lr", "1e-3", "--export-safetensors", whole)
        command(self.trainer, *flags, "--steps", 1)
        self.assertIn("first.weight", read_safetensors(whole))
        poisoned(whole, bad, "first.weight", 7)
        self.found(
            *(*self.data(), "--steps", 3, "--weights", bad),
            nodes="node.0",
            reads="has nan at element 7",
            ranks=range(RANKS),
            samples=None,
        )

    def test_in_an_input(self):
        """Of the second micro-batch of the second step, rank 2: samples 28 and 29 of 32."""
        model, x = self.model, np.tile(self.model.values["x"], (2, 1))
        x[29, 3] = np.nan
        doubled = {
            name: np.concatenate([values, values])
            for name, values in model.values.items()
            if name != "x"
        }
        for processes in (1, 2, 4):
            with self.subTest(processes=processes):
                run = subprocess.run(
                    [self.trainer, *self.data(x=x, **doubled), "--steps", "3", "--lr", "1e-3"]
                    + ["--grad-accumulation", "2", "--nproc-per-node", str(processes)],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertRegex(
                    run.stderr,
                    r"error: the loss of step 1 \(counting from 0\) is nan: \S+\.npy: sample 29 at"
                    r" \[3\]: nan is no float32 to train on, of input x; ",
                )

    def test_of_a_kernel(self):
        """The logarithm of a negative number, in the sample that rank 3 has in the first step."""
        positive = self.model.values["positive"].copy()
        positive[7] = -1
        self.found(
            *(*self.data(positive=positive), "--steps", 3),
            nodes="node.3",
            reads="has nan at element",
            ranks=[3],
            samples=("1", "6, 7"),
        )


class UpdatesInBackward(NotFinite):
    """The loss is known before the first update, so that none of a step is done."""

    flags = ("--update", "backward", "--units", "size:200B")


if __name__ == "__main__":
    unittest.main()
