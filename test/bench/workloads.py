"""The workloads: sizes, FLOPs, initial values and batches, and their graphs in
test/models/bench.

Both sides of a comparison read the same files, written once by `Prepared`: initial values
(safetensors, by parameter name) and the global batches of the first steps. They come from numpy's
RandomState, whose streams never change, so they are the same everywhere.
"""
import json
import lzma
import os
import shutil
import struct
import zlib
from dataclasses import dataclass

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODELS = os.path.join(ROOT, "test", "models")
SEED = 1234
BATCHES = 20  # batches written; a run of more steps begins again with the first
LEARNING = {
    "lr": 3e-4,
    "betas": (0.9, 0.95),
    "weight_decay": 0.1,
    "clip": 1.0,
}  # AdamW, on both sides


@dataclass(frozen=True)
class Workload:
    name: str
    model: str  # class of fsdp2_models.py
    sizes: dict  # its arguments
    batch: int  # global
    warmup: int  # first steps that are not measured
    steps: int  # measured ones

    @property
    def sequence(self):
        return self.sizes.get("sequence", 1)

    @property
    def tokens(self):
        """Of a step, global; samples where there is no vocabulary."""
        return self.batch * self.sequence

    @property
    def is_quick(self):
        """Whether a step takes so little that the first one has a target of its own."""
        return self.name in ("W3", "W4")

    @property
    def unit(self):
        return "tokens" if "vocab" in self.sizes else "samples"

    @property
    def matrices(self):
        """Elements of all matrices that take part in a product for every token: not those that
        are only looked up."""
        s = self.sizes
        dim, layers = s["dim"], s["layers"]
        if self.model == "VisionTransformer":
            return layers * 12 * dim * dim
        if self.model == "Gpt2":
            return layers * 12 * dim * dim + dim * s["vocab"]
        if self.model == "Llama":
            kv = dim // s["heads"] * s["kv_heads"]
            return layers * (2 * dim * dim + 2 * dim * kv + 3 * dim * s["ffn"]) + dim * s["vocab"]
        return layers * 12 * dim * dim + dim * s["classes"]

    @property
    def flops(self):
        """Model FLOPs of a step, forward and backward: 6 N a token, and 12 L S D a token for
        attention's products, half if causal."""
        if self.model == "ResNet":
            return 3 * self.batch * resnet_flops(**self.sizes)
        sequence, head = self.sequence, 0
        if self.model == "VisionTransformer":
            s = self.sizes
            sequence = (s["image"] // s["patch"]) ** 2 + 1
            head = 3 * s["patch"] ** 2 * s["dim"] * (sequence - 1) + s["dim"] * s["classes"]
        causal = 1 if "vocab" not in self.sizes else 0.5
        attention = 12 * self.sizes["layers"] * sequence * self.sizes["dim"] * causal
        samples = self.tokens // self.sequence
        return samples * (sequence * (6 * self.matrices + attention) + 6 * head)

    def batches(self):
        """{"input", "labels"}: BATCHES global batches, one after the other."""
        draw = np.random.RandomState(SEED)
        samples = self.batch * BATCHES
        if "vocab" in self.sizes:
            ids = draw.randint(0, self.sizes["vocab"], (samples, self.sequence + 1), np.int64)
            return {"input": ids[:, :-1], "labels": ids[:, 1:]}
        size = self.sizes.get("image")
        shape = (3, size, size) if size else (1, self.sizes["dim"])
        return {
            "input": draw.standard_normal((samples, *shape)).astype(np.float32),
            "labels": draw.randint(0, self.sizes["classes"], samples, np.int64),
        }


WORKLOADS = {
    w.name: w
    for w in (
        Workload(
            "W1",
            "Gpt2",
            dict(vocab=50257, positions=1024, dim=768, heads=12, layers=12, sequence=256),
            batch=4,
            warmup=1,
            steps=3,
        ),
        Workload(
            "W2",
            "Llama",
            dict(vocab=50000, dim=768, ffn=3072, heads=12, kv_heads=3, layers=12, sequence=512),
            batch=4,
            warmup=1,
            steps=2,
        ),
        Workload(
            "W3",
            "Llama",
            dict(vocab=8192, dim=256, ffn=1024, heads=4, kv_heads=2, layers=4, sequence=128),
            batch=16,
            warmup=4,
            steps=16,
        ),
        Workload(
            "W4",
            "Encoder",
            dict(dim=512, heads=8, layers=4, classes=10),
            batch=64,
            warmup=10,
            steps=100,
        ),
        Workload(
            "W5",
            "ResNet",
            dict(image=64, width=64, layers=(3, 4, 6, 3), classes=1000),
            batch=64,
            warmup=1,
            steps=6,
        ),
        Workload(
            "W6",
            "VisionTransformer",
            dict(image=224, patch=16, dim=384, heads=6, layers=12, classes=1000),
            batch=16,
            warmup=1,
            steps=3,
        ),
    )
}
QUICK = {
    "W1": (1, 1),
    "W2": (1, 1),
    "W3": (2, 4),
    "W4": (3, 9),
    "W5": (1, 2),
    "W6": (1, 1),
}  # warmup and steps of a quick run


def resnet_flops(image, width, layers, classes):
    """Of one image, forward."""

    def convolution(size, inputs, outputs, kernel):
        return 2 * size * size * inputs * outputs * kernel * kernel

    size = image // 2
    total, inputs = convolution(size, 3, width, 7), width
    size //= 2
    for stage, count in enumerate(layers):
        for i in range(count):
            here, after = width << stage, size // 2 if stage and i == 0 else size
            total += convolution(size, inputs, here, 1) + convolution(after, here, here, 3)
            total += convolution(after, here, 4 * here, 1)
            if i == 0:
                total += convolution(after, inputs, 4 * here, 1)
            size, inputs = after, 4 * here
    return total + 2 * inputs * classes


def graph(name, folder):
    """Path of MODELS/name/model.onnx, unpacked into `folder` if it is stored packed."""
    path = os.path.join(MODELS, name, "model.onnx")
    if os.path.exists(path):
        return path
    unpacked = os.path.join(folder, name.replace("/", "-") + ".onnx")
    with lzma.open(path + ".xz") as packed, open(unpacked, "wb") as file:
        shutil.copyfileobj(packed, file)
    return unpacked


def parameters(path):
    """[(name, shape)] of a graph alone: the initializers that are described but not there, and the
    running statistics, which a file of weights has to have too."""
    import onnx  # here, since the interpreter that has torch need not have it

    model = onnx.load(path, load_external_data=False)
    return [
        (i.name, tuple(i.dims))
        for i in model.graph.initializer
        if i.data_location == onnx.TensorProto.EXTERNAL or ".running_" in i.name
    ]


def initial_value(name, shape):
    """Matrices are normal, of deviation 0.02 or, for an untied head, 1 / sqrt(columns); kernels of
    convolutions as He et al. have them, of deviation sqrt(2 / fan out); biases 0; scales of norms
    1, of those that end a residual branch of ResNet 0 (Goyal et al., 2017)."""
    if len(shape) == 1:
        is_zero = name.endswith(("bias", "running_mean", "norm_3.weight"))
        return np.zeros(shape, np.float32) if is_zero else np.ones(shape, np.float32)
    deviation = shape[1] ** -0.5 if "head" in name else 0.02
    if len(shape) == 4:
        deviation = (2 / (shape[0] * shape[2] * shape[3])) ** 0.5
    draw = np.random.RandomState(SEED + zlib.crc32(name.encode()))
    return (deviation * draw.standard_normal(shape)).astype(np.float32)


def write_safetensors(path, shapes, value_of):
    """One tensor in memory at a time. Format: length of the header (u64), header (JSON), values."""
    header, at = {}, 0
    for name, shape in shapes:
        end = at + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes:
            value_of(name, shape).tofile(file)


class Prepared:
    """The files that both sides read, in FOLDER/NAME; what is there already stays."""

    def __init__(self, name, folder):
        self.workload = WORKLOADS[name]
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder, exist_ok=True)
        self.graph = graph(f"bench/{name}", self.folder)
        self.weights = os.path.join(self.folder, "initial.safetensors")
        self.data = {key: os.path.join(self.folder, f"{key}.npy") for key in ("input", "labels")}
        if not all(map(os.path.exists, (self.weights, *self.data.values()))):
            write_safetensors(self.weights, parameters(self.graph), initial_value)
            for key, array in self.workload.batches().items():
                np.save(self.data[key], np.ascontiguousarray(array))
