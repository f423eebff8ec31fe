"""bf16 and float16 after docs/precision.md, against PyTorch models written by hand
(precision/make_reference.py).

Step: the training step's IR, evaluated op by op on the host, has the reference's first loss and
gradients. Training: the trainer has its losses, for float16 the history of its loss scale, and its
float32 master weights after 50 steps.
"""
import json
import os
import tempfile
import unittest

import numpy as np

from parity import comparable
from reference import MODELS, Model, read_metrics, read_safetensors
from test_reference_step import evaluate

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "precision")
with open(os.path.join(FOLDER, "runs.json")) as _file:
    REFERENCE = json.load(_file)

# The reference sums in float32 in another order: now and then a value rounds to its other
# neighbour.
STEP_LOSS, STEP_GRADIENT = 5e-5, 1e-2
TRAINING_LOSS = 5e-3
# Of the tensor's largest value: root mean square over the tensor, and any one element. AdamW
# turns the rounding of a gradient next to nothing into whole steps, so single elements move
# further than the tensor.
MASTER, MASTER_ELEMENT = 1e-2, 5e-2


def fingerprint(gradient):
    flat = gradient.astype(np.float64).ravel()
    return np.linalg.norm(flat), flat @ np.cos(np.arange(len(flat)))


def true_gradients(model):
    return read_safetensors(os.path.join(model.folder, model.reference["grads_step0"]))


class Step(unittest.TestCase):
    def check(self, model, precision, want):
        loss, gradients = evaluate(model, precision)
        self.assertLess(abs(loss / want["losses"][0] - 1), STEP_LOSS)
        self.assertEqual(set(gradients), set(want["first_gradients"]))
        largest = max(norm for norm, _ in want["first_gradients"].values())
        for name, gradient in gradients.items():
            self.assertEqual(gradient.dtype, np.float32, name)
            norm, product = want["first_gradients"][name]
            got = fingerprint(gradient)
            # Where the true gradient is zero, only rounding is left.
            allowed = STEP_GRADIENT * norm + (
                0 if comparable(true_gradients(model))[name].any() else 1e-3 * largest
            )
            self.assertLess(abs(got[0] - norm), allowed, name)
            self.assertLess(abs(got[1] - product), allowed, name)


class Training(unittest.TestCase):
    def check(self, model, precision, mesh, want):
        flags = []
        if precision == "float16":
            flags = [
                "--loss-scale",
                "dynamic",
                "--loss-scale-initial",
                int(REFERENCE["initial_scale"]),
                "--loss-scale-window",
                REFERENCE["growth_interval"],
            ]
        with tempfile.TemporaryDirectory() as folder:
            trainer, metrics, final = (
                os.path.join(folder, f) for f in ("m.trainer", "m.jsonl", "f.safetensors")
            )
            model.compile(trainer, mesh, precision)
            model.train(
                trainer,
                "--metrics",
                metrics,
                "--export-safetensors",
                final,
                *flags,
                steps=REFERENCE["steps"],
            )
            steps, got = read_metrics(metrics)[0], read_safetensors(final)
        if precision == "float16":
            self.assertEqual([s["loss_scale"] for s in steps], want["scales"])
        losses = [s["loss"] for s in steps]
        self.assertLess(np.abs(np.subtract(losses, want["losses"])).max(), TRAINING_LOSS)
        mask = comparable(true_gradients(model))
        expected = np.load(os.path.join(FOLDER, f"{model.name}.{precision}.npz"))
        for name in expected.files:
            values = expected[name].astype(np.float32)
            self.assertEqual(got[name].dtype, np.float32, name)
            deviation = (got[name] - values) * mask[name] / np.abs(values).max()
            self.assertLess(np.sqrt(np.mean(deviation**2)), MASTER, name)
            self.assertLess(np.abs(deviation).max(), MASTER_ELEMENT, name)


def add(case, name, *arguments):
    setattr(case, "test_" + name.replace("-", "_"), lambda self: self.check(*arguments))


for _name, _runs in REFERENCE["runs"].items():
    _model = Model(os.path.join(MODELS, _name))
    for _precision, _want in _runs.items():
        add(Step, f"{_name}_{_precision}", _model, _precision, _want)
        for _mesh in (1, 2) + (("2x2",) if _name.startswith("s2") else ()):
            add(Training, f"{_name}_{_precision}_mesh_{_mesh}", _model, _precision, _mesh, _want)

if __name__ == "__main__":
    unittest.main()
