"""Makes a case with a finding smaller as long as the same finding stays, and writes a folder
that reproduces it: the model, its data, the command line, the program as text and the
expected numbers."""
import copy
import dataclasses
import os
import shlex
import shutil
import tempfile

import numpy as np

from evaluate import Written, by_torch
from generate import Case, generate
from judge import Finding, Judge, Work
from program import FLOATS, Input, Loss, Node, rounded

MOST_TRIALS = 400


class Minimizer:
    def __init__(self, case, finding, torch, folder):
        self.case, self.finding, self.folder = case, finding, folder
        self.judge, self.dressed, self.trials = Judge(torch), True, 0

    def still(self, case, dressed=None):
        """Whether the smaller case has the finding; if so it becomes the case."""
        dressed = self.dressed if dressed is None else dressed
        self.trials += 1
        if self.trials > MOST_TRIALS:
            return False
        try:
            if not case.program.trained() or case.program.folds_inexactly():
                return False
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                found = self.judge.judge(case, place, dressed)
        except Exception:  # a cut that makes no sense
            return False
        if not self.finding.same(found):
            return False
        self.case, self.dressed, self.finding = case, dressed, found
        return True

    def with_program(self, program):
        return Case(self.case.seed, program.pruned(), self.case.configuration, self.case.habit)

    def run(self):
        self.still(copy.deepcopy(self.case), dressed=False)
        self.configurations()
        before = None
        while before != self.size() and self.trials < MOST_TRIALS:
            before = self.size()
            self.loss()
            self.nodes()
        self.configurations()
        self.smaller_batch()
        return self.case

    def size(self):
        program = self.case.program
        return (
            len(program.nodes),
            len(program.parameters),
            len(program.inputs),
            len(self.case.configuration.compile),
        )

    # -- configuration -----------------------------------------------------------------------------

    def configurations(self):
        one = self.with_configuration(
            mesh="1", micro_batches=1, compile={"--threads-per-rank": "1"}, frozen=""
        )
        if not self.still(one):
            for change in ({"micro_batches": 1}, {"mesh": "1"}, {"mesh": "2"}, {"frozen": ""}):
                self.still(self.with_configuration(**change))
            for flag in list(self.case.configuration.compile):
                self.still(
                    self.with_configuration(
                        compile={
                            k: v for k, v in self.case.configuration.compile.items() if k != flag
                        }
                    )
                )
        for change in ({"symbolic": False}, {"precision": "float64"}, {"precision": "float32"}):
            self.still(self.with_configuration(**change))
        if self.case.habit != "plain":
            self.still(Case(self.case.seed, self.case.program, self.case.configuration, "plain"))

    def with_configuration(self, **changes):
        configuration = dataclasses.replace(self.case.configuration, **changes)
        program = self.case.program
        parts = configuration.parts()
        if parts < self.case.configuration.parts():
            samples = parts * program.batch
            inputs = {
                k: dataclasses.replace(v, values=v.values[:samples])
                for k, v in program.inputs.items()
            }
            loss = dataclasses.replace(
                program.loss,
                labels=None if program.loss.labels is None else program.loss.labels[:samples],
            )
            program = dataclasses.replace(program, inputs=inputs, loss=loss)
        return Case(self.case.seed, program, configuration, self.case.habit)

    # -- program -----------------------------------------------------------------------------------

    def loss(self):
        program = self.case.program
        if program.extra_outputs:
            self.still(self.with_program(dataclasses.replace(program, extra_outputs=[])))
        program = self.case.program
        if program.loss.kind != "output":
            # The graph's own number instead: the mean of what was compared with labels.
            total = Node("ReduceMean", [program.loss.value], ["total"], {"keepdims": 0})
            smaller = dataclasses.replace(
                program, nodes=[*program.nodes, total], loss=Loss("output", "total")
            )
            smaller.types = {**program.types, "total": program.types[program.loss.value]}
            smaller.shapes = {**program.shapes, "total": ()}
            self.still(self.with_program(smaller))

    def nodes(self):
        """From the last node to the first: a value is replaced by one of those that it is made of,
        or by a leaf with its numbers."""
        index = len(self.case.program.nodes) - 1
        while index >= 0 and self.trials < MOST_TRIALS:
            program = self.case.program
            if index < len(program.nodes):
                self.bypass(program, program.nodes[index]) or self.cut(
                    program, program.nodes[index]
                )
            index -= 1

    def bypass(self, program, node):
        for output in node.outputs:
            for name in dict.fromkeys(node.inputs):
                if (
                    name
                    and program.types.get(name) == program.types.get(output)
                    and program.shapes.get(name) == program.shapes.get(output)
                ):
                    if self.still(self.with_program(renamed(program, output, name))):
                        return True
        return False

    def cut(self, program, node):
        """The node's result as a constant, a parameter or an input."""
        if len(node.outputs) != 1 or self.case.configuration.parts() != 1:
            return False
        output = node.outputs[0]
        try:
            value = Written(program, 1, np.float64).values[0].get(output)
        except Exception:
            return False
        if not isinstance(value, np.ndarray) or program.shapes[output] != value.shape:
            return False
        dtype, nodes = program.types[output], [n for n in program.nodes if n is not node]
        values = np.asarray(rounded(value, dtype))
        leaves = [
            dataclasses.replace(
                program,
                nodes=nodes,
                constants={**program.constants, output: (dtype, values)},
                how={**program.how, output: "node"},
            )
        ]
        if value.ndim and value.shape[0] == program.batch:
            leaves.append(
                dataclasses.replace(
                    program, nodes=nodes, inputs={**program.inputs, output: Input(dtype, values)}
                )
            )
        if dtype in FLOATS and value.ndim:  # a scalar at the root may be taken for a constant
            leaves.append(
                dataclasses.replace(
                    program, nodes=nodes, parameters={**program.parameters, output: (dtype, values)}
                )
            )
        return any(self.still(self.with_program(leaf)) for leaf in leaves)

    def smaller_batch(self):
        program = self.case.program
        for batch in range(1, program.batch):
            rows = self.case.configuration.parts() * batch
            inputs = {
                k: dataclasses.replace(v, values=v.values[:rows]) for k, v in program.inputs.items()
            }
            loss = dataclasses.replace(
                program.loss,
                labels=None if program.loss.labels is None else program.loss.labels[:rows],
            )
            smaller = dataclasses.replace(
                program, batch=batch, inputs=inputs, loss=loss, shapes=dict(program.shapes)
            )
            try:
                written = Written(smaller, self.case.configuration.parts(), np.float64)
                environment = written.values[0]
            except Exception:
                continue
            smaller.shapes.update(
                {k: v.shape for k, v in environment.items() if isinstance(v, np.ndarray)}
            )
            if self.still(Case(self.case.seed, smaller, self.case.configuration, self.case.habit)):
                return


