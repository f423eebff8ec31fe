"""Compiling, running and reading back: what the training tests share."""
import json
import os
import struct
import subprocess

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build"))
SHARDC = os.path.join(BUILD, "bin", "shardc")
MODELS = os.path.join(ROOT, "test", "models")
SHARED_MODELS = os.path.abspath(os.path.join(ROOT, "..", "shared", "models"))
DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "BOOL": np.bool_,
}


class CommandFailed(Exception):
    """A command that ended with an error; its text is the command's own."""


def command(*words, timeout=600):
    process = subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, timeout=timeout
    )
    if process.returncode:
        raise CommandFailed(
            f"{' '.join(map(str, words))}\nexit"
            f" {process.returncode}\n{process.stderr or process.stdout}"
        )
    return process


def read_safetensors(path):
    """{name: array}; the format is https://github.com/huggingface/safetensors#format."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)

    def values(entry):
        stored = data[entry["data_offsets"][0] : entry["data_offsets"][1]]
        if entry["dtype"] == "BF16":  # the upper half of a float32
            return (np.frombuffer(stored, np.uint16).astype(np.uint32) << 16).view(np.float32)
        return np.frombuffer(stored, DTYPES[entry["dtype"]])

    return {name: values(entry).reshape(entry["shape"]) for name, entry in header.items()}


def write_safetensors(path, tensors):
    """{name: array} of float32 or float64."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        kind = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64"}[tensor.dtype]
        ends = [at, at := at + tensor.nbytes]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": ends}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def read_metrics(path):
    """(steps, other events) of a --metrics file."""
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return [l for l in lines if "event" not in l], [l for l in lines if "event" in l]


class Model:
    """A reference model: its graph, data and PyTorch's run."""

    def __init__(self, folder):
        self.folder = folder
        self.name = os.path.basename(folder)
        self.onnx = os.path.join(folder, "model.onnx")
        with open(os.path.join(folder, "reference.json")) as file:
            self.reference = json.load(file)
        self.recipe = self.reference["recipe"]
        self.batch = self.recipe["batch"]
        # Each rank has its own statistics: more ranks train another model.
        self.is_of_batch = "batch_norm" in self.recipe

    def data(self, part="data"):
        folder = os.path.join(self.folder, *part.split("/"))
        return {
            f[:-4]: os.path.join(folder, f)
            for f in sorted(os.listdir(folder))
            if f.endswith(".npy")
        }

    def dims(self, ranks, batch=None):
        """The graph's symbolic dims for a mesh of `ranks`."""
        dims = {"batch": (batch or self.batch) // ranks}
        if "input_ids" in self.data():
            dims["sequence"] = np.load(self.data()["input_ids"], mmap_mode="r").shape[1]
        return dims

    def loss(self):
        loss = self.recipe["loss"]
        if loss == "graph output":
            return "output:loss"
        settings = loss["cross_entropy"]
        return (
            "cross-entropy:logits=logits,labels=labels"
            f",ignore={settings['ignore_index']},shift={int(settings['shift'])}"
        )

    def compile(self, trainer, mesh, precision, *flags, batch=None):
        ranks = int(np.prod([int(d) for d in str(mesh).split("x")]))
        words = [
            SHARDC,
            self.onnx,
            "--mesh",
            mesh,
            "--precision",
            precision,
            "--loss",
            self.loss(),
            "-o",
            trainer,
        ]
        for name, size in self.dims(ranks, batch).items():
            words += ["--dim", f"{name}={size}"]
        if "freeze" in self.recipe:
            words += ["--freeze", self.recipe["freeze"]]
        return command(*words, *flags)

    def train_flags(self, steps=None, lr=None, optimizer="adamw"):
        """The recipe's: its numbers are AdamW's; another optimizer takes those that it has."""
        r = self.recipe
        words = ["--steps", steps or r["steps"], "--lr", r["lr"] if lr is None else lr]
        if optimizer not in ("sgd", "adagrad"):
            words += ["--betas", ",".join(map(str, r["betas"]))]
        words += ["--eps", r["eps"]] if optimizer not in ("sgd", "lion") else []
        words += [
            "--weight-decay",
            r["weight_decay"],
            "--clip",
            r["clip"],
            "--schedule",
            r["schedule"],
            "--warmup-steps",
            r["warmup"],
            "--warmup-start-factor",
            r["warmup_start"],
        ]
        if r["schedule"] != "constant":
            words += ["--total-steps", r["steps"]]
        for name, path in self.data().items():
            words += ["--data", f"{name}={path}"]
        return words

    def train(self, trainer, *flags, steps=None, optimizer="adamw"):
        return command(trainer, *self.train_flags(steps, optimizer=optimizer), *flags)


def models():
    """Every trainable model: the repository's, and those beside the checkout where they exist."""
    found = {}
    for folder in (SHARED_MODELS, MODELS):
        if os.path.isdir(folder):
            for name in sorted(os.listdir(folder)):
                if os.path.exists(os.path.join(folder, name, "reference.json")):
                    found[name] = Model(os.path.join(folder, name))
    return found
