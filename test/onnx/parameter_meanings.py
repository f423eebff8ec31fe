#!/usr/bin/env python3
"""Small graphs with the metadata that the exporters leave, copied from what torch 2.15 wrote: which parameter each use means.

    parameter_meanings.py SHARDC_OPT
"""
import os
import subprocess
import sys
import tempfile
import unittest

from check_name_map import parameters
from onnx_writer import *

SHARDC_OPT = ""
ATEN = "torch.ops.aten."


def placeholder(name):
    return "p_" + name.replace(".", "_").lower()


def fx(result, target, *arguments):
    return f"%{result} : [num_users=1] = call_function[target={ATEN}{target}](args = ({', '.join(arguments)},), kwargs = {{}})"


def call(op, inputs, output, scope, target, *arguments, result=None, **attributes):
    """A node of the dynamo exporter: its module, and the FX call that it was made from."""
    result = result or output
    path = [""] + (["layers", scope] if scope else []) + [result]
    return node(op, inputs, [output], f"node_{output}", metadata={
        "pkg.torch.onnx.fx_node": fx(result, target, *arguments), "pkg.torch.onnx.name_scopes": str(path)}, **attributes)


def dynamo(nodes, listed, initializers, inputs, output, folds=None, rewritten=(), buffers=()):
    """A model of the dynamo exporter. `listed`: parameters in PyTorch's order; `folds`: what initializers were folded from; `rewritten`: those
    that no longer hold what torch.export handed over."""
    signature = "\n".join(f"{placeholder(name)}: PARAMETER target='{name}'" for name in listed)
    signature += "".join(f"\nb_{name.replace('.', '_')}: BUFFER target='{name}' persistent=True" for name in buffers)
    values = [value(name, FLOAT, [], {"pkg.onnxscript.optimizer.folded_from": str(sources)}) for name, sources in (folds or {}).items()]
    values += [value(name, FLOAT, [], {"pkg.torch.export.graph_signature.InputSpec.kind": "PARAMETER",
                                       "pkg.torch.onnx.original_node_name": placeholder(name)})
               for name, _ in initializers if name in listed and name not in rewritten]
    return model(graph(nodes, inputs, [output], [tensor for _, tensor in initializers], values=values,
                       metadata={"pkg.torch.export.ExportedProgram.graph_signature": signature}))


def constant(name, dims, first=0.5):
    """An initializer whose elements differ, with its name."""
    count = 1
    for dim in dims:
        count *= dim
    return name, floats(name, dims, [first + i / 16 for i in range(count)])


def ones(name, dims):
    return name, floats(name, dims, [1.0] * dims[0])


X = value("x", FLOAT, ["batch", 4])
IDS = value("ids", INT64, ["batch"])


def y(*dims):
    return value("y", FLOAT, ["batch", *dims])


