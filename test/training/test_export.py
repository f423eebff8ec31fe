"""What the trainer and shardc-ckpt write can be used: the exported ONNX model in onnxruntime gives
the trainer's own eval loss, and its predictions."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from reference import BUILD, MODELS, Model, command, read_metrics, read_safetensors

VENV = os.path.join(BUILD, "venv-onnxruntime")


def onnxruntime_python():
    """A Python that has onnxruntime: this one, or a virtual environment that is made once; None
    where PyPI is out of reach."""
    if importlib.util.find_spec("onnxruntime"):
        return sys.executable
    python = os.path.join(VENV, "bin", "python")
    works = (
        lambda: subprocess.run([python, "-c", "import onnxruntime"], capture_output=True).returncode
        == 0
    )
    if os.path.exists(python) and works():
        return python
    try:
        subprocess.run(
            [sys.executable, "-m", "venv", VENV], check=True, capture_output=True, timeout=120
        )
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "onnxruntime==1.31.1"],
            check=True,
            capture_output=True,
            timeout=300,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return python if works() else None


RUN = """
import sys, json, numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
feeds = {i.name: np.load(sys.argv[2] + '/' + i.name + '.npy') for i in session.get_inputs()}
np.save(sys.argv[3], session.run(None, feeds)[0])
"""


def mean_cross_entropy(logits, labels, ignore, shift):
    logits = logits.astype(np.float64)
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    logits, labels = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    valid = labels != ignore
    logits, labels = logits[valid], labels[valid]
    top = logits.max(-1, keepdims=True)
    return float(
        (
            np.log(np.exp(logits - top).sum(-1))
            + top[:, 0]
            - logits[np.arange(len(labels)), labels]
        ).mean()
    )


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = onnxruntime_python()

    def check(self, name):
        if not self.python:
            self.skipTest("onnxruntime cannot be installed from PyPI here")
        model = Model(os.path.join(MODELS, name))
        with tempfile.TemporaryDirectory() as folder:
            path = lambda n: os.path.join(folder, n)
            model.compile(path("m.trainer"), 2, "float32")
            held = [
                w for n, p in model.data("data/eval").items() for w in ("--eval-data", f"{n}={p}")
            ]
            model.train(
                path("m.trainer"),
                *held,
                "--eval-every",
                "20",
                "--metrics",
                path("m.jsonl"),
                "--export-onnx",
                path("trained.onnx"),
                "--export-safetensors",
                path("trained.safetensors"),
                steps=20,
            )
            _, events = read_metrics(path("m.jsonl"))
            evaluated = [e["loss"] for e in events if e["event"] == "eval"]
            self.assertAlmostEqual(
                evaluated[0], model.reference["eval_loss_f64"]["start"], delta=1e-5 * evaluated[0]
            )
            subprocess.run(
                [
                    self.python,
                    "-c",
                    RUN,
                    path("trained.onnx"),
                    os.path.join(model.folder, "data", "eval"),
                    path("out.npy"),
                ],
                check=True,
            )
            out = np.load(path("out.npy"))
            loss = model.recipe["loss"]
            if loss == "graph output":
                expected = float(out)
            else:
                settings = loss["cross_entropy"]
                expected = mean_cross_entropy(
                    out,
                    np.load(model.data("data/eval")["labels"]),
                    settings["ignore_index"],
                    settings["shift"],
                )
            self.assertAlmostEqual(evaluated[-1], expected, delta=2e-6 * expected + 1e-6)
            names = set(
                read_safetensors(os.path.join(model.folder, model.reference["final_params"]))
            ) - set(model.reference["lost_parameters"])
            self.assertEqual(set(read_safetensors(path("trained.safetensors"))), names)

    def logits(self, onnx, folder, out):
        subprocess.run([self.python, "-c", RUN, onnx, folder, out], check=True)
        return np.load(out)

    def test_onnxruntime_gives_the_logits_of_a_checkpoint(self):
        if not self.python:
            self.skipTest("onnxruntime cannot be installed from PyPI here")
        model = Model(os.path.join(MODELS, "s2-llama-tiny-causal"))
        held = os.path.join(model.folder, "data", "eval")
        words = [w for n, p in model.data("data/eval").items() for w in ("--eval-data", f"{n}={p}")]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda n: os.path.join(folder, n)
            model.compile(path("m.trainer"), "2x2", "float32", "--output-values", "logits")
            words += ["--checkpoint-dir", path("c"), "--predict", path("predicted.npy")]
            model.train(path("m.trainer"), *words, steps=5)
            ckpt = [os.path.join(BUILD, "bin", "shardc-ckpt"), "export", path("c"), "--to", "onnx"]
            command(*ckpt, "--trainer", path("m.trainer"), "-o", path("trained.onnx"))
            got = self.logits(path("trained.onnx"), held, path("out.npy"))
            np.testing.assert_allclose(got, np.load(path("predicted.npy")), rtol=0, atol=2e-5)
            before = self.logits(model.onnx, held, path("out.npy"))
            self.assertGreater(np.abs(got - before).max(), 1e-2)


for _name in (
    "s2-llama-tiny-causal",
    "s2-llama-tiny-mask",
    "s4-bloom-tiny-legacy",
    "s4-bloom-tiny-dynamo",
    "gpt2-tiny",
    "s1-llama31-tiny",
    "s0-mlp-transformer-tiny-legacy-folded",
    "s0-mlp-transformer-tiny-dynamo",
    "mlp-tiny-loss",
):
    setattr(
        Export,
        "test_onnxruntime_agrees_on_" + _name.replace("-", "_"),
        lambda self, name=_name: self.check(name),
    )

if __name__ == "__main__":
    unittest.main()
