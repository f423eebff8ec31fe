"""Writes a program as an ONNX file, in the manner of one of the exporters: with the dynamo
exporter's metadata and names, with the legacy exporter's (onnx::MatMul_12,
/layers.0/Constant_output_0, Identity copies), or plainly; parts of it as functions of the model or
as the branch of an If whose condition is known.

`written` says how each parameter is found in what the trainer exports: {parameter: (names that it
may have, whether it is transposed)}."""
import os
import random
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
import onnx_writer as wire  # noqa: E402
from program import TYPES, stored_bytes  # noqa: E402


def attribute(name, value):
    if isinstance(value, tuple):
        dtype, values = value
        value = tensor("", dtype, values)
    if isinstance(value, list) and value and isinstance(value[0], float):
        packed = b"".join(wire.fixed32(7, v) for v in value)
        return wire.message(1, name) + packed + wire.integer(20, 6)
    return wire.attribute(name, value)


def tensor(name, dtype, values):
    values = np.asarray(values)
    return wire.tensor(name, TYPES[dtype][0], values.shape, raw=stored_bytes(values, dtype))


def node(op, inputs, outputs, name="", domain="", metadata=None, attributes=None):
    out = b"".join(wire.message(1, i) for i in inputs) + b"".join(
        wire.message(2, o) for o in outputs
    )
    out += (
        wire.message(3, name)
        + wire.message(4, op)
        + b"".join(wire.message(5, attribute(k, v)) for k, v in (attributes or {}).items())
    )
    return out + wire.message(7, domain) + wire.properties(9, metadata or {})


