"""What `shardc export` checks of a file, without torch: stand-ins for modules, and ONNX graphs."""
import os
import re
import sys
import tempfile
import types
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool_test import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools", "python"))

from shardc import Error, checks, export, sources  # noqa: E402


def parameter(values, requires_grad=True):
    """What checks.check asks of torch's."""
    made = types.SimpleNamespace(requires_grad=requires_grad)
    made.detach = made.cpu = made.float = lambda: made
    made.numpy = lambda: np.asarray(values, np.float32)
    return made


class Module:
    def __init__(self, **parameters):
        self.parameters = parameters

    def named_parameters(self, remove_duplicate):
        return [(name.replace("_", "."), each) for name, each in self.parameters.items()]


def graph(**values):
    tensors = [
        numpy_helper.from_array(np.asarray(v, np.float32), n.replace("_", "."))
        for n, v in values.items()
    ]
    sum_of_all = helper.make_node("Sum", [each.name for each in tensors], ["y"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_graph([sum_of_all], "g", [], [y], tensors)


class Checks(unittest.TestCase):
    """A file that is not the module is refused, and what is lost is named."""

    def found(self, module, graph, has_gradient=None):
        """By default all parameters have a gradient."""
        all_of = {name for name, _ in module.named_parameters(False)}
        return checks.check(module, graph, "", all_of if has_gradient is None else has_gradient)

    def error(self, *given):
        with self.assertRaises(Error) as raised:
            self.found(*given)
        return str(raised.exception)

    def test_all_is_there(self):
        shared = parameter([3, 4])
        module = Module(
            a_weight=parameter([1, 2]), tied_x=shared, tied_y=shared, b=parameter([5, 5], False)
        )
        found = self.found(module, graph(a_weight=[1, 2], tied_y=[3, 4], b=[5, 5], other=[9, 9]))
        self.assertEqual(found.trained, ["a.weight", "tied.y"])
        self.assertEqual(found.frozen, ["b"])

    def test_what_is_lost_is_named(self):
        module = Module(a_weight=parameter([1, 2]), a_bias=parameter([0, 0]))
        self.assertIn("is without a.bias", self.error(module, graph(a_weight=[1, 2])))
        self.assertIn("is without a.weight, a.bias", self.error(module, graph(renamed=[1, 2])))

    def test_no_output_depends_on_it(self):
        module = Module(a=parameter([1, 2]), b=parameter([1, 2]))
        self.assertEqual(self.found(module, graph(a=[1, 2]), {"a"}).unused, ["b"])
        self.assertIn("is without b", self.error(module, graph(a=[1, 2]), {"a", "b"}))

    def test_inputs_that_no_node_reads(self):
        read = graph(a=[1, 2])
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        branch = helper.make_graph(
            [helper.make_node("Neg", ["inner"], ["n"])], "b", [], [value("n")]
        )
        read.input.extend([value("ids"), value("mask"), value("inner"), value("condition")])
        read.node.append(helper.make_node("Neg", ["ids"], ["z"]))
        read.node.append(helper.make_node("If", ["condition"], ["w"], then_branch=branch))
        found = self.found(Module(a=parameter([1, 2])), read)
        self.assertEqual(found.unread, ["mask"])
        source = types.SimpleNamespace(
            inputs=["ids", "mask"], labels=("labels",), loss="", sizes={}
        )
        source.dims = {}
        running = export.Exported("m.onnx", source, found).commands(2, {})[1]
        self.assertIn("--data ids=ids.npy --data labels=labels.npy", running)

    def test_other_values(self):
        module = Module(a=parameter([1, 2]))
        said = self.error(module, graph(a=[2, 3]))  # 1 + weight, computed once
        self.assertIn("has other values of a ([2] of [2])", said)
        said = self.error(Module(a=parameter([[1, 2, 3]])), graph(a=[[1], [2], [3]]))
        self.assertIn("a ([3, 1] of [1, 3])", said)

    def test_ties_that_are_cut(self):
        shared = parameter([3, 4])
        module = Module(x=shared, y=shared)
        self.assertIn("tied parameters: x and y", self.error(module, graph(x=[3, 4], y=[3, 4])))

    def test_many_are_counted(self):
        module = Module(**{f"p{i}": parameter([i]) for i in range(10)})
        self.assertIn("p7 and 2 more", self.error(module, graph(q=[0])))

    def test_dropouts_of_a_module_in_train_mode_drop(self):
        ratio = numpy_helper.from_array(np.asarray(0.1, np.float32), "ratio")
        mode = numpy_helper.from_array(np.asarray(False), "mode")
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        nodes = [
            helper.make_node("Dropout", ["x", "ratio"], ["y"]),
            helper.make_node("Dropout", ["y", "ratio", "mode"], ["z"]),
        ]
        body = helper.make_function(
            *("own", "attend", ["a", "r"], ["b"]),
            [helper.make_node("Dropout", ["a", "r"], ["b"])],
            [helper.make_opsetid("", 17)],
        )
        made = helper.make_graph(nodes, "g", [value("x")], [value("z")], [ratio, mode])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            onnx.save(helper.make_model(made, functions=[body]), path)
            export._keep_dropout(path)
            model = onnx.load(path)
        for nodes in (model.graph.node, model.functions[0].node):
            (true,) = [node for node in nodes if node.op_type == "Constant"]
            self.assertTrue(numpy_helper.to_array(true.attribute[0].t))
            first = next(node for node in nodes if node.op_type == "Dropout")
            self.assertEqual(first.input[2], true.output[0])
        self.assertEqual(model.graph.node[2].input[2], "mode")

    def test_adapters_are_said_to_be_trained(self):
        layers = [f"model.layers.{i}." for i in range(12)]
        ends = [f"{each}_proj.base.weight" for each in "qkvo"] + ["norm.weight"]
        frozen = ["model.embed.weight", *(layer + end for layer in layers for end in ends)]
        adapters = [
            f"{layer}{each}_proj.lora.{ab}" for layer in layers for each in "qv" for ab in "AB"
        ]
        self.assertEqual(
            export._choice(frozen, adapters),
            [
                *("--trainable", r"^model\.layers\.[0-9]+\.q_proj\.lora\."),
                *("--trainable", r"^model\.layers\.[0-9]+\.v_proj\.lora\."),
            ],
        )
        self.assertEqual(
            export._choice(["model.embed.weight"], adapters), ["--freeze", r"^model\.embed\."]
        )
        self.assertEqual(export._choice([], adapters), [])
        self.assertEqual(export._choice(["a.1.b"], []), ["--freeze", r"^a\."])
        self.assertEqual(export._choice(["a.1.b"], ["a.1.c", "a.2.b"])[1], r"^a\.1\.b$")

    def test_patterns_find_what_is_frozen_alone(self):
        trained = ["body.0.bias", "head.weight", "embedding.weight"]
        for frozen, wanted in (
            (["body.0.weight"], [r"^body\.0\.weight$"]),
            (["embed.weight", "embed.bias"], [r"^embed\."]),
            (["body.1.weight", "body.1.bias", "norm"], [r"^body\.1\.", "^norm$"]),
        ):
            patterns = export._patterns(frozen, trained)
            self.assertEqual(patterns, wanted)
            for name in frozen + trained:
                found = any(re.search(pattern, name) for pattern in patterns)
                self.assertEqual(found, name in frozen, name)

    def test_sources_that_are_none(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, said in (
                ("nothing", "is neither a folder with a config.json nor FILE.py:FUNCTION"),
                (folder, "has no config.json"),
                ("nothing.py:make", "there is no file nothing.py"),
            ):
                with self.assertRaisesRegex(Error, said):
                    sources.open_source(text, sources.Wanted())


if __name__ == "__main__":
    unittest.main()