class Meanings(unittest.TestCase):
    def run_import(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(content)
            process = subprocess.run([SHARDC_OPT, f"--onnx-import=path={path} dims=batch=2"], input="module {}", capture_output=True, text=True)
        return process.returncode, process.stdout, process.stderr

    def found(self, content):
        code, module, errors = self.run_import(content)
        self.assertEqual(code, 0, errors)
        trained = {name: p for name, p in parameters(module).items() if p["trainable"]}
        return trained, errors

    def refused(self, content, *expected):
        code, _, errors = self.run_import(content)
        self.assertEqual(code, 1)
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        for text in expected:
            self.assertIn(text, errors)

    # What was computed ahead

    def folded(self, name, sources, dims=(4,), initializer_dims=None):
        nodes = [call("Mul", ["x", name], "y", "layers.0", "mul.Tensor", "%x", f"%{name}")]
        return dynamo(nodes, ["scale", "other"], [constant(name, dims)], [X], y(4), {name: sources})

    def test_a_function_of_a_parameter_is_refused_with_both_names(self):
        for name in ("exp", "sigmoid", "tanh_1", "neg", "mul_2", "abs_1", "softmax", "softplus_3"):
            with self.subTest(name):
                self.refused(self.folded(name, ["scale"]), f"'{name}'", "'scale'", "optimize=False")

    def test_a_chain_is_refused_where_one_link_computes(self):
        self.refused(self.folded("view", ["exp", "scale", "val_3"]), "'view'", "'scale'", "(exp)")
        self.refused(self.folded("add_3", ["scale", "scalar_tensor_default", "val_5"]), "'add_3'", "'scale'")

    def test_several_parameters_are_refused(self):
        self.refused(self.folded("view", ["other", "scale"]), "parameters 'other', 'scale'")

    def test_a_view_is_the_parameter_in_the_exporters_shape(self):
        trained, warnings = self.found(self.folded("view_1", ["scale", "val_3", "val_4"]))
        self.assertEqual(list(trained), ["scale"])
        self.assertIn("'scale' is stored in the shape that the exporter's view left", warnings)

    def test_slopes_that_the_lowering_reshaped_are_a_vector(self):
        """torch.nn.PReLU's weight has one dim, whatever its activations have."""
        nodes = [call("PRelu", ["x", "val_1"], "y", "layers.0", "prelu.default", "%x", "%p_layers_0_weight")]
        trained, warnings = self.found(dynamo(nodes, ["layers.0.weight"], [constant("val_1", [1, 4])], [X], y(4), {"val_1": ["layers.0.weight", "val_0"]}))
        self.assertEqual(trained["layers.0.weight"]["dims"], [4])
        self.assertEqual(warnings, "")

    def test_a_transposition_is_the_parameter_as_pytorch_has_it(self):
        for dims in ([4, 3], [4, 4]):
            nodes = [call("MatMul", ["x", "permute"], "y", "layers.0", "matmul.default", "%x", "%permute")]
            trained, warnings = self.found(dynamo(nodes, ["w"], [constant("permute", dims)], [X], y(dims[1]), {"permute": ["w"]}))
            self.assertEqual(trained["w"]["bindings"], [{"initializer": "permute", "transposed": True, "uses": ["node_y:1"]}])
            self.assertEqual(warnings, "")

    def test_two_transpositions_are_none(self):
        nodes = [call("MatMul", ["x", "transpose"], "y", "layers.0", "matmul.default", "%x", "%transpose")]
        trained, _ = self.found(dynamo(nodes, ["w"], [constant("transpose", [4, 3])], [X], y(3), {"transpose": ["clone", "t", "w"]}))
        self.assertFalse(trained["w"]["bindings"][0]["transposed"])

    def test_a_permutation_of_three_dims_is_refused(self):
        nodes = [call("Mul", ["x", "permute"], "y", "layers.0", "mul.Tensor", "%x", "%permute")]
        self.refused(dynamo(nodes, ["w"], [constant("permute", [1, 1, 4])], [X], value("y", FLOAT, [1, "batch", 4]), {"permute": ["w"]}), "'permute'", "'w'")

    def test_a_parameter_times_alpha_inside_of_a_call_is_refused(self):
        nodes = [call("Add", ["x", "val_2"], "y", "layers.0", "add.Tensor", "%x", "%p_scale")]
        self.refused(dynamo(nodes, ["scale"], [constant("val_2", [4])], [X], y(4), {"val_2": ["scale", "val_1"]}), "'val_2'", "'scale'")

    def test_an_equal_fold_of_another_parameter_is_refused(self):
        nodes = [call("MatMul", ["x", "permute"], "h", "layers.0", "matmul.default", "%x", "%permute"),
                 call("MatMul", ["h", "permute"], "y", "layers.1", "matmul.default", "%h", "%permute_1")]
        self.refused(dynamo(nodes, ["a", "b"], [constant("permute", [4, 4])], [X], y(4), {"permute": ["a"]}), "'permute'", "optimize=False")

    def test_a_fold_beside_another_parameter(self):
        nodes = [call("Gemm", ["x", "t", "outer"], "y", "layers.0", "linear.default", "%x", "%t", "%p_outer", transB=1)]
        trained, _ = self.found(dynamo(nodes, ["w", "outer"], [constant("t", [4, 4]), constant("outer", [4])], [X], y(4), {"t": ["w"]}))
        self.assertEqual({n: p["bindings"][0]["uses"] for n, p in trained.items()}, {"w": ["node_y:1"], "outer": ["node_y:2"]})
        # As a product and a sum: the product's operand has a name that the exporter made up.
        nodes = [call("MatMul", ["x", "val_3"], "val_4", "layers.0", "linear.default", "%x", "%t", "%p_outer", result="linear"),
                 call("Add", ["val_4", "outer"], "y", "layers.0", "linear.default", "%x", "%t", "%p_outer", result="linear")]
        trained, _ = self.found(dynamo(nodes, ["w", "outer"], [constant("val_3", [4, 4]), constant("outer", [4])], [X], y(4), {"val_3": ["t", "w"]}))
        self.assertEqual({n: p["bindings"] for n, p in trained.items()},
                         {"w": [{"initializer": "val_3", "transposed": False, "uses": ["node_val_4:1"]}],
                          "outer": [{"initializer": "outer", "transposed": False, "uses": ["node_y:1"]}]})

    def test_a_batch_norm_in_the_layer_before_it_is_refused(self):
        listed = ["net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"]
        norm = ["%linear", "%p_net_1_weight", "%p_net_1_bias", "%b_net_1_running_mean", "%b_net_1_running_var", "True", "0.1", "1e-05"]
        nodes = [call("Gemm", ["x", "net.0.weight", "net.0.bias"], "getitem", "net.1", "_native_batch_norm_legit_functional.default", *norm,
                      result="_native_batch_norm_legit_functional", transB=1),
                 call("Mul", ["getitem", "last"], "y", "", "mul.Tensor", "%getitem", "%p_last")]
        self.refused(dynamo(nodes, listed + ["last"], [constant("net.0.weight", [4, 4]), constant("net.0.bias", [4]), constant("last", [4])], [X], y(4),
                            rewritten=["net.0.weight", "net.0.bias"]),
                     "'net.0.weight'", "'net.1.weight'", "batch_norm")

    # What was merged

    def norm(self, value, weight, bias, output, own, scope, argument=None):
        return call("LayerNormalization", [value, weight, bias], output, scope, "layer_norm.default", argument or f"%{value}", "[4]",
                    f"%p_{own}_weight", f"%p_{own}_bias", "1e-05", "False")

    def test_equal_norms_are_told_by_their_arguments(self):
        # The second norm reads a parameter, too: two arguments end in weight.
        listed = ["rel.weight", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]
        nodes = [self.norm("x", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
                 self.norm("rel.weight", "norm1.weight", "norm1.bias", "layer_norm_1", "norm2", "norm2", "%p_rel_weight"),
                 call("Add", ["layer_norm", "layer_norm_1"], "y", "", "add.Tensor", "%layer_norm", "%layer_norm_1")]
        trained, warnings = self.found(dynamo(nodes, listed, [constant("rel.weight", [1, 4]), ones("norm1.weight", [4]), constant("norm1.bias", [4], 0)], [X], y(4)))
        self.assertEqual(sorted(trained), sorted(listed))
        self.assertEqual(trained["norm2.weight"]["bindings"][0]["uses"], ["node_layer_norm_1:1"])
        self.assertEqual(warnings, "")

    def test_equal_operands_of_one_call_are_told_apart(self):
        nodes = [call("Add", ["a", "a"], "add", "", "add.Tensor", "%p_a", "%p_b"), call("Mul", ["x", "add"], "y", "", "mul.Tensor", "%x", "%add")]
        trained, _ = self.found(dynamo(nodes, ["a", "b"], [constant("a", [4])], [X], y(4)))
        self.assertEqual({n: p["bindings"][0]["uses"] for n, p in trained.items()}, {"a": ["node_add:0"], "b": ["node_add:1"]})

    def test_operands_in_another_order_than_the_arguments(self):
        # addmm(bias, x, weight) as Gemm(x, weight, bias), both of another layer.
        nodes = [call("Gemm", ["x", "l0.weight", "l0.bias"], "addmm", "l0", "addmm.default", "%p_l0_bias", "%x", "%p_l0_weight"),
                 call("Gemm", ["addmm", "l0.weight", "l0.bias"], "y", "l1", "addmm.default", "%p_l1_bias", "%addmm", "%p_l1_weight")]
        listed = ["l0.weight", "l0.bias", "l1.weight", "l1.bias"]
        trained, _ = self.found(dynamo(nodes, listed, [constant("l0.weight", [4, 4]), constant("l0.bias", [4])], [X], y(4)))
        self.assertEqual({n: p["bindings"][0]["uses"] for n, p in trained.items()},
                         {"l0.weight": ["node_addmm:1"], "l0.bias": ["node_addmm:2"], "l1.weight": ["node_y:1"], "l1.bias": ["node_y:2"]})

    def test_matrices_that_start_equal_are_two(self):
        nodes = [call("Gemm", ["x", "query.weight"], "linear", "query", "linear.default", "%x", "%p_query_weight", transB=1),
                 call("Gemm", ["linear", "query.weight"], "y", "key", "linear.default", "%linear", "%p_key_weight", transB=1)]
        trained, _ = self.found(dynamo(nodes, ["query.weight", "key.weight"], [constant("query.weight", [4, 4])], [X], y(4)))
        self.assertEqual({n: p["aliases"] for n, p in trained.items()}, {"query.weight": [], "key.weight": []})

    def test_a_buffer_that_starts_as_a_parameter_is_no_parameter(self):
        # The average of a weight, as it is before the first step.
        def nodes(first, second):
            name = {"weight": "%p_weight", "average": "%b_average"}
            return [call("Gemm", ["x", first], "linear", "a", "linear.default", "%x", name[first], transB=1),
                    call("Gemm", ["x", first], "linear_1", "b", "linear.default", "%x", name[second], transB=1),
                    call("Add", ["linear", "linear_1"], "y", "", "add.Tensor", "%linear", "%linear_1")]
        for first, second, use in (("weight", "average", "node_linear:1"), ("average", "weight", "node_linear_1:1")):
            content = dynamo(nodes(first, second), ["weight"], [constant(first, [4, 4])], [X], y(4), buffers=["average"])
            trained, warnings = self.found(content)
            self.assertEqual({n: p["bindings"][0]["uses"] for n, p in trained.items()}, {"weight": [use]})
            self.assertEqual(warnings, "")

    def test_a_call_of_a_copy_names_a_buffer_alone(self):
        nodes = [call("Identity", ["w"], "clone", "a", "clone.default", "%p_w"),
                 call("Mul", ["clone", "mask"], "mul", "a", "mul.Tensor", "%clone", "%b_mask"),
                 call("Add", ["x", "mul"], "y", "", "add.Tensor", "%x", "%mul")]
        trained, _ = self.found(dynamo(nodes, ["w"], [constant("w", [4]), constant("mask", [4])], [X], y(4), buffers=["mask"]))
        self.assertEqual({n: p["bindings"][0]["uses"] for n, p in trained.items()}, {"w": ["node_clone:0", "node_mul:0"]})

    def test_merged_norms_are_refused(self):
        # Both norms of a parallel block have one input: the second node is gone, its reader still names it.
        nodes = [self.norm("x", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
                 call("Tanh", ["layer_norm"], "tanh", "", "tanh.default", "%layer_norm"),
                 call("Sin", ["layer_norm"], "sin", "", "sin.default", "%layer_norm_1"),
                 call("Add", ["tanh", "sin"], "y", "", "add.Tensor", "%tanh", "%sin")]
        listed = ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]
        self.refused(dynamo(nodes, listed, [ones("norm1.weight", [4]), constant("norm1.bias", [4], 0)], [X], y(4)),
                     "'layer_norm_1'", "'norm1.weight'", "'norm2.weight'", "optimize=False")

    def test_merged_norms_are_no_names_of_a_tied_table(self):
        nodes = [call("Gather", ["head.weight", "ids"], "embedding", "embed", "embedding.default", "%p_head_weight", "%ids"),
                 self.norm("embedding", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
                 call("Sin", ["layer_norm"], "sin", "", "sin.default", "%layer_norm_1"),
                 call("Add", ["layer_norm", "sin"], "add", "", "add.Tensor", "%layer_norm", "%sin"),
                 call("Gemm", ["add", "head.weight"], "y", "head", "linear.default", "%add", "%p_head_weight", transB=1)]
        listed = ["embed.weight", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "head.weight"]
        self.refused(dynamo(nodes, listed, [constant("head.weight", [8, 4]), ones("norm1.weight", [4]), constant("norm1.bias", [4], 0)], [IDS], y(8)),
                     "'layer_norm_1'", "'norm2.weight'")

    def test_merged_nodes_without_parameters_are_no_matter(self):
        nodes = [call("Tanh", ["x"], "tanh", "", "tanh.default", "%x"), call("Sin", ["tanh"], "sin", "", "sin.default", "%tanh_1"),
                 call("Mul", ["sin", "a.weight"], "y", "a", "mul.Tensor", "%sin", "%p_a_weight")]
        trained, warnings = self.found(dynamo(nodes, ["a.weight", "a.bias"], [constant("a.weight", [4])], [X], y(4)))
        self.assertEqual(list(trained), ["a.weight"])
        self.assertIn("the exporter removed parameters from the graph, which are not trained: 'a.bias'; ", warnings)

    # What is tied

    def tied_head(self, order):
        kept = order[-1]
        nodes = [call("Gather", [kept, "ids"], "embedding", "embed", "embedding.default", f"%{placeholder(kept)}", "%ids"),
                 call("MatMul", ["embedding", "val_0"], "y", "head", "linear.default", "%embedding", f"%{placeholder(kept)}")]
        table = [float(i % 7) for i in range(32)]
        turned = [table[j * 4 + i] for i in range(4) for j in range(8)]
        return dynamo(nodes, order, [(kept, floats(kept, [8, 4], table)), ("val_0", floats("val_0", [4, 8], turned))], [IDS], y(8), {"val_0": [kept]})

    def test_a_tied_head_is_one_parameter_whichever_is_registered_first(self):
        for order in (["embed.weight", "head.weight"], ["head.weight", "embed.weight"]):
            trained, warnings = self.found(self.tied_head(order))
            self.assertEqual(list(trained), order[:1])
            self.assertEqual(trained[order[0]]["aliases"], order[1:])
            self.assertEqual(len(trained[order[0]]["bindings"]), 2)
            self.assertEqual(warnings, "")

    def test_a_table_that_no_module_runs_is_tied_to_those_that_do(self):
        listed = ["shared.weight", "encoder.embed.weight", "head.weight"]
        nodes = [call("Gather", ["head.weight", "ids"], "embedding", "encoder.embed", "embedding.default", "%p_head_weight", "%ids"),
                 call("Gemm", ["embedding", "head.weight"], "y", "head", "linear.default", "%embedding", "%p_head_weight", transB=1)]
        trained, warnings = self.found(dynamo(nodes, listed, [constant("head.weight", [8, 4])], [IDS], y(8)))
        self.assertEqual({n: p["aliases"] for n, p in trained.items()}, {"shared.weight": listed[1:]})
        self.assertEqual(warnings, "")

    def test_a_bias_that_a_tied_head_shares_with_its_parent(self):
        listed = ["embed.weight", "cls.bias", "cls.dense.bias", "cls.decoder.weight", "cls.decoder.bias"]
        nodes = [call("Gather", ["cls.decoder.weight", "ids"], "embedding", "embed", "embedding.default", "%p_cls_decoder_weight", "%ids"),
                 call("Add", ["embedding", "cls.dense.bias"], "add", "cls.dense", "add.Tensor", "%embedding", "%p_cls_dense_bias"),
                 call("Gemm", ["add", "cls.decoder.weight", "cls.decoder.bias"], "y", "cls.decoder", "linear.default", "%add", "%p_cls_decoder_weight",
                      "%p_cls_decoder_bias", transB=1)]
        trained, warnings = self.found(dynamo(nodes, listed, [constant(n, [8, 4] if "weight" in n else [8] if "decoder" in n else [4])
                                                               for n in ("cls.decoder.weight", "cls.decoder.bias", "cls.dense.bias")], [IDS], y(8)))
        self.assertEqual({n: p["aliases"] for n, p in trained.items()},
                         {"embed.weight": ["cls.decoder.weight"], "cls.bias": ["cls.decoder.bias"], "cls.dense.bias": []})
        self.assertEqual(warnings, "")

    def test_what_nothing_reads_is_not_called_removed(self):
        nodes = [call("Mul", ["x", "a.weight"], "y", "a", "mul.Tensor", "%x", "%p_a_weight")]
        _, warnings = self.found(dynamo(nodes, ["pooler.weight", "pooler.bias", "a.weight"], [constant("a.weight", [4])], [X], y(4)))
        self.assertEqual(len(warnings.strip().splitlines()), 1)
        self.assertIn("no node reads the parameters 'pooler.weight', 'pooler.bias'", warnings)

    # The legacy exporter, which merges equal values with its defaults

    def legacy(self, first, second, biases):
        """Two Linears whose transposed weights the exporter merged; an Identity stands for the second."""
        nodes = [node("Identity", ["onnx::MatMul_9"], ["onnx::MatMul_10"], "Identity_1"),
                 node("MatMul", ["x", "onnx::MatMul_9"], ["m"], f"/{first}/MatMul"), node("Add", [biases[0], "m"], ["a"], f"/{first}/Add"),
                 node("MatMul", ["a", "onnx::MatMul_10"], ["n"], f"/{second}/MatMul"), node("Add", [biases[1], "n"], ["y"], f"/{second}/Add")]
        names = list(dict.fromkeys(biases))
        return model(graph(nodes, [X], [y(4)], [constant(n, [4], i)[1] for i, n in enumerate(names)] + [constant("onnx::MatMul_9", [4, 4])[1]]))

    def test_a_layer_that_is_called_twice_is_one(self):
        trained, _ = self.found(self.legacy("a", "a_1", ["a.bias", "a.bias"]))
        self.assertEqual(sorted(trained), ["a.bias", "a.weight"])

    def test_layers_that_are_copies_are_two(self):
        trained, _ = self.found(self.legacy("layers.0", "layers.1", ["layers.0.bias", "layers.1.bias"]))
        self.assertEqual(sorted(trained), ["layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"])

    def test_names_that_the_exporter_made_up_are_said(self):
        # x @ (a * b) in the model itself: no module, no bias.
        nodes = [node("MatMul", ["x", "onnx::MatMul_9"], ["y"], "/MatMul")]
        trained, warnings = self.found(model(graph(nodes, [X], [y(4)], [constant("onnx::MatMul_9", [4, 4])[1]])))
        self.assertEqual(list(trained), ["onnx::MatMul_9"])
        self.assertIn("names that the exporter made up: 'onnx::MatMul_9'", warnings)

    def test_matrices_of_other_modules_that_were_merged_are_refused(self):
        self.refused(self.legacy("query", "key", ["query.bias", "key.bias"]), "'query.weight'", "'key.weight'", "do_constant_folding=False")

    def test_a_transposed_copy_that_another_module_reads_is_said(self):
        """A tied weight, or a buffer that starts as the weight: the file does not tell."""
        values = [i / 16 for i in range(16)]
        stored = [floats("a.weight", [4, 4], values), floats("onnx::MatMul_9", [4, 4], [values[i % 4 * 4 + i // 4] for i in range(16)])]
        nodes = [node("Gemm", ["x", "a.weight"], ["a"], "/a/Gemm", transB=1), node("MatMul", ["a", "onnx::MatMul_9"], ["y"], "/MatMul")]
        trained, warnings = self.found(model(graph(nodes, [X], [y(4)], stored)))
        self.assertEqual(list(trained), ["a.weight"])
        self.assertIn("several modules read each of 'a.weight' = 'onnx::MatMul_9'", warnings)

    def test_a_copy_that_nothing_names_is_refused(self):
        nodes = [node("Identity", ["onnx::MatMul_9"], ["onnx::MatMul_10"], "Identity_1"),
                 node("MatMul", ["x", "onnx::MatMul_9"], ["m"], "/a/MatMul"), node("MatMul", ["m", "onnx::MatMul_10"], ["y"], "/MatMul")]
        self.refused(model(graph(nodes, [X], [y(4)], [constant("onnx::MatMul_9", [4, 4])[1]])), "'/MatMul'", "do_constant_folding=False")


if __name__ == "__main__":
    SHARDC_OPT = sys.argv.pop(1)
    unittest.main()