class Writer:
    def __init__(self, program, habit, symbolic, seed, dressed=True):
        self.program, self.habit, self.symbolic = program, habit, symbolic
        self.random = random.Random(seed)
        self.dressed = dressed  # with functions, branches and copies
        self.initializers, self.infos, self.functions, self.copies = [], [], [], []
        self.renamed = {}  # (index of a node, index of its input): name that is written there
        self.written, self.signature = {}, []
        self.wrapped = set()  # what of If and functions the file has

    def write(self, path):
        program = self.program
        self.place_parameters()
        self.place_constants()
        lines = [self.node(i) for i in range(len(program.nodes))]
        if self.dressed:
            lines = self.wrap(lines)
        lines = self.constants + self.copies + lines
        inputs, outputs = [], []
        for name, given in program.inputs.items():
            dims = list(given.values.shape)
            dims[0] = "batch" if self.symbolic else program.batch
            inputs.append(wire.value(name, TYPES[given.dtype][0], dims))
        for name in dict.fromkeys([program.loss.value, *program.extra_outputs]):
            dims = (
                [None] * len(program.shapes[name]) if self.symbolic else list(program.shapes[name])
            )
            outputs.append(wire.value(name, TYPES[program.types[name]][0], dims))
        metadata = {}
        if self.habit == "dynamo":
            text = "\n".join(
                [
                    "# inputs",
                    *self.signature,
                    *(f"{n}: USER_INPUT" for n in program.inputs),
                    "",
                    "# outputs",
                ]
            )
            metadata = {"pkg.torch.export.ExportedProgram.graph_signature": text}
        graph = wire.graph(lines, inputs, outputs, self.initializers, self.infos, metadata)
        model = wire.model(
            graph, program.opset, 10, self.functions, ("fuzz",) if self.functions else ()
        )
        with open(path, "wb") as file:
            file.write(model)
        return self.written

    # -- parameters and constants ------------------------------------------------------------------

    def readers(self, name):
        return [
            (i, at)
            for i, n in enumerate(self.program.nodes)
            for at, given in enumerate(n.inputs)
            if given == name
        ]

    def place_parameters(self):
        for name, (dtype, values) in self.program.parameters.items():
            stored, turned, names = name, False, {name}
            readers = self.readers(name)
            products = [r for r in readers if self.program.nodes[r[0]].op == "MatMul" and r[1] == 1]
            if (
                self.habit != "plain"
                and values.ndim == 2
                and len(readers) == 1
                and products
                and self.random.random() < 0.5
            ):
                # A Linear's weight, which exporters store transposed under a name of their own.
                stored = (
                    f"onnx::MatMul_{100 + len(self.written)}"
                    if self.habit == "legacy"
                    else f"val_{100 + len(self.written)}"
                )
                turned, names = True, {name}
                self.renamed[readers[0]] = stored
            elif (
                self.dressed
                and self.habit != "dynamo"
                and len(readers) > 1
                and self.random.random() < 0.3
                and values.size > 1
                and (np.ptp(values) > 0)
            ):
                alias = f"tied.{name.split('.')[-1]}.copy"
                self.copies.append(
                    node("Identity", [name], [alias], f"Identity_{len(self.copies)}")
                )
                self.renamed[self.random.choice(readers)] = alias
                names.add(alias)
            self.initializers.append(tensor(stored, dtype, values))
            self.written[name] = (names, turned)
            if self.habit == "dynamo":
                self.signature.append(f"{self.placeholder(name)}: PARAMETER target='{name}'")
                if turned:
                    self.infos.append(
                        wire.value(
                            stored,
                            TYPES[dtype][0],
                            values.shape,
                            {"pkg.onnxscript.optimizer.folded_from": f"['{name}']"},
                        )
                    )

    @staticmethod
    def placeholder(name):
        return "p_" + name.replace(".", "_")

    def place_constants(self):
        self.constants, names = [], {}
        for name, (dtype, values) in self.program.constants.items():
            values = np.asarray(values)
            floats = dtype in ("f32", "f64", "f16", "bf16")
            if self.program.how.get(name) == "initializer" and (
                self.habit == "dynamo" or not floats or values.ndim < 1
            ):
                # A float initializer with a name of its own would be a parameter to learn in a
                # file without metadata.
                names[name] = (
                    f"val_{10000 + len(names)}"
                    if self.habit == "dynamo"
                    else f"/layers.0/Constant_{len(names)}_output_0"
                )
                self.initializers.append(tensor(names[name], dtype, values))
            else:
                names[name] = (
                    name if self.habit != "legacy" else f"/layers.0/Constant_{len(names)}_output_0"
                )
                self.constants.append(
                    node(
                        "Constant",
                        [],
                        [names[name]],
                        f"Constant_{len(names)}",
                        attributes={"value": (dtype, values)},
                    )
                )
        self.constant_names = names

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, index):
        given = self.program.nodes[index]
        inputs = [
            self.renamed.get((index, at)) or self.constant_names.get(i, i)
            for at, i in enumerate(given.inputs)
        ]
        scope = next(
            (i.rsplit(".", 1)[0] for i in given.inputs if i in self.program.parameters), ""
        )
        name, metadata = f"node_{index}", {}
        if self.habit == "legacy":
            # A node's name is its module's path; a renamed weight gets its name from it.
            name = "/" + (scope.replace(".", "/") + "/" if scope else "") + f"{given.op}_{index}"
            turned = [
                i
                for at, i in enumerate(given.inputs)
                if (index, at) in self.renamed
                and i in self.program.parameters
                and self.written[i][1]
            ]
            if turned:
                # The path is that of a module of its own.
                self.written[turned[0]] = ({f"linear.{index}.weight"}, True)
                name = f"/linear.{index}/MatMul"
        if self.habit == "dynamo":
            arguments = [
                ("%" + (self.placeholder(i) if i in self.program.parameters else i))
                for i in given.inputs
                if i
            ]
            product = given.op == "MatMul" and (index, 1) in self.renamed
            target = (
                "torch.ops.aten.linear.default"
                if product
                else f"torch.ops.aten.{given.op.lower()}.default"
            )
            metadata = {
                "pkg.torch.onnx.fx_node": (
                    f"%{given.outputs[0]} : [num_users=1] = call_function[target={target}]"
                    f"(args = ({', '.join(arguments)}), kwargs = {{}})"
                ),
                "pkg.torch.onnx.name_scopes": str(
                    ["", scope, given.outputs[0]] if scope else ["", given.outputs[0]]
                ),
                "pkg.torch.onnx.class_hierarchy": str(
                    ["Model", "Linear", target] if scope else ["Model", target]
                ),
            }
        return node(
            given.op, inputs, given.outputs, name, metadata=metadata, attributes=given.attributes
        )

    def wrap(self, lines):
        """Some runs of nodes as a function, or as the branch of an If."""
        result, at, blocks = [], 0, 0
        while at < len(lines):
            length = self.random.randint(2, 6)
            nodes = self.program.nodes[at : at + length]
            draw = self.random.random()
            if draw < 0.25 and blocks < 3 and self.can_wrap(nodes):
                blocks += 1
                wrapped = (
                    self.function(at, nodes, lines, blocks)
                    if draw < 0.15
                    else self.branch(at, nodes, lines, blocks)
                )
                result += wrapped
            else:
                result += lines[at : at + length]
            at += length
        return result

    def can_wrap(self, nodes):
        if any("Sequence" in n.op for n in nodes):
            return False
        return all(o in self.program.types for n in nodes for o in n.outputs)

    def crossing(self, at, nodes):
        """(values that come from outside, values that are read outside)."""
        made = [o for n in nodes for o in n.outputs if o]
        outside = {
            i
            for k, n in enumerate(self.program.nodes)
            for i in n.inputs
            if not at <= k < at + len(nodes)
        }
        outside.update((self.program.loss.value, *self.program.extra_outputs))
        taken = [
            self.renamed.get((at + k, p)) or self.constant_names.get(i, i)
            for k, n in enumerate(nodes)
            for p, i in enumerate(n.inputs)
            if i and i not in made
        ]
        return list(dict.fromkeys(taken)), [o for o in made if o in outside]

    def function(self, at, nodes, lines, number):
        taken, given = self.crossing(at, nodes)
        if not given:
            return lines[at : at + len(nodes)]
        name = f"block_{number}"
        self.wrapped.add("function")
        self.functions.append(
            wire.function(
                "fuzz", name, taken, given, lines[at : at + len(nodes)], version=self.program.opset
            )
        )
        scope = (
            {"pkg.torch.onnx.name_scopes": "['', 'inner', 'call']"}
            if self.habit == "dynamo"
            else {}
        )
        return [node(name, taken, given, f"call_{number}", "fuzz", scope)]

    def branch(self, at, nodes, lines, number):
        _, given = self.crossing(at, nodes)
        if not given:
            return lines[at : at + len(nodes)]
        self.wrapped.add("If")
        taken = self.random.random() < 0.5
        body = wire.graph(lines[at : at + len(nodes)], [], [self.out(o) for o in given])
        zeros = [
            node(
                "Constant",
                [],
                [f"{o}_else"],
                f"Constant_{o}",
                attributes={"value": (self.program.types[o], np.zeros(self.program.shapes[o]))},
            )
            for o in given
        ]
        other = wire.graph(zeros, [], [self.out(o, "_else") for o in given])
        condition = f"condition_{number}"
        self.initializers.append(tensor(condition, "b1", np.array(taken)))
        branches = {
            "then_branch": wire.Graph(body if taken else other),
            "else_branch": wire.Graph(other if taken else body),
        }
        return [node("If", [condition], given, f"If_{number}", attributes=branches)]

    def out(self, name, suffix=""):
        return wire.value(
            name + suffix,
            TYPES[self.program.types[name]][0],
            [None] * len(self.program.shapes[name]),
        )
