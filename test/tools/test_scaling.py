"""Graphs of n pieces, n calls, n nodes and depth n: work grows as the graph does, nothing is as
deep as the stack, limits say what they are.

What is counted is what the compiler makes (kernels, entries of the plan, lines of IR), not time;
./dev bench --scaling measures that."""
import json
import os
import re
import resource
import struct
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tool_test import ROOT, SHARDC, ToolTest, run

sys.path.insert(0, os.path.join(ROOT, "test", "bench"))
import make_scaling  # noqa: E402
import scaling  # noqa: E402

# What takes how long is part of it.
MEASURES = True
PIECES = (
    "pieces",
    "pieces-of-rows",
    "split-concat",
    "concat-mixed",
    "gathers",
    "slices",
    "cuts",
    "stack",
    "stack-chain",
    "growing-concat",
)
SMALL_STACK = ((resource.RLIMIT_STACK, 1 << 20),)


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(
            data[e["data_offsets"][0] : e["data_offsets"][1]],
            np.float64 if e["dtype"] == "F64" else np.float32,
        ).reshape(e["shape"])
        for name, e in header.items()
    }


class Graphs(ToolTest):
    def write(self, model, name="model.onnx"):
        with open(self.path(name), "wb") as file:
            file.write(model.SerializeToString())
        return self.path(name)

    def make(self, form, size):
        return self.write(make_scaling.FORMS[form](size), f"{form}-{size}.onnx")

    def compile(self, path, *flags, **how):
        output = (
            ()
            if any(str(flag).startswith("--compile-to") for flag in flags)
            else ("--quiet", "-o", self.path("trainer"))
        )
        return run(SHARDC, path, "--mesh", "1", "--loss", "output:loss", *output, *flags, **how)

    def text(self, path, phase, *flags):
        result = self.compile(path, f"--compile-to={phase}", *flags)
        self.assertEqual(result.code, 0, result.err)
        return result.out


class Width(Graphs):
    def test_pieces_make_no_more_kernels_and_as_many_entries(self):
        for form in PIECES:
            with self.subTest(form):
                once, twice = self.make(form, 64), self.make(form, 128)
                kernels = [
                    self.text(path, "kernels").split("module @kernels", 1)[1]
                    for path in (once, twice)
                ]
                self.assertLessEqual(
                    kernels[1].count("func.func"), kernels[0].count("func.func") + 2
                )
                self.assertLessEqual(
                    len(kernels[1].splitlines()), 1.2 * len(kernels[0].splitlines()) + 20
                )
                plans = [
                    len(re.findall(r"^ *(?:%\S+ = )?step\.", self.text(path, "plan"), re.M))
                    for path in (once, twice)
                ]
                self.assertLessEqual(plans[1], 2.1 * plans[0])

    def test_five_thousand_pieces_compile(self):
        result = self.compile(self.make("pieces", 5000), limits=SMALL_STACK)
        self.assertEqual(result.code, 0, result.err)

    def test_an_initial_gradient_of_many_slices_is_one_concat(self):
        text = self.text(self.make("cuts", 200), "train")
        train = text[text.index("func.func @train") :]
        train = train[: train.index("\n  }")]
        self.assertEqual(train.count("nn.pad"), 0)
        self.assertEqual(train.count("nn.concat"), 1)


