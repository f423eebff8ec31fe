"""Values of --weights for some parameters alone (--weights-match), and files whose names have a
prefix: the rest is the compiled model's or drawn."""
import os
import re
import tempfile
import unittest

import numpy as np

from reference import CommandFailed, command, read_safetensors, write_safetensors
from small_models import Small


class Weights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.model = model = Small(cls.folder)
        hidden = model.linear(model.input("x", [6]), "body.first", 6, 8)
        hidden = model.linear(model.node("Relu", hidden), "body.second", 8, 8)
        logits = model.linear(model.node("Relu", hidden), "head", 8, 3)
        model.node("Identity", logits, output="logits")
        model.input("labels", [], np.int64, high=3)
        model.finish("cross-entropy:logits=logits,labels=labels", logits=[3])
        cls.trainer = os.path.join(cls.folder, "trainer")
        model.compile(cls.trainer, 2, "float32", batch=4)
        cls.own = cls.values()
        cls.drawn = cls.values("--init", "random", "--seed", 3)
        numbers = np.random.default_rng(1)
        cls.other = {
            name: numbers.standard_normal(value.shape).astype(np.float32)
            for name, value in cls.own.items()
        }

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def values(cls, *flags):
        """What a run of no step begins with."""
        out = cls.path("out.safetensors")
        said = command(cls.trainer, "--steps", 0, "--export-safetensors", out, *flags)
        cls.said = said.stdout + said.stderr
        return read_safetensors(out)

    def fails(self, *flags):
        with self.assertRaises(CommandFailed) as raised:
            self.values(*flags)
        return str(raised.exception)

    def write(self, values, name="in.safetensors"):
        write_safetensors(self.path(name), values)
        return self.path(name)

    def assert_taken(self, got, rest, pattern):
        for name, value in got.items():
            wanted = self.other if re.search(pattern, name) else rest
            np.testing.assert_array_equal(value, wanted[name], name)

    def body(self, prefix=""):
        return {
            name.replace("body.", prefix): value
            for name, value in self.other.items()
            if name.startswith("body.")
        }

    def test_the_rest_is_the_models_or_drawn(self):
        path = self.write(self.body("body."))
        flags = ("--weights", path, "--weights-match", "^body")
        self.assert_taken(self.values(*flags), self.own, "^body")
        self.assertIn(f"from {path} where names have ^body, the rest those of the", self.said)
        drawn = self.values(*flags, "--init", "random", "--seed", 3)
        self.assert_taken(drawn, self.drawn, "^body")
        self.assertIn("the rest drawn, seed 3", self.said)

    def test_of_another_head(self):
        """Whose shape is another one: it is not looked at."""
        other = dict(self.other, **{"head.weight": np.ones((9, 8), np.float32)})
        path = self.write(other)
        error = self.fails("--weights", path)
        self.assertIn("head.weight has the shape [9, 8], and the model's parameter", error)
        self.assertIn("--weights-match", error)
        got = self.values("--weights", path, "--weights-match", "body|bias")
        self.assert_taken(got, self.own, "body|bias")

    def test_of_onnx_files_and_checkpoints(self):
        whole = self.write(self.other)
        onnx, folder = self.path("other.onnx"), self.path("checkpoints")
        self.values("--weights", whole, "--export-onnx", onnx, "--checkpoint-dir", folder)
        for path in (onnx, os.path.join(folder, os.listdir(folder)[0])):
            if not os.path.basename(path).startswith("step"):
                self.assertEqual(path, onnx)
            with self.subTest(path=path):
                self.assert_taken(self.values("--weights", path), self.own, "")
                got = self.values("--weights", path, "--weights-match", "second")
                self.assert_taken(got, self.own, "second")

    def test_prefixes(self):
        for prefix in ("module.", "_orig_mod.", "model.deep."):
            wrapped = {prefix + name: value for name, value in self.other.items()}
            wrapped["other"] = np.zeros(3, np.float32)
            path = self.write(wrapped)
            self.assert_taken(self.values("--weights", path), self.own, "")
            self.assertIn(f"names of tensors have {prefix} before", self.said)
        path = self.write(self.body())
        got = self.values("--weights", path, "--weights-match", "^body")
        self.assert_taken(got, self.own, "^body")
        self.assertIn("names of tensors are the parameters' without body.", self.said)
        path = self.write(self.other)
        self.values("--weights", path)
        self.assertNotIn("names of tensors", self.said)

    def test_a_prefix_that_is_not_the_only_one_is_none(self):
        two = {p + n: v for n, v in self.other.items() for p in ("student.", "teacher.")}
        self.assertIn("has no tensor body.first.weight", self.fails("--weights", self.write(two)))
        some = {"module." + name: value for name, value in self.body("body.").items()}
        self.assertIn("has no tensor body.", self.fails("--weights", self.write(some)))

    def test_mistakes(self):
        path = self.write(self.other)
        for flags, text in (
            (("--weights", path, "--weights-match", "^tail"), "is found in no parameter's name"),
            (("--weights", path, "--weights-match", "("), "--weights-match ( is no regex"),
            (("--weights-match", "body"), "--weights-match has no effect without --weights"),
            (("--weights", path, "--init", "random"), "--init and --weights exclude each other"),
        ):
            with self.subTest(flags=flags):
                self.assertIn(text, self.fails(*flags))


if __name__ == "__main__":
    unittest.main()
