"""Small graphs with the metadata that the exporters leave, copied from what torch 2.15 wrote."""
import os
import subprocess
import tempfile
import unittest

from check_name_map import parameters
from onnx_writer import *

ATEN = "torch.ops.aten."


def placeholder(name):
    return "p_" + name.replace(".", "_").lower()


def fx(result, target, *arguments):
    return (
        f"%{result} : [num_users=1] = call_function[target={ATEN}{target}](args ="
        f" ({', '.join(arguments)},), kwargs = {{}})"
    )


def call(op, inputs, output, scope, target, *arguments, result=None, **attributes):
    """A node of the dynamo exporter: its module, and the FX call that it was made from."""
    result = result or output
    path = [""] + (["layers", scope] if scope else []) + [result]
    return node(
        op,
        inputs,
        [output],
        f"node_{output}",
        metadata={
            "pkg.torch.onnx.fx_node": fx(result, target, *arguments),
            "pkg.torch.onnx.name_scopes": str(path),
        },
        **attributes,
    )


def dynamo(nodes, listed, initializers, inputs, output, folds=None, rewritten=(), buffers=()):
    """A model of the dynamo exporter. `listed`: parameters in PyTorch's order; `folds`:
    what initializers were folded from; `rewritten`: those that no longer hold what
    torch.export handed over."""
    signature = "\n".join(f"{placeholder(name)}: PARAMETER target='{name}'" for name in listed)
    signature += "".join(
        f"\nb_{name.replace('.', '_')}: BUFFER target='{name}' persistent=True" for name in buffers
    )
    values = [
        value(name, FLOAT, [], {"pkg.onnxscript.optimizer.folded_from": str(sources)})
        for name, sources in (folds or {}).items()
    ]
    values += [
        value(
            name,
            FLOAT,
            [],
            {
                "pkg.torch.export.graph_signature.InputSpec.kind": "PARAMETER",
                "pkg.torch.onnx.original_node_name": placeholder(name),
            },
        )
        for name, _ in initializers
        if name in listed and name not in rewritten
    ]
    return model(
        graph(
            nodes,
            inputs,
            [output],
            [tensor for _, tensor in initializers],
            values=values,
            metadata={"pkg.torch.export.ExportedProgram.graph_signature": signature},
        )
    )


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


class ParameterTest(unittest.TestCase):
    shardc_opt = None  # the tool, which parameter_meanings.py sets

    def run_import(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(content)
            process = subprocess.run(
                [self.shardc_opt, f"--onnx-import=path={path} dims=batch=2"],
                input="module {}",
                capture_output=True,
                text=True,
            )
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
