"""Losses inside the graph, by what docs/running.md says of them on a mesh: loss, gradients, a step
of SGD and an evaluation, in every precision, against numpy in float64.

The forms of losses are in loss_forms.py; each stands behind a linear layer.
"""
import json
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from loss_forms import FORMS, IGNORED, node
from reference import SHARDC, CommandFailed, command, read_metrics, read_safetensors

FEATURES, CLASSES, GLOBAL, SAMPLES = 3, 5, 12, 24
RATE = 0.05
BOUNDS = {"float64": 1e-9, "float32": 2e-5, "bf16": 4e-2, "float16": 5e-3}
MESHES = {"1": 1, "2": 2, "4": 4, "2x2": 4}


class Case:
    """A form's model and data, and numpy's numbers."""

    def __init__(self, folder, name, form):
        self.folder, self.name, self.form = folder, name, form
        random = np.random.default_rng(5)
        self.x = random.standard_normal((SAMPLES, *form.sequence, FEATURES)).astype(np.float32)
        self.y = random.integers(0, CLASSES, (SAMPLES, *form.sequence))
        if form.ignored:  # more at the beginning, where all of a rank's may be
            flat = self.y.reshape(-1)
            flat[1 :: form.ignored] = IGNORED
            flat[:2] = IGNORED
        if name == "computed-labels":  # of two samples one counts at least
            self.y = np.where(self.y == 1, 2, self.y)
            self.y[[0, 5, 6, 13]] = 1
        self.weight = (random.standard_normal((FEATURES, CLASSES)) / 2).astype(np.float32)
        self.bias = (random.standard_normal(CLASSES) / 4).astype(np.float32)
        self.onnx = os.path.join(folder, f"{name}.onnx")
        self.data = {}
        for key, values in (("x", self.x), ("y", self.y)):
            self.data[key] = os.path.join(folder, f"{name}.{key}.npy")
            np.save(self.data[key], values)
        self.write()

    def write(self):
        parameters = {"weight": self.weight, "bias": self.bias}
        if self.form.stored:
            parameters |= self.form.constants
        nodes = [
            *(
                node("Constant", [], name, value=numpy_helper.from_array(value))
                for name, value in self.form.constants.items()
                if name not in parameters
            ),
            node("MatMul", ["x", "weight"], "zw"),
            node("Add", ["zw", "bias"], "z"),
            *self.form.nodes,
        ]
        used = {name for each in self.form.nodes for name in each.input}
        inputs = [
            helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, ["batch", *self.form.sequence, FEATURES]
            )
        ]
        if "y" in used:
            inputs.append(
                helper.make_tensor_value_info(
                    "y", TensorProto.INT64, ["batch", *self.form.sequence]
                )
            )
        else:
            del self.data["y"]
        graph = helper.make_graph(
            nodes,
            "losses",
            inputs,
            [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
            [numpy_helper.from_array(v, n) for n, v in parameters.items()],
        )
        with open(self.onnx, "wb") as file:
            file.write(
                helper.make_model(
                    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
                ).SerializeToString()
            )

    def expected(self, samples, batch, weight, bias, whole=None):
        """Loss and gradients of weight and bias over the samples; where the form is not whole, the
        mean of what each `batch` of them gives."""
        x, y = self.x[samples].astype(np.float64), self.y[samples]
        count = len(x) // batch
        whole = self.form.whole is True if whole is None else whole
        parts = (
            [slice(None)] if whole else [slice(i * batch, (i + 1) * batch) for i in range(count)]
        )
        loss, slope = 0.0, np.zeros((len(x), *self.form.sequence, CLASSES))
        for part in parts:
            value, slope[part] = self.form.local(x[part] @ weight + bias, y[part])
            loss += value / len(parts)
        slope /= len(parts)
        flat = slope.reshape(-1, CLASSES)
        return loss, x.reshape(-1, FEATURES).T @ flat, flat.sum(0)

    def compile(self, mesh, precision, batch):
        trainer = os.path.join(self.folder, f"{self.name}-{mesh}-{precision}-{batch}.trainer")
        report = trainer + ".json"
        said = command(
            SHARDC,
            self.onnx,
            "-o",
            trainer,
            "--mesh",
            mesh,
            "--precision",
            precision,
            "--dim",
            f"batch={batch}",
            "--optimizer",
            "sgd",
            "--report",
            report,
        )
        with open(report) as file:
            return trainer, json.load(file), said

    def run(self, trainer, *flags, held=SAMPLES):
        out = {key: f"{trainer}.{key}" for key in ("g", "p", "m")}
        words = []
        for name, path in self.data.items():
            np.save(path + ".held.npy", np.load(path)[:held])
            words += ["--data", f"{name}={path}", "--eval-data", f"{name}={path}.held.npy"]
        if os.path.exists(out["m"]):
            os.remove(out["m"])
        said = command(
            trainer,
            *words,
            "--steps",
            1,
            "--lr",
            RATE,
            "--export-gradients",
            out["g"],
            "--export-safetensors",
            out["p"],
            "--metrics",
            out["m"],
            *flags,
        )
        steps, events = read_metrics(out["m"])
        (held,) = [event["loss"] for event in events if event["event"] == "eval"]
        return (
            steps[0]["loss"],
            held,
            read_safetensors(out["g"]),
            read_safetensors(out["p"]),
            said.stdout,
        )


class Losses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cases = {name: Case(folder.name, name, form) for name, form in FORMS.items()}

    def assert_close(self, got, want, bound, scale=None):
        scale = np.abs(want).max() if scale is None else scale
        np.testing.assert_array_less(
            np.abs(np.asarray(got, np.float64) - want), bound * scale + 1e-300, f"{got}\n{want}"
        )

    def check(self, case, mesh, micro_batches, precision, *flags, whole=None):
        batch = part = GLOBAL // MESHES[mesh] // micro_batches
        if case.form.whole == "micro-batches":
            part *= MESHES[mesh]
        trainer, report, said = case.compile(mesh, precision, batch)
        loss, held, gradients, parameters, printed = case.run(
            trainer, "--grad-accumulation", micro_batches, *flags
        )
        bound = BOUNDS[precision]
        want, weight, bias = case.expected(
            slice(0, GLOBAL), part, case.weight.astype(np.float64), case.bias, whole
        )
        self.assert_close(loss, want, bound)
        self.assert_close(gradients["weight"], weight, bound)
        self.assert_close(gradients["bias"], bias, bound)
        # SGD with these gradients; float16's first steps may be skipped, none of these is.
        self.assert_close(parameters["weight"], case.weight - RATE * weight, bound)
        after, _, _ = case.expected(
            slice(None), part, case.weight - RATE * weight, case.bias - RATE * bias
        )
        self.assert_close(held, after, 2 * bound)
        return report, said, printed

    def test_every_form_on_every_mesh(self):
        for name, case in self.cases.items():
            runs = (
                [(mesh, count) for mesh in MESHES for count in (1, 3)]
                if case.form.whole is True
                else [("1", 3), ("4", 1), ("2x2", 3)]
            )
            for mesh, micro_batches in runs:
                if name == "computed-labels" and GLOBAL // MESHES[mesh] // micro_batches == 1:
                    continue  # the mean of one that is ignored is not a number, as in PyTorch
                with self.subTest(loss=name, mesh=mesh, micro_batches=micro_batches):
                    report, said, printed = self.check(case, mesh, micro_batches, "float64")
                    form = case.form
                    self.assertEqual(report["loss"]["reduction"], form.reduction)
                    self.assertIn("loss: " + form.says.format(form.reduction) + "\n", said.stdout)
                    self.assertIn("loss: " + form.says.format(form.reduction) + "\n", printed)
                    self.assertEqual(
                        "labels of the cross entropy are computed" in said.stderr,
                        name == "computed-labels",
                        said.stderr,
                    )

    def test_every_precision(self):
        for name in (
            *("mean-ignored", "sum", "weighted-sum", "computed-labels", "mean-and-squares"),
            "smoothed-mean",
        ):
            for precision in ("float32", "bf16", "float16"):
                for mesh, micro_batches in (("1", 1), ("2", 3), ("4", 3), ("2x2", 1)):
                    if name == "computed-labels" and GLOBAL // MESHES[mesh] // micro_batches == 1:
                        continue
                    with self.subTest(
                        loss=name, mesh=mesh, micro_batches=micro_batches, precision=precision
                    ):
                        # 65536 times a gradient of 2 is more than float16 holds: such a
                        # step would be skipped.
                        flags = (
                            ("--loss-scale", 1024)
                            if (name, precision) == ("weighted-sum", "float16")
                            else ()
                        )
                        self.check(self.cases[name], mesh, micro_batches, precision, *flags)

    def test_evaluations_need_no_whole_batches(self):
        for name in (
            "mean",
            "mean-ignored",
            "sum",
            "sum-ignored",
            "half-of-a-sum",
            "weighted-mean",
        ):
            for mesh in ("1", "4"):
                with self.subTest(loss=name, mesh=mesh):
                    case, batch = self.cases[name], GLOBAL // MESHES[mesh]
                    _, held, gradients, _, _ = case.run(
                        case.compile(mesh, "float64", batch)[0], held=SAMPLES - 5
                    )
                    after, _, _ = case.expected(
                        slice(0, SAMPLES - 5),
                        batch,
                        case.weight - RATE * gradients["weight"],
                        case.bias - RATE * gradients["bias"],
                    )
                    self.assert_close(held, after, 1e-9)

    def test_loss_norm_rank_averages_what_each_rank_computes(self):
        for name in ("mean", "sum", "half-of-a-sum", "likelihood-sum", "weighted-mean", "squares"):
            for mesh, micro_batches in (("1", 3), ("4", 1), ("2x2", 3)):
                with self.subTest(loss=name, mesh=mesh, micro_batches=micro_batches):
                    self.check(
                        self.cases[name],
                        mesh,
                        micro_batches,
                        "float64",
                        "--loss-norm",
                        "rank",
                        whole=False,
                    )


class NotFinite(unittest.TestCase):
    """Loss: mean square of a linear layer, and the mean of an input that no gradient reaches. The
    second step has an infinity in one of
    the samples of one rank: in the gradients, or in the loss alone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        random = np.random.default_rng(8)
        self.x = random.standard_normal((24, FEATURES)).astype(np.float32)
        self.offset = np.zeros((24, 1), np.float32)
        weight = random.standard_normal((FEATURES, CLASSES)).astype(np.float32)
        nodes = [
            node("MatMul", ["x", "weight"], "z"),
            node("Mul", ["z", "z"], "q"),
            node("ReduceMean", ["q"], "m", keepdims=0),
            node("ReduceMean", ["offset"], "o", keepdims=0),
            node("Add", ["m", "o"], "loss"),
        ]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
            for name, size in (("x", FEATURES), ("offset", 1))
        ]
        graph = helper.make_graph(
            nodes,
            "finite",
            inputs,
            [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
            [numpy_helper.from_array(weight, "weight")],
        )
        with open(self.path("m.onnx"), "wb") as file:
            file.write(
                helper.make_model(
                    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
                ).SerializeToString()
            )

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_steps(self, steps, *flags):
        """Parameters after them, and what was printed."""
        for name in ("x", "offset"):
            np.save(self.path(name + ".npy"), getattr(self, name))
        words = [
            word
            for name in ("x", "offset")
            for word in ("--data", f"{name}={self.path(name + '.npy')}")
        ]
        said = command(
            self.path("m.trainer"),
            *words,
            "--lr",
            0.1,
            "--steps",
            steps,
            "--export-safetensors",
            self.path("p.safetensors"),
            *flags,
        )
        return read_safetensors(self.path("p.safetensors"))["weight"].tobytes(), said.stdout

    def test_such_a_step_writes_nothing(self):
        for mesh, strategy in (
            ("1", "full"),
            ("4", "full"),
            ("4", "grad_op"),
            ("4", "opt"),
            ("4", "none"),
            ("2x2", "hybrid"),
            ("2x2", "hybrid_opt"),
        ):
            for optimizer in ("sgd", "adam", "adamw", "lion", "amsgrad", "adagrad"):
                batch = 8 // MESHES[mesh]
                command(
                    SHARDC,
                    self.path("m.onnx"),
                    "-o",
                    self.path("m.trainer"),
                    "--mesh",
                    mesh,
                    "--strategy",
                    strategy,
                    "--optimizer",
                    optimizer,
                    "--dim",
                    f"batch={batch}",
                )
                self.x[13, 1], self.offset[13] = 1, 0
                one, _ = self.run_steps(1)
                three, _ = self.run_steps(3)
                for poisoned, what in ((self.offset, "loss"), (self.x, "gradients")):
                    with self.subTest(mesh=mesh, strategy=strategy, optimizer=optimizer, what=what):
                        good = poisoned[13].copy()
                        # The square of 1e30 float32 does not hold.
                        poisoned[13] = np.inf if what == "loss" else 1e30
                        two, said = self.run_steps(2, "--loss-scale", 4)
                        self.assertEqual(two, one)
                        self.assertIn(
                            f"step 2/2: {what} not finite, step skipped, loss scale stays 4\n", said
                        )
                        after, _ = self.run_steps(3, "--loss-scale", 4)
                        self.assertNotEqual(after, one)
                        self.assertNotEqual(after, three)
                        os.remove(self.path("p.safetensors"))
                        with self.assertRaisesRegex(
                            CommandFailed,
                            "of step 1 .counting from 0. is .*inf.*; nothing was exported",
                        ):
                            self.run_steps(2)
                        self.assertFalse(os.path.exists(self.path("p.safetensors")))
                        poisoned[13] = good


if __name__ == "__main__":
    unittest.main()
