"""A folder as a user has it: a model, its data, what is compiled and trained from them."""
import glob
import json
import os
import shutil
import struct

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")
DATA = os.path.join(MODELS, "mlp-tiny-loss", "data")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = content(path)
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    begin = 8 + length
    return {
        n: (
            e["dtype"],
            e["shape"],
            data[begin + e["data_offsets"][0] : begin + e["data_offsets"][1]],
        )
        for n, e in header.items()
    }


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(values)],
        }
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Files(ToolTest):
    def setUp(self):
        super().setUp()
        for name in ("model.onnx", "model.onnx.data"):
            source = os.path.join(os.path.dirname(MODEL), name)
            if os.path.exists(source):
                shutil.copyfile(source, self.path(name))
        self.inputs = sorted(
            os.path.basename(p)[:-4] for p in glob.glob(os.path.join(DATA, "*.npy"))
        )
        for name in self.inputs:
            shutil.copyfile(os.path.join(DATA, name + ".npy"), self.path(name + ".npy"))

    def everything(self):
        """What lies in the folder, byte for byte."""
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                found[path] = os.readlink(path) if os.path.islink(path) else content(path)
        return found, sorted(f for f, _, _ in os.walk(self.folder))

    def fails(self, program, words, *parts):
        """One error with all parts; nothing in the folder has changed."""
        before = self.everything()
        result = run(*words, cwd=self.folder)
        self.assert_one_error(result, program, *parts)
        self.assertEqual(self.everything(), before, "files were made, lost or changed")
        return result.err

    def compile(self, *flags, output="m.trainer", model="model.onnx"):
        result = run(SHARDC, model, "--dim", "batch=2", *flags, "-o", output, cwd=self.folder)
        self.assertEqual(result.code, 0, result.err)
        return self.path(output)

    def words(self, *flags, trainer="m.trainer", steps=2):
        data = [w for n in self.inputs for w in ("--data", f"{n}={n}.npy")]
        return [self.path(trainer), *data, "--steps", steps, *flags]

    def works(self, *flags, **keywords):
        result = run(*self.words(*flags, **keywords), cwd=self.folder)
        self.assertEqual(result.code, 0, result.err)
        return result