def renamed(program, old, new):
    """The program with every read of `old` replaced."""
    nodes = [
        Node(n.op, [new if i == old else i for i in n.inputs], n.outputs, n.attributes)
        for n in program.nodes
    ]
    loss = dataclasses.replace(
        program.loss, value=new if program.loss.value == old else program.loss.value
    )
    return dataclasses.replace(
        program,
        nodes=nodes,
        loss=loss,
        extra_outputs=[o for o in program.extra_outputs if o != old],
    )


def write_reproducer(case, finding, folder, dressed, torch):
    """model.onnx, data, run.sh, program.txt, finding.txt and expected.npz."""
    shutil.rmtree(folder, ignore_errors=True)
    work = Work(case, folder, dressed)
    words = [
        os.path.relpath(w, folder) if w.startswith(folder) else w for w in work.compile_words()[1:]
    ]
    run = [
        ("./" if i == 0 else "") + w.replace(folder + os.sep, "")
        for i, w in enumerate(work.run_words())
    ]
    with open(os.path.join(folder, "run.sh"), "w", encoding="utf-8") as file:
        file.write(
            '#!/bin/sh\n# SHARDC names the compiler.\ncd "$(dirname "$0")" || exit 1\n'
            f'"${{SHARDC:-shardc}}" {shlex.join(words)} &&\n{shlex.join(run)}\n'
        )
    with open(os.path.join(folder, "program.txt"), "w", encoding="utf-8") as file:
        file.write(f"{case.habit} names, {case.configuration}\n{case.program.text()}\n")
    with open(os.path.join(folder, "finding.txt"), "w", encoding="utf-8") as file:
        file.write(f"seed {case.seed}: {finding}\n{finding.detail}\n")
    try:
        parts = case.configuration.parts()
        loss, gradients = (
            by_torch(case.program, parts)
            if torch
            else (float(Written(case.program, parts).loss), {})
        )
        np.savez(
            os.path.join(folder, "expected.npz"),
            loss=loss,
            **{f"gradient of {k}": v for k, v in gradients.items()},
        )
    except Exception as error:
        print(f"  no expected numbers: {error}")


def minimize(seed, finding, folder, torch, target=""):
    with tempfile.TemporaryDirectory(prefix="shardc-fuzz-") as place:
        minimizer = Minimizer(generate(seed, target=target), finding, torch, place)
        case = minimizer.run()
    write_reproducer(case, minimizer.finding, os.path.abspath(folder), minimizer.dressed, torch)
    print(
        (
            f"seed {seed}: {len(case.program.nodes)} nodes after {minimizer.trials} trials, in"
            f" {folder}: {minimizer.finding}"
        ),
        flush=True,
    )
    return case


__all__ = ["Finding", "minimize"]
