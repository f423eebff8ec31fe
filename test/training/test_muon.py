"""`--optimizer muon` against its formula in numpy (muon_formula.py), which torch.optim.Muon's
recorded numbers check, on meshes and with strategies that cut matrices in different ways: equal to
1e-9, and of equal bits wherever gradients have equal bits."""
import json
import os
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from emulated_cuda import emulated
from muon_formula import AdamW, Muon
from reference import SHARDC, CommandFailed, command, read_safetensors

FEATURES, GLOBAL, STEPS, RATE, DECAY = 6, 8, 5, 0.02, 0.1
# [in, out]: wide ones and tall ones, and as many of some shapes as divide no mesh.
LAYERS = [(6, 8), (8, 8), (8, 8), (8, 8), (8, 3), (3, 8), (8, 3), (3, 12)]
HEAD = (12, 4)
MESHES = (
    ("1", "full"),
    ("2", "full"),
    ("2", "grad_op"),
    ("2", "opt"),
    ("2", "none"),
    ("4", "full"),
    ("4", "grad_op"),
    ("4", "opt"),
    ("4", "none"),
    ("2x2", "full"),
    ("2x2", "hybrid"),
    ("2x2", "hybrid_opt"),
)


class Net:
    """tanh of products, with biases; the loss is the mean of the head's outputs."""

    def __init__(self, values):
        self.values = {name: value.copy() for name, value in values.items()}

    @staticmethod
    def initial():
        random = np.random.default_rng(7)
        values = {}
        for i, shape in enumerate(LAYERS):
            values[f"w{i}"] = random.standard_normal(shape) / np.sqrt(shape[0])
            values[f"b{i}"] = random.standard_normal(shape[1]) / 10
        values["head"] = random.standard_normal(HEAD)
        return values

    def gradients(self, x):
        inputs, v = [x], self.values
        for i in range(len(LAYERS)):
            inputs.append(np.tanh(inputs[-1] @ v[f"w{i}"] + v[f"b{i}"]))
        out = inputs[-1] @ v["head"]
        dy = np.full(out.shape, 1 / out.size)
        found = {"head": inputs[-1].T @ dy}
        dy = dy @ v["head"].T
        for i in reversed(range(len(LAYERS))):
            dy = dy * (1 - inputs[i + 1] ** 2)
            found[f"w{i}"], found[f"b{i}"] = inputs[i].T @ dy, dy.sum(0)
            dy = dy @ v[f"w{i}"].T
        return found, out.mean()

    def onnx(self):
        nodes, last = [], "x"
        for i in range(len(LAYERS)):
            nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
            nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]))
            nodes.append(helper.make_node("Tanh", [f"a{i}"], [f"h{i}"]))
            last = f"h{i}"
        nodes.append(helper.make_node("MatMul", [last, "head"], ["out"]))
        nodes.append(helper.make_node("ReduceMean", ["out"], ["loss"], keepdims=0))
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", FEATURES])],
            [helper.make_tensor_value_info("loss", TensorProto.DOUBLE, [])],
            [numpy_helper.from_array(value, name) for name, value in self.values.items()],
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()