class Depth(Graphs):
    """On a stack of 1 MiB."""

    def test_functions_and_chains(self):
        for form, size in (
            ("nested", 12000),
            ("chain", 20000),
            ("views", 20000),
            ("moved-chain", 3000),
            ("two-before", 3000),
            ("constants", 20000),
            ("ifs", 3000),
        ):
            with self.subTest(form):
                result = self.compile(
                    self.make(form, size), "--compile-to=plan", limits=SMALL_STACK
                )
                self.assertEqual(result.code, 0, result.err)

    def test_many_units_take_as_long_each_as_few(self):
        """Looked up by walking all others, 4,096 took 6.5 times as long as 2,048."""
        seconds = {
            size: min(scaling.compile_once("layers", size, self.folder)[0] for _ in range(2))
            for size in (2048, 4096)
        }
        self.assertLess(seconds[4096], 3.2 * seconds[2048], seconds)

    def test_narrow_floats_through_many_views(self):
        result = self.compile(
            self.make("views", 5000), "--precision", "bfloat16", limits=SMALL_STACK
        )
        self.assertEqual(result.code, 0, result.err)

    def test_branches_in_branches_through_functions(self):
        depth = 3000
        g = make_scaling.Graph()
        g.initializers.append(numpy_helper.from_array(np.array(True), "condition"))
        g.function("f0", ["a", "c"], ["b"], [helper.make_node("Tanh", ["a"], ["b"])])
        for i in range(depth):

            def branch(node):
                return helper.make_graph(
                    [node],
                    "branch",
                    [],
                    [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
                )

            taken = branch(
                helper.make_node(f"f{i}", ["a", "c"], ["inner"], domain=make_scaling.DOMAIN)
            )
            other = branch(helper.make_node("Identity", ["a"], ["inner"]))
            g.function(
                f"f{i + 1}",
                ["a", "c"],
                ["b"],
                [helper.make_node("If", ["c"], ["b"], then_branch=taken, else_branch=other)],
            )
        x = g.op("Mul", g.input("x", 2, 8), g.parameter("w", 8))
        path = self.write(g.model(g.call(f"f{depth}", x, "condition")))
        result = self.compile(path, "--compile-to=plan", limits=SMALL_STACK)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.text(path, "import").count("nn.tanh"), 1)

    def test_as_many_branches_in_branches_as_the_format_holds(self):
        self.assertEqual(self.compile(self.make("nested-if", 28)).code, 0)


class Limits(Graphs):
    def test_nodes_with_functions_inlined(self):
        self.assert_one_error(
            self.compile(self.make("doubling", 1 << 30)),
            "shardc",
            "the graph has 4294967298 nodes with its functions inlined",
            "the limit is 131072",
            "less often",
        )
        self.assert_one_error(
            self.compile(self.make("doubling", 1 << 80)),
            "shardc",
            "more than 2^63 nodes",
            "the limit is 131072",
        )

    def test_calls_of_functions_without_nodes(self):
        g = make_scaling.Graph()
        x = g.op("Mul", g.input("x", 2, 8), g.parameter("w", 8))
        g.function("f0", ["a"], [], [])
        for i in range(40):
            g.function(
                f"f{i + 1}",
                ["a"],
                [],
                [helper.make_node(f"f{i}", ["a"], [], domain=make_scaling.DOMAIN)] * 2,
            )
        g.nodes.append(helper.make_node("f40", [x], [], domain=make_scaling.DOMAIN))
        self.assert_one_error(
            self.compile(self.write(g.model(x))),
            "shardc",
            "nodes with its functions inlined",
            "the limit is 131072",
        )

    def test_recursion(self):
        for first, second in (("f", "f"), ("f", "g")):
            g = make_scaling.Graph()
            for name, callee in {(first, second), (second, first)}:
                g.function(
                    name,
                    ["a"],
                    ["b"],
                    [helper.make_node(callee, ["a"], ["b"], domain=make_scaling.DOMAIN)],
                )
            path = self.write(
                g.model(g.call("f", g.op("Mul", g.input("x", 2, 8), g.parameter("w", 8))))
            )
            self.assert_one_error(
                self.compile(path), "shardc", "calls itself; recursive functions are not supported"
            )

    def test_branches_in_branches(self):
        result = self.compile(self.make("nested-if", 60))
        self.assert_one_error(
            result,
            "shardc",
            "60 branches of nodes If lie in each other, the limit is 30",
            "into a function",
        )


