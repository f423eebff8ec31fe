"""Compiling and training an export of torch_models.py, and what is wrong with it
beside PyTorch's run."""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from reference import SHARDC, read_metrics, read_safetensors

LOSS, GRADIENT, PARAMETER = 1e-7, 1e-6, 1e-6  # the last is a thousandth of the learning rate
FLAGS = [
    "--steps",
    "5",
    "--lr",
    "1e-3",
    "--betas",
    "0.9,0.999",
    "--eps",
    "1e-8",
    "--weight-decay",
    "0.01",
]  # those of torch_exports.py


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=600)


def losses(metrics):
    return [s["loss"] for s in read_metrics(metrics)[0] if "loss" in s]


class Exporter:
    """The process that has torch and exports on demand, into one folder."""

    def __init__(self, folder):
        self.folder = folder
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_exports.py")
        self.log = open(os.path.join(folder, "log"), "w+")
        self.process = subprocess.Popen(
            [os.environ.get("PYTHON", sys.executable), program, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def get(self, model, values, export):
        where = os.path.join(self.folder, f"{model}.{values}")
        self.process.stdin.write(f"{model} {values} {export}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            self.log.seek(0)
            raise RuntimeError(f"torch_exports.py ended:\n{self.log.read()[-3000:]}")
        return Export(where, f"{where}.{export}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Outcome:
    """What one export with some flags led to."""

    def __init__(self, told):
        self.told = told  # names that are in the file
        self.refusal = ""  # shardc's message where it compiled nothing
        self.warnings = []  # shardc's
        self.wrong = []  # what differs from PyTorch's run
        self.untrained = []  # parameters that PyTorch trains and the trainer does not
        self.extra = []  # tensors that the trainer trains and PyTorch does not

    def said(self):
        return "\n".join([self.refusal, *self.warnings])

    def is_other(self):
        """Whether it is refused, or trains other tensors than PyTorch."""
        return bool(self.refusal or self.untrained or self.extra)

    def unsaid(self):
        """Tensors of another role than PyTorch's of which no warning tells: by name, or, where an
        exporter kept no name, by the export that does."""
        said = self.said()
        return [
            n
            for n in self.untrained + self.extra
            if not re.search(rf"(?<![\w.]){re.escape(n)}(?![\w.]*\w)", said)
            and (n in self.told or "do_constant_folding=False" not in said)
        ]

    def remedy(self):
        """(flags of shardc, another export) that its messages advise; None where they advise
        nothing."""
        said, flags = self.said(), []
        pattern = lambda names: "^(" + "|".join(map(re.escape, names)) + ")$"
        known = [n for n in self.untrained if n in self.told]
        if self.extra and "--buffer" in said:
            flags += ["--buffer", pattern(self.extra)]
        if known and "--trainable" in said:
            flags += ["--trainable", pattern(known), "--trainable", "."]
        if flags and known == self.untrained:
            return flags, None
        for words, export in (
            ("do_constant_folding=False", "legacy"),
            ("optimize=False", "dynamo-unoptimized"),
            ("dynamo=True", "dynamo"),
        ):
            if words in said:
                return [], export
        return None


class Export:
    def __init__(self, run, folder):
        self.run, self.folder = run, folder

    def error(self):
        """What the exporter said where it failed, else None."""
        path = os.path.join(self.folder, "error.txt")
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return file.read()

    def check(self, *flags):
        """Compiles with `flags` and trains beside PyTorch's run."""
        with tempfile.TemporaryDirectory() as folder:
            return self.check_in(folder, flags)

    def check_in(self, folder, flags):
        path = lambda name: os.path.join(folder, name)
        model = os.path.join(self.folder, "model.onnx")
        with open(os.path.join(self.folder, "graph.json")) as file:
            graph = json.load(file)
        outcome = Outcome(graph["names"])
        with open(os.path.join(self.run, "run.json")) as file:
            expected = json.load(file)
        dims = [f"--dim={n}={size}" for n, size in graph["dims"].items()]
        compiled = run(
            SHARDC,
            model,
            "--mesh",
            "2",
            "--precision",
            "float64",
            "--loss",
            "cross-entropy:logits=logits,labels=labels",
            *dims,
            *flags,
            "-o",
            path("m.trainer"),
        )
        if compiled.returncode == 1:
            outcome.refusal = compiled.stderr.strip()
        elif compiled.returncode:
            outcome.wrong.append(
                f"shardc ended with {compiled.returncode}: {compiled.stderr[-500:]}"
            )
        if compiled.returncode:
            return outcome
        outcome.warnings = [l for l in compiled.stderr.splitlines() if "warning" in l]
        data = [
            f"--data={n}={os.path.join(self.run, n + '.npy')}" for n in [*graph["inputs"], "labels"]
        ]
        trained = run(
            path("m.trainer"),
            *data,
            *FLAGS,
            "--metrics",
            path("m.jsonl"),
            "--export-gradients",
            path("g.st"),
            "--export-safetensors",
            path("w.st"),
        )
        if trained.returncode:
            outcome.wrong.append(
                f"the trainer ended with {trained.returncode}:"
                f" {(trained.stderr or trained.stdout)[-500:]}"
            )
            return outcome
        self.compare(
            outcome,
            expected,
            losses(path("m.jsonl")),
            read_safetensors(path("g.st")),
            read_safetensors(path("w.st")),
            graph["traced"],
        )
        if outcome.untrained or outcome.extra:
            return outcome
        # PyTorch's own file of what it trained is read under its names and in its shapes.
        again = run(
            path("m.trainer"),
            *data,
            "--steps",
            "1",
            "--lr",
            "0",
            "--metrics",
            path("again.jsonl"),
            "--weights",
            os.path.join(self.run, "final.safetensors"),
        )
        if again.returncode:
            outcome.wrong.append(
                f"--weights with PyTorch's parameters: {(again.stderr or again.stdout)[-500:]}"
            )
        else:
            self.compare_loss(
                outcome.wrong,
                "loss with PyTorch's parameters",
                losses(path("again.jsonl"))[0],
                expected["losses"][-1],
            )
        return outcome

    def compare(self, outcome, theirs, losses, gradients, parameters, traced):
        """`traced`: the exporter has moved running statistics."""
        tensors = {
            n: read_safetensors(os.path.join(self.run, n + ".safetensors"))
            for n in ("gradients", "final")
        }
        names, wrong = theirs["names"], outcome.wrong
        first = {alias: n for n, aliases in names.items() for alias in aliases}
        trained = set(theirs["trained"])
        for name in [n for n in gradients if n not in names and n in first]:
            wrong.append(f"{name} is a second name of {first[name]}")
            gradients[first[name]] = gradients.pop(name)
            if name in parameters:
                parameters[first[name]] = parameters.pop(name)
        outcome.extra = sorted(n for n in gradients if n not in trained)
        outcome.untrained = sorted(trained - set(gradients))
        # What is trained otherwise than PyTorch's changes all later numbers: they count in the run
        # where a remedy was applied.
        steps = 1 if outcome.extra or outcome.untrained else len(theirs["losses"]) - 1
        if len(losses) != len(theirs["losses"]) - 1:
            wrong.append(f"{len(losses)} losses")
        for step, (mine, expected) in enumerate(zip(losses[:steps], theirs["losses"])):
            if not self.compare_loss(wrong, f"loss of step {step}", mine, expected):
                break
        comparable = steps > 1 and not traced
        for name in theirs["statistics"] if comparable else ():
            if name not in parameters:
                wrong.append(f"{name} runs and is not exported")
            else:
                self.compare_tensor(
                    wrong, f"{name} at the end", parameters[name], tensors["final"][name], PARAMETER
                )
        for name in sorted(trained & set(gradients)):
            gradient = tensors["gradients"][name]
            self.compare_tensor(
                wrong,
                f"gradient of {name}",
                gradients[name],
                gradient,
                GRADIENT * np.abs(gradient).max(initial=0),
            )
            if name not in parameters:
                wrong.append(f"{name} is trained and not exported")
            elif steps > 1:
                self.compare_tensor(
                    wrong, f"{name} at the end", parameters[name], tensors["final"][name], PARAMETER
                )

    @staticmethod
    def compare_loss(wrong, what, mine, expected):
        right = abs(mine - expected) <= LOSS * abs(expected)
        if not right:
            wrong.append(f"{what}: {mine:.9f} for {expected:.9f}")
        return right

    @staticmethod
    def compare_tensor(wrong, what, mine, expected, bound):
        if mine.shape != expected.shape:
            wrong.append(f"{what} has shape {list(mine.shape)} for {list(expected.shape)}")
        elif not np.abs(mine - expected).max(initial=0) <= max(bound, 1e-12):
            hint = (
                ", transposed"
                if mine.ndim == 2
                and mine.shape[0] == mine.shape[1]
                and np.abs(mine.T - expected).max() <= max(bound, 1e-12)
                else ""
            )
            wrong.append(
                f"{what} is off by"
                f" {np.abs(mine - expected).max() / max(np.abs(expected).max(), 1e-30):.1e} of its"
                f" largest element{hint}"
            )