def expected(x, make, steps=STEPS, clip=None):
    """The parameters after so many steps."""
    net = Net(Net.initial())
    formulas = {name: make(name) for name in net.values}
    for rows in np.split(x, len(x) // GLOBAL)[:steps]:
        gradients, _ = net.gradients(rows)
        if clip:
            norm = np.sqrt(sum((g * g).sum() for g in gradients.values()))
            gradients = {n: g * min(1, clip / (norm + 1e-6)) for n, g in gradients.items()}
        for name, g in gradients.items():
            net.values[name] = formulas[name].step(net.values[name], g, RATE, DECAY)
    return net.values


def usual(name, **options):
    return Muon(**options) if name.startswith("w") else AdamW()


class MuonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        self.x = np.random.default_rng(9).standard_normal((GLOBAL * STEPS, FEATURES))
        np.save(self.path("x.npy"), self.x)
        with open(self.path("m.onnx"), "wb") as file:
            file.write(Net(Net.initial()).onnx())

    def compile(self, mesh, strategy, *flags, precision="float64", micro=1, optimizer="muon"):
        ranks = int(np.prod([int(size) for size in mesh.split("x")]))
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
            "--units",
            "size:1kB",
            "--precision",
            precision,
            "--dim",
            f"batch={GLOBAL // ranks // micro}",
            *flags,
        )

    def train(self, *flags, steps=STEPS):
        command(
            self.path("m.trainer"),
            "--data",
            f"x={self.path('x.npy')}",
            "--lr",
            RATE,
            "--weight-decay",
            DECAY,
            "--steps",
            steps,
            "--export-safetensors",
            self.path("p.safetensors"),
            *flags,
        )
        return read_safetensors(self.path("p.safetensors"))

    def agrees(self, got, want):
        self.assertEqual(set(got), set(want))
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, rtol=1e-9, atol=1e-10, err_msg=name)

    def equal(self, got, want):
        for name, value in want.items():
            np.testing.assert_array_equal(got[name], value, err_msg=name)

    def test_the_formula_is_that_of_torch(self):
        path = os.path.join(os.path.dirname(__file__), "muon", "numbers.json")
        with open(path, encoding="utf-8") as file:
            numbers = json.load(file)
        for case in numbers["cases"]:
            formula, value = Muon(**case["options"]), np.array(case["begin"])
            for gradient in case["gradients"]:
                value = formula.step(value, np.array(gradient), numbers["rate"], numbers["decay"])
            np.testing.assert_allclose(value, case["end"], rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(formula.buffer, case["momentum_buffer"], rtol=1e-12)

    def test_every_mesh_and_strategy_follows_the_formula_in_equal_bits(self):
        want, alone = expected(self.x, usual), {}
        for mesh, strategy in MESHES:
            with self.subTest(mesh=mesh, strategy=strategy):
                # As many parts of a step everywhere, whose gradients are one sum in their
                # order; hybrid strategies bracket it otherwise.
                micro = 4 // int(np.prod([int(size) for size in mesh.split("x")]))
                self.compile(mesh, strategy, "--accumulate", "sharded", micro=micro)
                got = self.train("--grad-accumulation", micro)
                self.agrees(got, want)
                kind = "hybrid" if strategy.startswith("hybrid") else "others"
                self.equal(got, alone.setdefault(kind, got))

    def test_gpus_follow_the_formula_in_equal_bits(self):
        np.save(self.path("x.npy"), self.x.astype(np.float32))
        want, alone = expected(self.x.astype(np.float32).astype(np.float64), usual), None
        for mesh, strategy in (("1", "full"), ("2", "full"), ("4", "opt"), ("2x2", "hybrid_opt")):
            with self.subTest(mesh=mesh, strategy=strategy), emulated():
                micro = 4 // int(np.prod([int(size) for size in mesh.split("x")]))
                flags = ("--accumulate", "sharded", "--target", "cuda")
                self.compile(mesh, strategy, *flags, precision="float32", micro=micro)
                got = self.train("--grad-accumulation", micro)
                for name, value in want.items():
                    np.testing.assert_allclose(got[name], value, rtol=2e-4, atol=2e-5)
                if not strategy.startswith("hybrid"):
                    alone = alone or got
                    self.equal(got, alone)

    def test_flags_change_the_formula_as_they_say(self):
        options = {"momentum": 0.8, "nesterov": False, "ns_steps": 3}
        options["adjust_lr_fn"] = "match_rms_adamw"
        want = expected(self.x, lambda name: usual(name, **options) if name[0] == "w" else AdamW())
        self.compile("2", "full", "--newton-schulz-steps", 3)
        flags = ("--momentum", 0.8, "--no-nesterov", "--adjust-lr", "match_rms_adamw")
        self.agrees(self.train(*flags), want)

    def test_matrices_are_named_at_will(self):
        want = expected(self.x, lambda n: Muon() if n in ("w1", "w4", "head") else AdamW())
        self.compile("2", "full", "--muon", "^w[14]$", "--muon", "head")
        self.agrees(self.train(), want)

    def test_clipping_and_micro_batches(self):
        want = expected(self.x, usual, clip=0.05)
        self.compile("2", "full", micro=2)
        self.agrees(self.train("--clip", 0.05, "--grad-accumulation", 2), want)

    def test_threads_do_not_change_bits(self):
        self.compile("2", "full", "--threads-per-rank", 2)
        one = self.train("--threads", 1)
        self.equal(self.train("--threads", 2), one)

    def test_a_run_goes_on_elsewhere_in_equal_bits(self):
        self.compile("4", "full")
        whole = self.train()
        self.train("--checkpoint-dir", self.path("c"), steps=3)
        # Two ranks and two micro-batches add up as four ranks do.
        self.compile("2", "opt", micro=2)
        flags = ("--resume", "auto", "--grad-accumulation", 2)
        got = self.train("--checkpoint-dir", self.path("c"), *flags)
        self.equal(got, whole)
        names = set()
        for folder, _, files in os.walk(self.path("c")):
            for name in files:
                if name.endswith(".safetensors"):
                    names |= set(read_safetensors(os.path.join(folder, name)))
        self.assertIn("state.w1.momentum_buffer", names)
        self.assertNotIn("state.w1.exp_avg", names)
        self.assertIn("state.head.exp_avg_sq", names)

    def test_processes_have_the_bits_of_threads(self):
        self.compile("4", "full")
        threads = self.train()
        self.equal(self.train("--nproc-per-node", 2), threads)

    def test_matrices_keep_one_state(self):
        self.compile("1", "full", "--report", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            units = json.load(file)["units"]
        values = Net.initial()
        states = {name: 1 if name[0] == "w" else 2 for name in values}
        total = sum(states[name] * value.size for name, value in values.items()) * 8
        padding = 2 * sum(unit["padding"] for unit in units) * 8
        kept = sum(unit["per_rank"]["optimizer"] for unit in units)
        self.assertGreaterEqual(kept, total)
        self.assertLessEqual(kept, total + padding)

    def test_16_bits_have_masters_that_move(self):
        for master in ("float32", "split"):
            self.compile("2", "full", "--master", master, precision="bf16")
            got = self.train()
            moved = [np.abs(got[n] - v).max() for n, v in Net.initial().items() if n[0] == "w"]
            self.assertGreater(min(moved), RATE / 4)
            self.equal(self.train(), got)

    def test_a_skipped_step_changes_nothing(self):
        self.compile("2", "full", precision="float16")
        flags = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**60)
        got = self.train("--checkpoint-dir", self.path("c"), *flags, steps=1)
        for name, value in Net.initial().items():
            np.testing.assert_array_equal(got[name], value.astype(np.float32), err_msg=name)
        states = {}
        for folder, _, files in os.walk(self.path("c")):
            for name in files:
                if name.endswith(".safetensors"):
                    states |= read_safetensors(os.path.join(folder, name))
        self.assertEqual(np.abs(states["state.w1.momentum_buffer"]).max(), 0)
        # What is skipped leaves nothing behind for the next step either.
        moved = self.train("--loss-scale", 1, steps=1)
        self.assertGreater(np.abs(moved["w1"] - got["w1"]).max(), RATE / 4)

    def test_what_cannot_be_is_one_line(self):
        with self.assertRaisesRegex(CommandFailed, "--muon z: is found in the name of no"):
            self.compile("1", "full", "--muon", "z")
        with self.assertRaisesRegex(CommandFailed, "--muon has no effect without"):
            self.compile("1", "full", "--muon", "w", optimizer="adamw")
        self.compile("1", "full", optimizer="sgd")
        with self.assertRaisesRegex(CommandFailed, "--adjust-lr.*it is muon's"):
            self.train("--adjust-lr", "original")


if __name__ == "__main__":
    unittest.main()
