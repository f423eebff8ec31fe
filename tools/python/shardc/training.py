"""Compiles modules and ONNX files from Python, runs the trainers, and takes back what they
trained."""
import json
import os
import re
import subprocess
import tempfile

from shardc import programs
from shardc.programs import Error


# Flags of one value that has commas, and flags that take KEY=VALUE,... each time.
_JOINED = ("betas", "no-decay")
_KEYED = ("group", "dropout-rate")


def _pairs(value):
    """{"match": "norm", "lr_scale": 0.1} as match=norm,lr-scale=0.1; other values as they are."""
    if not isinstance(value, dict):
        return value
    pairs = ((key.replace("_", "-"), each) for key, each in value.items())
    return ",".join(key if each is True else f"{key}={each}" for key, each in pairs)


def _flags(options):
    """{"grad_accumulation": 4} as ["--grad-accumulation", "4"]; True is a flag without a value,
    None and False none; lists are repeated, dicts repeated as KEY=VALUE; as in --config files
    betas and no_decay may be lists, and a group a dict."""
    words = []
    for name, value in options.items():
        name = name.replace("_", "-")
        if name in _JOINED and isinstance(value, (list, tuple)):
            value = ",".join(str(each) for each in value)
        elif isinstance(value, dict):
            of_one = name in _KEYED
            value = _pairs(value) if of_one else [f"{key}={each}" for key, each in value.items()]
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                words.append("--" + name)
            elif each is not None and each is not False:
                words += ["--" + name, str(_pairs(each))]
    return words


def _run(words, quiet):
    """Shows what a program prints, but for its error, which is the text of the Error."""
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL if quiet else None, stderr=subprocess.PIPE, text=True
    )
    error, last = None, "it does not say why"
    for line in process.stderr:
        last = line.rstrip()
        if error is None and ": error: " in line:
            error = re.sub(r"^\S+: error: ", "", last)
        elif not quiet:
            print(line, end="", flush=True)
    if process.wait():
        raise Error(error or f"{words[0]} ends with {process.returncode}: {last}")


def compile(model, inputs=None, *, mesh=1, output=None, dim=None, quiet=False, **flags):
    """A Trainer of a module (with example inputs, as of shardc.export) or of an ONNX file. `dim`:
    {name: size}; other flags are the compiler's, with _ for -: precision="bf16",
    strategy="grad_op", loss="cross-entropy:...", freeze=["embed", "norm"]."""
    folder = None
    if output is None or not isinstance(model, (str, os.PathLike)):
        folder = tempfile.TemporaryDirectory(prefix="shardc-")
    output = os.path.join(folder.name, "model.trainer") if output is None else os.fspath(output)
    words = []
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        words += ["--mesh", str(mesh)] + _flags({"dim": dim or {}})
    else:
        from shardc.export import export
        from shardc.sources import from_module

        options = {key: flags.pop(key) for key in ("dims", "outputs", "labels") if key in flags}
        source = from_module(model, inputs, loss=flags.pop("loss", None), **options)
        path = os.path.join(folder.name, "model.onnx")
        exported = export(source, path)
        words += exported.compile_flags(mesh, dim or {})
    _run(
        [programs.find("shardc"), path, *words, *_flags(flags), "-o", output]
        + (["-q"] if quiet else []),
        quiet,
    )
    return Trainer(output, folder)


class Run:
    """What a run has told: steps and evaluations (one dict each) and the summary, as --metrics
    writes them."""

    def __init__(self, path):
        with open(path) as file:
            lines = [json.loads(line) for line in file]
        self.steps = [line for line in lines if "event" not in line]
        self.evaluations = [line for line in lines if line.get("event") == "eval"]
        self.summary = next((line for line in lines if line.get("event") == "summary"), {})

    @property
    def losses(self):
        return [step["loss"] for step in self.steps]


class Trainer:
    """An executable that shardc has written."""

    def __init__(self, path, folder=None):
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise Error(f"there is no trainer {self.path}")
        # Where the trained values are, and what was compiled without a name of its own.
        self._folder = folder or tempfile.TemporaryDirectory(prefix="shardc-")
        self._trained = os.path.join(self._folder.name, "trained.safetensors")

    def run(self, data, *, eval_data=None, quiet=False, **flags):
        """Trains on this machine, as the trainer's own command line does. `data` and `eval_data`:
        {input: an array of numpy or a tensor of torch whose first dim are samples, or a path};
        flags are the trainer's, with _ for -: steps=100, lr=3e-4, schedule="cosine"."""
        with tempfile.TemporaryDirectory(prefix="shardc-data-") as folder:
            words = [self.path]
            for flag, given in (("data", data), ("eval-data", eval_data or {})):
                for name, values in given.items():
                    words += [f"--{flag}", f"{name}={_stored(values, folder, f'{flag}.{name}')}"]
            self._trained = os.fspath(flags.pop("export_safetensors", self._trained))
            metrics = flags.pop("metrics", os.path.join(folder, "metrics.jsonl"))
            words += ["--metrics", metrics, "--export-safetensors", self._trained]
            _run(words + _flags(flags), quiet)
            return Run(metrics)

    def load_into(self, module):
        """Sets the module's parameters and buffers to what the last run has trained."""
        if not os.path.exists(self._trained):
            raise Error("nothing is trained yet: run() it first")
        load_into(module, self._trained)


def load_into(module, path):
    """Sets a module's parameters and buffers to what a trainer has exported (--export-safetensors);
    all of them or, where one does not fit, none."""
    import torch
    from safetensors.torch import load_file

    values = load_file(os.fspath(path))
    of = dict(module.named_parameters(remove_duplicate=False))
    of.update(module.named_buffers())
    for name, value in values.items():
        if name not in of:
            raise Error(f"{path} has '{name}', and the module has not")
        if of[name].shape != value.shape:
            raise Error(
                f"'{name}' is {list(of[name].shape)} in the module, and {list(value.shape)} in"
                f" {path}"
            )
    with torch.no_grad():
        for name, value in values.items():
            of[name].copy_(value)


def _stored(values, folder, name):
    """A path as it is; arrays and tensors as .npy files."""
    if isinstance(values, (str, os.PathLike)):
        return os.fspath(values)
    import numpy as np

    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        values = values.numpy()
    path = os.path.join(folder, re.sub(r"[^\w.-]", "_", name) + ".npy")
    np.save(path, np.ascontiguousarray(values))
    return path