class Numbers(Graphs):
    """A step of gradient descent by 1 in float64 moves parameters by their gradients, those of
    finite differences in numpy."""

    def step(self, path, values):
        result = self.compile(path, "--precision", "float64", "--optimizer", "sgd")
        self.assertEqual(result.code, 0, result.err)
        np.save(self.path("x.npy"), values)
        result = run(
            self.path("trainer"),
            "--data",
            f"x={self.path('x.npy')}",
            "--steps",
            1,
            "--lr",
            1,
            "--weight-decay",
            0,
            "--momentum",
            0,
            "--metrics",
            self.path("metrics"),
            "--export-safetensors",
            self.path("after"),
        )
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("metrics")) as file:
            loss = next(line["loss"] for line in map(json.loads, file) if "loss" in line)
        os.remove(self.path("metrics"))
        return loss, read_safetensors(self.path("after"))

    def check(self, model, rows, loss_of):
        parameters = {
            t.name: numpy_helper.to_array(t).astype(np.float64)
            for t in model.graph.initializer
            if t.data_type == TensorProto.FLOAT
        }
        x = np.random.default_rng(5).standard_normal((rows, 8)).astype(np.float32)
        loss, after = self.step(self.write(model), x)
        x = x.astype(np.float64)
        self.assertAlmostEqual(loss, loss_of(x, parameters), delta=1e-9 * abs(loss))
        for name, before in parameters.items():
            gradient = before - after[name]
            for index in list(np.ndindex(before.shape))[:: max(1, before.size // 12)]:
                high, low = ({**parameters, name: before.copy()} for _ in range(2))
                high[name][index] += 1e-6
                low[name][index] -= 1e-6
                expected = (loss_of(x, high) - loss_of(x, low)) / 2e-6
                self.assertAlmostEqual(
                    gradient[index], expected, delta=1e-5 * (abs(expected) + 1e-3)
                )

    def test_pieces(self):
        n = 24
        square = lambda y: np.mean(y * y)
        hidden = lambda x, p: np.tanh(x @ p["weight"])
        self.check(make_scaling.FORMS["pieces"](n), 2, lambda x, p: square(np.tanh(hidden(x, p))))
        self.check(
            make_scaling.FORMS["pieces-of-rows"](n), n, lambda x, p: square(np.tanh(hidden(x, p)))
        )
        self.check(
            make_scaling.FORMS["split-concat"](n),
            2,
            lambda x, p: square(hidden(x, p).reshape(2, n, 4)[:, ::-1]),
        )
        self.check(make_scaling.FORMS["gathers"](n), 2, lambda x, p: square(np.tanh(hidden(x, p))))
        self.check(
            make_scaling.FORMS["concat-mixed"](n),
            2,
            lambda x, p: square(np.concatenate([x @ p[f"p{i}.weight"] for i in range(n)], axis=1)),
        )
        self.check(
            make_scaling.FORMS["stack"](n),
            2,
            lambda x, p: square(np.stack([x * p[f"p{i}.weight"] for i in range(n)], axis=1)),
        )

    def test_slices_that_overlap(self):
        n = 12

        def loss(x, p):
            h = np.tanh(x @ p["weight"])
            cut = [h[:, i : i + n] for i in range(n)]
            return np.mean((cut[0] + sum(np.tanh(c) for c in cut[1:])) ** 2)

        self.check(make_scaling.FORMS["slices"](n), 2, loss)

    def test_slices_of_which_some_are_read(self):
        """Every other piece, twice and in another order: gaps are zeros."""
        n = 20
        g = make_scaling.Graph()
        parts = make_scaling.split(g, make_scaling.hidden(g, 3 * n), n)
        kept = [g.op("Tanh", parts[i]) for i in range(n - 1, 0, -2)]
        model = g.model(g.op("Concat", *kept, *kept[::-1], axis=1))

        def loss(x, p):
            h = np.tanh(np.tanh(x @ p["weight"])).reshape(2, n, 3)[:, n - 1 : 0 : -2]
            return np.mean(np.concatenate([h, h[:, ::-1]], axis=1) ** 2)

        self.check(model, 2, loss)


class Bench(Graphs):
    def test_every_form_is_measured_and_the_factor_is_of_what_grows(self):
        self.assertEqual(set(scaling.FIRST), set(make_scaling.FORMS))
        self.assertAlmostEqual(scaling.factor(0.5, 1.2, 0.1), 2.4)
        self.assertIsNone(scaling.factor(0.05, 1.2, 0.1))


if __name__ == "__main__":
    unittest.main()
