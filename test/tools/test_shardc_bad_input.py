"""What shardc says to input that it cannot compile: one test for each kind."""
import os
import resource
import shutil
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tool_test import MODELS, SHARDC, ToolTest, run

MLP = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")


def external(name, dims, location, offset=0, length=None):
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL
    )
    length = int(np.prod(dims)) * 4 if length is None else length
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)
    return tensor


class ShardcBadInput(ToolTest):
    def shardc(self, model, *flags):
        return run(SHARDC, model, *flags, "-o", self.path("out.trainer"))

    def check(self, result, *words):
        self.assert_one_error(result, "shardc", *words)
        leftover = [f for f in os.listdir(self.folder) if "trainer" in f]
        self.assertEqual(leftover, [], "nothing half-written")

    def write(
        self,
        nodes,
        initializers=(),
        inputs=None,
        outputs=None,
        opset=20,
        functions=(),
        imports=(),
        ir_version=9,
    ):
        """A model of one float input x [batch, 4], one output y, and the given nodes."""
        inputs = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])]
        outputs = outputs or [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])]
        graph = helper.make_graph(list(nodes), "g", inputs, outputs, list(initializers))
        opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in imports]
        model = helper.make_model(
            graph, opset_imports=opsets, functions=list(functions), ir_version=ir_version
        )
        with open(self.path("bad.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return self.path("bad.onnx")

    def linear(self, weight, **keywords):
        return self.write(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], [weight], **keywords
        )

    mse = ("--dim", "batch=2", "--loss", "mse:output=y,target=t")

    def test_file_that_does_not_exist(self):
        self.check(self.shardc(self.path("none.onnx")), "none.onnx")

    def test_folder_instead_of_a_file(self):
        self.check(self.shardc(self.folder))

    def test_empty_file(self):
        open(self.path("empty.onnx"), "w").close()
        self.check(self.shardc(self.path("empty.onnx")), "empty.onnx")

    def test_an_empty_value(self):
        for flag in ("--dim", "--loss", "--precision"):
            self.check(self.shardc(MLP, flag, ""), f"{flag} needs a value, got ''")

    def test_little_memory(self):
        """Where a limit ends the compiler it says so, whichever call meets it first."""
        for mebibytes in (140, 180, 200, 220, 250, 270):
            result = run(
                *(SHARDC, MLP, "--dim", "batch=2", "-o", self.path("m.trainer")),
                limits=[(resource.RLIMIT_AS, mebibytes << 20)],
            )
            if result.code != 0:
                self.assertEqual(result.code, 1, result.err)
                self.assertRegex(
                    result.err,
                    r"^shardc: error: (out of memory|the system starts no more threads .*)\n$",
                )

    def test_truncated_file(self):
        data = open(MLP, "rb").read()
        for keep in (len(data) // 2, len(data) - 1, 20):
            with open(self.path("cut.onnx"), "wb") as file:
                file.write(data[:keep])
            self.check(self.shardc(self.path("cut.onnx"), "--dim", "batch=2"), "cut.onnx")

    def test_file_that_is_not_onnx(self):
        with open(self.path("text.onnx"), "w") as file:
            file.write("this is not a model\n" * 50)
        self.check(self.shardc(self.path("text.onnx")), "text.onnx")

    def test_unsupported_op(self):
        path = self.write([helper.make_node("NonMaxSuppression", ["x", "x"], ["y"], name="boxes")])
        self.check(self.shardc(path, *self.mse), "bad.onnx", "boxes", "NonMaxSuppression", "20")

    def test_op_of_an_unknown_domain(self):
        path = self.write(
            [helper.make_node("Fancy", ["x"], ["y"], name="fancy", domain="com.example")],
            imports=["com.example"],
        )
        self.check(self.shardc(path, *self.mse), "fancy", "Fancy", "com.example")

    def test_unsupported_opset(self):
        for opset in (6, 29, 9999):
            path = self.write([helper.make_node("Relu", ["x"], ["y"], name="r")], opset=opset)
            self.check(self.shardc(path, *self.mse), "bad.onnx", str(opset), "7", "28")

    def test_unsupported_dtype(self):
        path = self.write(
            [helper.make_node("Relu", ["x"], ["y"], name="r")],
            inputs=[helper.make_tensor_value_info("x", TensorProto.COMPLEX64, ["batch", 4])],
        )
        self.check(self.shardc(path, *self.mse), "x", "complex64")

    def test_unbound_dim(self):
        self.check(self.shardc(MLP), "batch", "--dim")

    def test_dim_that_the_graph_lacks(self):
        self.check(self.shardc(MLP, "--dim", "batch=2", "--dim", "sequenze=4"), "sequenze", "batch")

    def test_clashing_dims(self):
        self.check(self.shardc(MLP, "--dim", "batch=2", "--dim", "batch=3"), "batch", "2", "3")

    def test_dim_that_does_not_fit_the_graph(self):
        path = self.write(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
            [numpy_helper.from_array(np.ones((4, 4), np.float32), "w")],
            inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "width"])],
        )
        self.check(self.shardc(path, *self.mse, "--dim", "width=5"), "product", "MatMul")

    def test_missing_external_data(self):
        self.check(
            self.shardc(self.linear(external("w", [4, 4], "gone.data")), *self.mse),
            "gone.data",
            "w",
        )

    def test_short_external_data(self):
        with open(self.path("short.data"), "wb") as file:
            file.write(b"\0" * 63)
        self.check(
            self.shardc(self.linear(external("w", [4, 4], "short.data")), *self.mse),
            "short.data",
            "w",
            "63",
            "64",
        )

    def test_external_length_that_disagrees_with_the_shape(self):
        with open(self.path("w.data"), "wb") as file:
            file.write(b"\0" * 256)
        self.check(
            self.shardc(self.linear(external("w", [4, 4], "w.data", length=60)), *self.mse),
            "w",
            "60",
            "64",
        )

    def test_external_paths_that_leave_the_folder(self):
        os.mkdir(self.path("model"))
        with open(self.path("secret.data"), "wb") as file:
            file.write(b"\0" * 64)
        os.symlink(self.path("secret.data"), self.path("model/link.data"))
        for location in (
            "../secret.data",
            self.path("secret.data"),
            "link.data",
            "sub/../../secret.data",
            "",
        ):
            path = self.linear(external("w", [4, 4], location))
            shutil.copy(path, self.path("model/bad.onnx"))
            self.check(self.shardc(self.path("model/bad.onnx"), *self.mse), "w")

    def test_raw_data_that_disagrees_with_the_shape(self):
        for dims, size in (([4, 4], 60), ([4, 4], 68), ([1 << 40, 1 << 40], 64), ([-4, 4], 64)):
            tensor = TensorProto(
                name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"\0" * size
            )
            self.check(self.shardc(self.linear(tensor), *self.mse), "w")

    def test_recursive_functions(self):
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("f", 1)]
        functions = [
            helper.make_function(
                "f",
                a,
                ["x"],
                ["y"],
                [helper.make_node(b, ["x"], ["y"], domain="f", name=f"call_{b}")],
                opsets,
            )
            for a, b in (("A", "B"), ("B", "A"))
        ]
        path = self.write(
            [helper.make_node("A", ["x"], ["y"], domain="f", name="top")],
            functions=functions,
            imports=["f"],
        )
        self.check(self.shardc(path, *self.mse), "A", "recursive")

    def test_cyclic_graph(self):
        path = self.write(
            [
                helper.make_node("Add", ["x", "b"], ["a"], name="first"),
                helper.make_node("Relu", ["a"], ["b"], name="second"),
                helper.make_node("Relu", ["a"], ["y"], name="third"),
            ]
        )
        self.check(self.shardc(path, *self.mse), "first")

    def test_input_of_a_node_that_nobody_makes(self):
        self.check(
            self.shardc(
                self.write([helper.make_node("Add", ["x", "nothing"], ["y"], name="sum")]),
                *self.mse,
            ),
            "sum",
            "nothing",
        )

    def test_constant_of_absurd_size(self):
        size = numpy_helper.from_array(np.array([1 << 31, 1 << 31], np.int64), "size")
        path = self.write(
            [
                helper.make_node("ConstantOfShape", ["size"], ["big"], name="huge"),
                helper.make_node("Add", ["x", "big"], ["y"]),
            ],
            [size],
        )
        self.check(self.shardc(path, *self.mse), "huge")

    def test_parameters_named_like_parts_of_the_program(self):
        for name in ("model", "train", "eval", "kernels"):
            path = self.write(
                [helper.make_node("MatMul", ["x", name], ["y"], name="product")],
                [numpy_helper.from_array(np.ones((4, 4), np.float32), name)],
            )
            self.check(self.shardc(path, *self.mse), f"'{name}'", "rename")

    def test_names_that_are_no_utf8(self):
        def model(name):
            return self.write(
                [helper.make_node("MatMul", ["x", name], ["y"], name="product")],
                [numpy_helper.from_array(np.ones((4, 4), np.float32), name)],
            )

        with open(model("w.??"), "rb") as file:
            content = file.read()
        for old, new, what in (
            (b"w.??", b"w.\xc3(", "initializer 'w.\\xc3('"),
            (b"product", b"produc\xff", "node 'produc\\xff'"),
            (b"\x01x", b"\x01\xfe", "input '\\xfe'"),
        ):
            with open(self.path("bad.onnx"), "wb") as file:
                file.write(content.replace(old, new))
            self.check(self.shardc(self.path("bad.onnx"), *self.mse), what, "no UTF-8")

    def test_meshes_that_cannot_be(self):
        for mesh in (
            "0",
            "1000000000",
            "2x0",
            "-1",
            "2x",
            "x2",
            "1.5",
            "two",
            "99999x99999",
            "2x2x2x2x2",
            "replicate=2,tensor=2",
            "shard=2,shard=2",
            "shard=2,replicate=2",
            "shard=",
        ):
            self.check(
                self.shardc(MLP, "--dim", "batch=2", "--loss", "output:loss", f"--mesh={mesh}"),
                mesh,
            )

    def test_units_that_cannot_be(self):
        flags = ("--dim", "batch=2", "--mesh", "2")
        for units, words in (
            ("blocks", ("accepted are auto, block",)),
            ("size:1XB", ("size:100MB",)),
            ("scope:(", ("parentheses",)),
            ("class:Linear", ("dynamo", "--units class")),
            ("scope:block", ("layers.{0..4}",)),
        ):
            self.check(
                self.shardc(MLP, *flags, f"--units={units}"),
                f"--units {units.split(':')[0]}",
                *words,
            )
        llama = os.path.join(MODELS, "s2-llama-tiny-mask", "model.onnx")
        self.check(
            self.shardc(
                llama,
                *flags,
                "--dim",
                "sequence=8",
                "--loss",
                "cross-entropy:logits=logits,labels=labels",
                "--units=class:Layer",
            ),
            "class:Layer",
            "LlamaBlock (4)",
        )

    def test_sharding_that_cannot_be(self):
        for words, expected in (
            (("--strategy", "zero3"), ("zero3", "full, grad_op, hybrid")),
            (
                ("--strategy", "opt", "--reshard-after-forward", "never"),
                ("strategy opt", "nothing to reshard"),
            ),
            (
                ("--strategy", "grad_op", "--reshard-after-forward", "always"),
                ("grad_op", "use full"),
            ),
            (
                ("--reshard-after-forward", "3"),
                ("--reshard-after-forward 3", "divisor of the 8 shards", "2, 4"),
            ),
            (("--reshard-after-forward", "often"), ("often", "always, never")),
            (("--unit-option", "match=layers"), ("match=layers", "reshard=")),
            (
                ("--unit-option", "match=nothing,reshard=never"),
                ("match=nothing", "matches no unit", "model"),
            ),
            (("--unit-option", "match=model,reshard=5"), ("match=model,reshard=5", "2, 4")),
            (("--unit-option", "match=(,reshard=never"), ("match=(", "regular expression")),
            (("--unit-option", "wrap=yes"), ("wrap", "match, reshard")),
            (("--freeze", "nothing"), ("--freeze nothing", "layers.0.weight")),
            (("--freeze", "*"), ("--freeze *", "regular expression")),
            (("--trainable", "nothing"), ("--trainable nothing", "layers.0.weight")),
            (("--freeze", "layers"), ("no parameter is left to train", "all 6")),
            (("--untie", "layers"), ("--untie layers", "several modules", "by itself")),
            (("--untie", "*"), ("--untie *", "regular expression")),
            (("--accumulate", "half"), ("--accumulate", "sharded or unsharded")),
            (("--embedding", "all"), ("--embedding", "auto, rows or table")),
            (("--reshard-after-backward", "2"), ("--reshard-after-backward", "always or never")),
            (
                ("--reshard-after-backward", "never", "--reshard-after-forward", "2"),
                ("cannot be after forward", "--reshard-after-forward never or default"),
            ),
            (
                ("--unit-option", "match=model,after-backward=no"),
                ("after-backward no", "always or never"),
            ),
            (("--prefetch", "-1"), ("--prefetch", "0 to 64")),
        ):
            self.check(self.shardc(MLP, "--dim", "batch=2", "--mesh", "8", *words), *expected)

    def test_clusters_that_cannot_be(self):
        flags = ("--dim", "batch=2", "--mesh", "2")
        self.check(self.shardc(MLP, *flags, "--cluster=dgx"), "dgx", "cpu, dgx-h100")
        self.check(self.shardc(MLP, *flags, f"--cluster={self.folder}"), self.folder)
        for text, line, word in (
            ("memory_gb = 'much'", 1, "memory_gb"),
            ("\nmemory_tb = 1", 2, "memory_tb"),
            ("\n\n[inside_node", 3, ""),
            ("", 1, "memory_gb"),
        ):
            with open(self.path("c.toml"), "w") as file:
                file.write(text)
            self.check(
                self.shardc(MLP, *flags, "--cluster", self.path("c.toml")), f"c.toml:{line}: ", word
            )

    def test_unknown_flag(self):
        self.check(self.shardc(MLP, "--mehs", "2"), "--mehs", "--mesh")

    def test_gpu_that_does_not_exist(self):
        kernels = ("--kernels", self.path("kernels"), "--dim", "batch=2")
        self.check(
            self.shardc(MLP, "--target", "cuda:sm_12", *kernels), "sm_12", "sm_80, sm_90 or sm_100"
        )
        self.assertFalse(os.path.exists(self.path("kernels")))
        self.check(
            run(SHARDC, MLP, *kernels, "--compile-to", "raise"), "--compile-to raise", "--kernels"
        )
        self.check(run(SHARDC, MLP, *kernels, "--embed-weights"), "--embed-weights", "-o FILE")
        self.check(
            self.shardc(MLP, "--kernels", "/proc/none", "--dim", "batch=2"),
            "/proc/none",
            "--kernels",
        )

    def test_flags_that_cannot_be_honoured(self):
        self.check(self.shardc(MLP, "--target", "tpu"), "tpu", "cpu, cpu:NAME, cuda:sm_80")
        self.check(self.shardc(MLP, "--target", "cpu:pentium9"), "pentium9", "x86-64-v3")
        self.check(
            self.shardc(MLP, "--strategy", "hybrid", "--dim", "batch=2"),
            "hybrid",
            "one dimension",
            "--mesh 2x",
        )
        self.check(
            self.shardc(MLP, "--precision", "int8"),
            "--precision",
            "int8",
            "bf16, float16, float32 or float64",
        )
        self.check(self.shardc(MLP, "--precision", "param=bf16,keep=(norm"), "keep", "(norm")
        self.check(
            self.shardc(MLP, "--precision", "float64", "--master", "bf16"), "float64", "bf16"
        )
        self.check(self.shardc(MLP, "--master", "bf16"), "--master bf16", "param=float32")
        self.check(self.shardc(MLP, "--cpu", "pdp11", "--dim", "batch=2"), "pdp11")
        self.check(
            self.shardc(MLP, "--embed-weights", "--init", "random"),
            "--embed-weights",
            "--init random",
        )

    def test_losses_that_cannot_be(self):
        for loss, words in (
            ("output:nothing", ["nothing", "loss"]),
            ("nonsense", ["nonsense"]),
            ("mse:output=loss", ["target"]),
            ("cross-entropy:logits=loss,labels=labels,ignore=x", ["ignore"]),
            ("cross-entropy:logits=l,labels=t,foo=1", ["foo"]),
        ):
            self.check(self.shardc(MLP, "--dim", "batch=2", "--loss", loss), *words)

    def test_output_that_cannot_be_written(self):
        result = run(SHARDC, MLP, "--dim", "batch=2", "-o", self.path("no/such/folder/m.trainer"))
        self.check(result, "no/such/folder")

    def test_model_without_a_trainable_parameter(self):
        self.check(
            self.shardc(self.write([helper.make_node("Relu", ["x"], ["y"], name="r")]), *self.mse),
            "parameter",
        )

    def test_loss_that_depends_on_no_data(self):
        weight = numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(4), "head.weight")
        path = self.write(
            [helper.make_node("ReduceSum", ["head.weight"], ["y"], name="sum", keepdims=0)],
            [weight],
            outputs=[helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        )
        self.check(
            self.shardc(path, "--dim", "batch=2", "--loss", "output:y"),
            "an input that reaches the loss",
        )


if __name__ == "__main__":
    unittest.main()
