"""Models that lie in Hugging Face's cache, whose files are links."""
import os
import shutil
import unittest

from tool_test import MODELS, SHARDC
from user_files import Files, content


class HubCache(Files):
    """Hugging Face's cache: snapshots/REVISION/FILE -> ../../blobs/HASH."""

    def setUp(self):
        super().setUp()
        large = os.path.join(MODELS, "gpt2-tiny")
        if not os.path.exists(os.path.join(large, "model.onnx.data")):
            self.skipTest("this model keeps its weights inside")
        self.snapshot = self.path("models--a--b/snapshots/0123")
        os.makedirs(self.snapshot)
        os.mkdir(self.path("models--a--b/blobs"))
        for number, name in enumerate(("model.onnx", "model.onnx.data")):
            shutil.copyfile(os.path.join(large, name), self.path(f"models--a--b/blobs/{number}"))
            os.symlink(f"../../blobs/{number}", os.path.join(self.snapshot, name))
        for name in ("input_ids", "labels"):
            shutil.copyfile(os.path.join(large, "data", name + ".npy"), self.path(name + ".npy"))
        self.inputs = ["input_ids", "labels"]

    flags = ("--dim", "sequence=64", "--loss", "cross-entropy:logits=logits,labels=labels,shift=1")

    def test_a_model_in_the_cache(self):
        for more in ((), ("--embed-weights",)):
            self.compile(*self.flags, *more, model=os.path.join(self.snapshot, "model.onnx"))
            self.works("--export-safetensors", "p" + "".join(more))
            self.works("--weights", os.path.join(self.snapshot, "model.onnx"))
            self.works("--weights", self.snapshot)
        self.assertEqual(content(self.path("p")), content(self.path("p--embed-weights")))

    def test_links_out_of_the_cache(self):
        data = os.path.join(self.snapshot, "model.onnx.data")
        self.compile(*self.flags, model=os.path.join(self.snapshot, "model.onnx"))
        shutil.move(self.path("models--a--b/blobs/1"), self.path("secret"))
        for target in ("../../../secret", self.path("secret")):
            os.remove(data)
            os.symlink(target, data)
            words = (
                SHARDC,
                os.path.join(self.snapshot, "model.onnx"),
                "--dim",
                "batch=2",
                *self.flags,
            )
            self.fails(
                "shardc",
                words,
                "model.onnx.data",
                "symbolic link",
                "secret",
                "outside of the model's folder",
            )
            self.fails(
                "trainer",
                self.words(),
                "model.onnx.data",
                "symbolic link",
                "secret",
                "outside of the model's folder",
            )


if __name__ == "__main__":
    unittest.main()
