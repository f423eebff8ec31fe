#!/usr/bin/env python3
"""Every bad model is refused with one line that says where and what to do: without a crash,
within 2 s and 1 GB.

    bad_inputs_test.py SHARDC_OPT
"""
import os
import random
import resource
import subprocess
import sys
import tempfile
import unittest

from bad_loops import BadLoops
from bad_quantization import BadQuantization
from bad_signals import BadSignals
from onnx_writer import *
from single_node import WEIGHT, X, Y, single

SHARDC_OPT = ""
SECONDS, BYTES = 2.0, 1 << 30


class BadInputs(BadLoops, BadQuantization, BadSignals, unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "model.onnx")

    def tearDown(self):
        self.folder.cleanup()

    def run_import(self, content, dims="dims=batch=2", path=None):
        if content is not None:
            with open(self.path, "wb") as file:
                file.write(content)
        limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.run(
            [SHARDC_OPT, f"--onnx-import=path={path or self.path} {dims}"],
            input=b"module {}",
            capture_output=True,
            preexec_fn=limit,
            timeout=60,
        )
        # What the process took, however busy the machine is.
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, SECONDS
        )
        return (
            process.returncode,
            process.stderr.decode(errors="replace"),
            process.stdout.decode(errors="replace"),
        )

    def refused(self, content, *expected, **options):
        code, errors, _ = self.run_import(content, **options)
        self.assertEqual(code, 1, errors[-2000:])
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        for text in expected:
            self.assertRegex(errors, text)

    def accepted(self, content, *expected, **options):
        code, errors, module = self.run_import(content, **options)
        self.assertEqual(code, 0, errors)
        for text in expected:
            self.assertRegex(module, text)

    def test_the_good_model_that_the_bad_ones_differ_from(self):
        self.accepted(single(node("MatMul", ["x", "w"], ["y"]), WEIGHT), r"nn\.linear")

    # Files

    def test_truncated_files(self):
        good = single(node("MatMul", ["x", "w"], ["y"]), WEIGHT)
        for length in (0, 1, 10, len(good) // 2, len(good) - 1):
            self.refused(
                good[:length],
                "model.onnx' is not an ONNX model: (the file is empty|it is truncated)",
            )

    def test_a_file_that_is_something_else(self):
        self.refused(b"#!/bin/sh\necho hello\n" * 50, "is not an ONNX model")
        self.refused(os.urandom(4096), "is not an ONNX model")
        self.refused(None, "cannot read", path=self.folder.name + "/missing.onnx")
        self.refused(None, "cannot read", path=self.folder.name)

    def test_versions_outside_of_the_supported_ones(self):
        relu = node("Relu", ["x"], ["y"])
        self.refused(
            single(relu, version=6), "opset 6 is not supported; supported are opsets 7 to 28"
        )
        self.refused(single(relu, version=29), "opset 29 is not supported")
        self.refused(single(relu, ir=15), "IR version 15")

    # Operators and types

    def test_unsupported_operators(self):
        self.refused(
            single(node("NonMaxSuppression", ["x", "w"], ["y"], name="stem/conv"), WEIGHT),
            (
                r"node 'stem/conv' \(NonMaxSuppression, opset 20\): the operator is not supported;"
                r" shardc --list-ops prints all$"
            ),
        )
        # The nearest names: misspelled, at most three, or begun alike.
        self.refused(
            single(node("Sinn", ["x"], ["y"], name="s")),
            r"not supported; the nearest that are: Sign, Sin, Sinh; shardc --list-ops prints all$",
        )
        self.refused(
            single(node("gelu", ["x"], ["y"], name="g")),
            r"not supported; the nearest that is: Gelu; shardc --list-ops",
        )
        self.refused(
            single(node("LayerNorm", ["x"], ["y"], name="g")),
            r"the nearest that is: LayerNormalization; shardc --list-ops",
        )
        # One that later opsets define.
        self.refused(
            single(node("Gelu", ["x"], ["y"], name="g"), version=18),
            (
                r"node 'g' \(Gelu, opset 18\): the operator is supported from opset 20 on; export"
                r" the model with that opset or a later one"
            ),
        )
        self.refused(
            single(node("Swish", ["x"], ["y"]), version=23), r"node 'swish' \(Swish, opset 23\)"
        )
        # What opset 28 takes.
        self.refused(
            single(node("Mod", ["x", "x"], ["y"]), version=27),
            r"\(Mod, opset 27\): expects fmod = 1 for floats before opset 28",
        )
        self.accepted(single(node("Mod", ["x", "x"], ["y"]), version=28), r"nn\.mod")
        self.refused(
            single(node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft"), WEIGHT),
            "opset_import lacks the domain 'com.microsoft'",
        )
        self.refused(
            single(node("FusedMatMul", ["x", "w"], ["y"], domain="com.example"), WEIGHT),
            (
                r"domain 'com.example' are not supported; supported are the default domain,"
                r" ai.onnx.preview.training, com.microsoft and the model's own functions"
            ),
        )
        self.refused(single(node("Loop", ["", "", "x"], ["y"])), "Loop, opset 20")

    def test_unsupported_types(self):
        self.refused(
            single(
                node("Relu", ["x"], ["y"]),
                inputs=[value("x", STRING, [2])],
                outputs=[value("y", STRING, [2])],
            ),
            "input 'x' has data type string",
            dims="",
        )
        self.refused(
            single(node("Cast", ["x"], ["y"], to=14)), "cast to complex64 is not supported"
        )
        self.refused(
            single(node("Add", ["x", "w"], ["y"]), tensor("w", 17, [4], raw=b"\0" * 4)),
            "float8e4m3fn",
        )

    def test_attributes_and_outputs_of_other_types(self):
        for attribute, is_of in (("foo", "STRING"), (0.5, "FLOAT"), ([1], "INTS")):
            self.refused(
                single(node("Softmax", ["x"], ["y"], axis=attribute)),
                r"node 'softmax' \(Softmax, opset 20\): its attribute 'axis' is of type "
                + f"{is_of}, expected INT",
            )
        self.refused(
            single(node("Relu", ["x"], ["y"]), outputs=[value("y", INT64, [2, 4])]),
            "output 'y' is declared as int64, the graph computes float",
        )

    def test_wrong_number_of_inputs(self):
        self.refused(single(node("Add", ["x"], ["y"])), "node 'add' .* expects 2 inputs, got 1")
        self.refused(single(node("Add", ["w"], ["y"]), WEIGHT), "expects 2 inputs, got 1")
        self.refused(single(node("Relu", ["x", "x"], ["y"])), "expects 1 inputs, got 2")
        self.refused(single(node("Concat", [], ["y"], axis=0)), "expects 1 or more inputs, got 0")

    def test_operands_that_do_not_fit(self):
        self.refused(
            single(node("Add", ["x", "w"], ["y"]), floats("w", [3], [1] * 3)),
            r"shapes \[2, 4\] and \[3\] do not broadcast",
        )
        self.refused(
            single(node("MatMul", ["x", "w"], ["y"]), floats("w", [3, 4], [1] * 12)),
            r"cannot multiply \[2, 4\] by \[3, 4\]",
        )
        self.refused(
            single(node("Add", ["x", "w"], ["y"]), ints("w", [1, 2, 3, 4])),
            "expects the data type of input 1 to be float, got int64",
        )
        self.refused(
            single(node("Reshape", ["x", "w"], ["y"]), ints("w", [3, 3])),
            r"cannot reshape \[2, 4\] to \[3, 3\]",
        )
        self.refused(
            single(node("Softmax", ["x"], ["y"], axis=5)), "axis 5 is out of range for rank 2"
        )
        self.refused(
            single(node("Gather", ["x", "w"], ["y"]), ints("w", [7])), "index 7 is out of range"
        )

    def test_shapes_that_depend_on_data(self):
        shape = value("s", INT64, [2])
        self.refused(
            single(node("Reshape", ["x", "s"], ["y"]), inputs=[X, shape]),
            "depends on data of the run",
        )

    # Dims

    def test_dims(self):
        good = single(node("Relu", ["x"], ["y"]))
        self.refused(
            good, r"dim 'batch' \(axis 0 of input 'x'\) has no size; pass --dim batch=N", dims=""
        )
        self.refused(good, "pass --dim batch=N; --dim batc=2 names none", dims="dims=batc=2")
        self.refused(
            good,
            "no input has a dim of this name; the model's dims are batch",
            dims="dims=batch=2,sequence=4",
        )
        self.refused(good, "the model fixes this dim to 4", dims="dims=batch=2,x.1=8")
        self.refused(good, "expects a positive number", dims="dims=batch=0")
        self.refused(good, "expects a positive number", dims="dims=batch=-5")
        self.refused(good, r"more than 2\^31 elements", dims="dims=batch=9000000000000000000")
        two = model(
            graph([node("Add", ["x", "z"], ["y"])], [X, value("z", FLOAT, ["other", 4])], [Y])
        )
        self.refused(
            two,
            r"node 'add' \(Add, opset 20\): shapes \[2, 4\] and \[3, 4\] do not broadcast .* --dim",
            dims="dims=batch=2,other=3",
        )
        self.refused(two, "dim 'batch'.*dim 'other'", dims="")
        unnamed = single(node("Relu", ["x"], ["y"]), inputs=[value("x", FLOAT, [None, 4])])
        self.refused(unnamed, "dim 'x.0' .*--dim x.0=N", dims="")
        self.accepted(unnamed, "tensor<3x4xf32>", dims="dims=x.0=3")

    def test_an_output_of_another_shape(self):
        self.refused(
            single(node("Relu", ["x"], ["y"]), outputs=[value("y", FLOAT, [2, 5])]),
            "dim 1 of output 'y' is declared as 5",
        )
        self.refused(
            single(node("Relu", ["x"], ["y"]), outputs=[value("z", FLOAT, [2, 5])]),
            "no node computes the output 'z'",
        )

    # Stored data

    def test_data_that_disagrees_with_its_shape(self):
        add = node("Add", ["x", "w"], ["y"])
        self.refused(
            single(add, tensor("w", FLOAT, [4], raw=b"\0" * 12)),
            "initializer 'w': has 12 bytes of data, its shape 4 of float needs 16",
        )
        self.refused(single(add, tensor("w", FLOAT, [4], floats=[1, 2])), "needs 16")
        self.refused(single(add, tensor("w", INT64, [4], ints=[1, 2])), "has 2 elements of data")
        self.refused(single(add, tensor("w", FLOAT, [4])), "initializer 'w'")
        self.refused(single(add, tensor("w", FLOAT, [-4], raw=b"")), "negative dim -4")
        self.refused(
            single(add, tensor("w", FLOAT, [1 << 40, 1 << 40], raw=b"")),
            r"more than 2\^31 elements",
        )
        self.refused(single(add, tensor("w", FLOAT, [1 << 30], raw=b"")), "needs 4294967296")
        constant = node("Constant", [], ["w"], value=tensor("", FLOAT, [1 << 30], raw=b"1234"))
        all = graph([constant, add], [X], [Y])
        self.refused(model(all), "constant 'w': has 4 bytes of data")
        self.refused(model(all, producer="pytorch"), "node 'constant' .* has 4 bytes of data")

    def external(self, *expected, location="weights.bin", size=64, good=False, **range_of):
        if size is not None:
            with open(os.path.join(self.folder.name, "weights.bin"), "wb") as file:
                file.write(b"\0" * size)
        data = tensor("w", FLOAT, [4, 4], external={"location": location, **range_of})
        content = single(node("MatMul", ["x", "w"], ["y"]), data)
        (self.accepted if good else self.refused)(content, *expected)

    def test_external_data(self):
        self.external('file = "weights.bin".*length = 64', good=True)
        self.external(
            "initializer 'w': external data file 'other.bin' does not exist; .*--init random",
            location="other.bin",
        )
        self.external("'weights.bin' has 60 bytes, expects 64 at offset 0", size=60)
        self.external("expects 64 at offset 16", offset=16, length=64)
        self.external("external data has length 32, its shape 4x4 of float needs 64", length=32)
        self.external("expects a number of bytes", offset=-1)
        self.external("expects a number of bytes", offset="x")
        self.external("has .* bytes, expects", offset=(1 << 63) - 1)

    def test_external_data_outside_of_the_folder(self):
        outside = tempfile.NamedTemporaryFile()
        outside.write(b"\0" * 64)
        outside.flush()
        self.external("lies outside of the model's folder", location=outside.name)
        self.external(
            "lies outside of the model's folder", location="../" + os.path.basename(outside.name)
        )
        self.external("lies outside of the model's folder", location="a/../../weights.bin")
        self.external("has no file name", location="")
        os.symlink(outside.name, os.path.join(self.folder.name, "link.bin"))
        self.external("symbolic link", location="link.bin")
        os.symlink(os.path.dirname(outside.name), os.path.join(self.folder.name, "folder"))
        self.external("symbolic link", location="folder/" + os.path.basename(outside.name))
        os.mkdir(os.path.join(self.folder.name, "sub"))
        self.external("not a regular file", location="sub")
        os.mkfifo(os.path.join(self.folder.name, "fifo"))
        self.external("not a regular file", location="fifo")

    # Graphs

    def test_names(self):
        relu = node("Relu", ["x"], ["y"])
        self.refused(model(graph([relu, relu], [X], [Y])), "its output 'y' is defined twice")
        self.refused(model(graph([relu], [X, X], [Y])), "input 'x' is defined twice")
        self.refused(single(relu, WEIGHT, WEIGHT), "initializer 'w': is defined twice")
        self.refused(
            single(node("Relu", ["nothing"], ["y"])), "its input 'nothing' is not defined before it"
        )
        cycle = [
            node("Add", ["x", "b"], ["a"]),
            node("Relu", ["a"], ["b"]),
            node("Relu", ["b"], ["y"]),
        ]
        self.refused(
            model(graph(cycle, [X], [Y])),
            "its input 'b' is not defined before it: the graph has a cycle",
        )
        self.refused(model(graph([relu], [X], [])), "no outputs")

    def test_recursive_functions(self):
        call = node("F", ["x"], ["y"], domain="local")
        direct = function(
            "local", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")], uses=["local"]
        )
        self.refused(
            single(call, functions=[direct], domains=["local"]),
            "function 'F' calls itself; recursive functions are not supported",
        )
        f = function(
            "local", "F", ["a"], ["b"], [node("G", ["a"], ["b"], domain="local")], uses=["local"]
        )
        g = function(
            "local", "G", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")], uses=["local"]
        )
        self.refused(single(call, functions=[f, g], domains=["local"]), "function 'F' calls itself")

    def test_functions_that_grow_without_bound(self):
        functions = []
        for level in range(40):
            inner = f"F{level + 1}" if level < 39 else "Relu"
            domain = "local" if level < 39 else ""
            functions.append(
                function(
                    "local",
                    f"F{level}",
                    ["a"],
                    ["c"],
                    [
                        node(inner, ["a"], ["b"], domain=domain),
                        node(inner, ["b"], ["c"], domain=domain),
                    ],
                    uses=["local"],
                )
            )
        self.refused(
            single(
                node("F0", ["x"], ["y"], domain="local"), functions=functions, domains=["local"]
            ),
            "nodes with its functions inlined, the limit is",
        )

    def test_functions_are_inlined_with_their_attributes(self):
        body = [node("LeakyRelu", ["a"], ["t"], alpha=Ref("slope")), node("Neg", ["t"], ["b"])]
        leaky = function("local", "Leaky", ["a"], ["b"], body, attributes=["slope"])
        twice = [
            node("Leaky", ["x"], ["m"], domain="local", slope=0.5),
            node("Leaky", ["m"], ["y"], domain="local", slope=0.25),
        ]
        self.accepted(
            model(graph(twice, [X], [Y]), functions=[leaky], domains=["local"]),
            r"5\.000000e-01",
            r"2\.500000e-01",
        )

    # Sizes that a model asks for

    def test_huge_constants(self):
        def shape_of(op, sizes, **attributes):
            return single(node(op, ["w"], ["y"], **attributes), ints("w", sizes))

        self.refused(shape_of("ConstantOfShape", [1 << 40, 1 << 40]), r"more than 2\^40 elements")
        self.refused(shape_of("ConstantOfShape", [-3]), "negative dim -3")
        for op, tail in (("Range", ["s", "l", "d"]),):
            bounds = [ints("s", [0], []), ints("l", [1 << 62], []), ints("d", [1], [])]
            self.refused(single(node(op, tail, ["y"]), *bounds), "has more than")
            self.refused(
                single(node(op, tail, ["y"]), bounds[0], bounds[1], ints("d", [0], [])),
                "its step is 0",
            )
        huge = ints("big", [1 << 30])
        # Broadcasting costs nothing, evaluating what was broadcast does.
        grow = [
            node("ConstantOfShape", ["big"], ["z"]),
            node("CumSum", ["z", "axis"], ["c"]),
            node("Add", ["x", "c"], ["y"]),
        ]
        self.refused(
            model(graph(grow, [X], [Y], [huge, ints("axis", [0], [])])),
            "node 'cumsum' .* elements to be evaluated at compile time",
        )
        tile = [node("Tile", ["four", "times"], ["y"])]
        self.refused(
            model(graph(tile, [X], [Y], [ints("four", [1, 2, 3, 4]), ints("times", [1 << 29])])),
            "elements",
        )
        self.refused(
            single(
                node("OneHot", ["i", "d", "v"], ["y"]),
                ints("i", [1] * 4),
                ints("d", [1 << 40], []),
                ints("v", [0, 1]),
            ),
            "depth|elements",
        )
        self.refused(
            single(node("Expand", ["x", "w"], ["y"]), ints("w", [1 << 40, 1, 1])),
            r"more than 2\^40",
        )
        self.refused(
            single(node("Pad", ["x", "w"], ["y"]), ints("w", [1 << 50, 0, 0, 0])), "pads dim 0"
        )

    def test_damaged_bytes_never_crash(self):
        """Mutations of a model: each is refused or accepted, and nothing else."""
        x = value("x", FLOAT, ["batch", 4])
        nodes = [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["b"]),
            node("Range", ["zero", "b", "one"], ["r"]),
            node("Cast", ["r"], ["f"], to=1),
            node("Unsqueeze", ["f", "axes"], ["u"]),
            node("MatMul", ["x", "w"], ["m"]),
            node("Add", ["m", "u"], ["a"]),
            node("Slice", ["a", "axes", "two"], ["c"]),
            node("Softmax", ["c"], ["y"], axis=-1),
        ]
        good = model(
            graph(
                nodes,
                [x],
                [value("y", FLOAT, [None, None])],
                [
                    WEIGHT,
                    ints("zero", [0], []),
                    ints("one", [1], []),
                    ints("axes", [1]),
                    ints("two", [2]),
                ],
            )
        )
        self.accepted(good)
        generator = random.Random(int(os.environ.get("FUZZ_SEED", "1")))
        for _ in range(int(os.environ.get("FUZZ_RUNS", "100"))):
            bad = bytearray(good)
            for _ in range(generator.randint(1, 6)):
                at = generator.randrange(len(bad))
                kind = generator.randrange(4)
                if kind == 0:
                    bad[at] = generator.randrange(256)
                elif kind == 1:
                    bad[at] ^= 1 << generator.randrange(8)
                elif kind == 2:
                    del bad[at : at + generator.randint(1, 8)]
                else:
                    bad[at:at] = bad[at : at + generator.randint(1, 16)]
            code, errors, _ = self.run_import(bytes(bad))
            self.assertIn(code, (0, 1), (bytes(bad), errors))
            if code:
                self.assertEqual(len(errors.strip().splitlines()), 1, (bytes(bad), errors))


if __name__ == "__main__":
    SHARDC_OPT = sys.argv.pop(1)
    unittest.main()
