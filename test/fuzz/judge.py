"""Compiles a case, runs one step, and holds what comes out against the references."""
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np

from evaluate import Written, by_torch, largest_by_torch, rounded_by_torch
from program import FLOATS, TYPES, rounded
from write_onnx import Writer

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "training"))
import emulated_cuda  # noqa: E402
from reference import read_safetensors  # noqa: E402

SHARDC = os.path.join(os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build")), "bin", "shardc")
# Relative error that one rounding of the type makes.
ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "bf16": 2.0**-9, "float16": 2.0**-12}
EXACT, TAKEN = 1e-8, 1e-6
LARGEST_FLOAT16 = 65504
MOST_KINKS = 64  # of one gradient
LIMIT = 60  # seconds for a compilation, and for a step
EMULATED_LIMIT = 600  # on emulated GPUs, whose kernels are compiled for this machine first
RAW = re.compile(
    r"LLVM ERROR|Assertion|PLEASE submit|Stack dump|mlir::|loc\(|error:"
    r" '(?:nn|step|fsdp|func|linalg|arith|math|scf|memref|vector|llvm)\.|"
    r"failed to legalize|AddressSanitizer|runtime error|terminate called|std::"
)


# Refusals that name a limit of shardc and what to do: no finding.
KNOWN_LIMITS = re.compile(
    r"'nn\.rope' op has no gradient of its angles; freeze|"
    r"'nn\.attention' op has no gradient of its bias; keep a trained bias out of attention|"
    r"expects an input that reaches the loss, got none|"
    # of parameters that no loss reaches
    r"--units scope:layers\S+ matches no parameter; there are (?!.*layers\.)"
)


class Finding:
    """What is wrong with a case: a kind (crash, hang, message, refused, lost, loss,
    gradient, seam) and text."""

    def __init__(self, kind, text, detail=""):
        self.kind, self.text, self.detail = kind, text, detail

    def same(self, other):
        return (
            other is not None
            and self.kind == other.kind
            and signature(self.text) == signature(other.text)
        )

    def __str__(self):
        return f"{self.kind}: {self.text}"


def signature(text):
    """The text without names and numbers."""
    text = re.sub(r"'[^']*'", "'_'", text)
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", text)[:160]


class Work:
    """A case's files in a folder."""

    def __init__(self, case, folder, dressed=True):
        self.case, self.folder = case, folder
        program = case.program
        os.makedirs(folder, exist_ok=True)
        self.model = os.path.join(folder, "model.onnx")
        self.trainer = os.path.join(folder, "model.trainer")
        self.weights = os.path.join(folder, "weights.safetensors")
        self.gradients = os.path.join(folder, "gradients.safetensors")
        self.metrics = os.path.join(folder, "metrics.jsonl")
        writer = Writer(program, case.habit, case.configuration.symbolic, case.seed, dressed)
        self.names = writer.write(self.model)
        case.wrapped = writer.wrapped
        kept = program.needed([program.loss.value])
        self.data = {}
        for name, given in program.inputs.items():
            if name in kept:
                self.save(name, given.values, given.dtype)
        if program.loss.target:
            self.save(
                program.loss.target,
                program.loss.labels,
                "f32" if program.loss.kind == "mse" else "i64",
            )

    def save(self, name, values, dtype):
        self.data[name] = os.path.join(self.folder, f"{name}.npy")
        np.save(
            self.data[name],
            np.asarray(
                values,
                (
                    np.float64
                    if dtype == "f64"
                    else np.float32
                    if dtype in FLOATS
                    else TYPES[dtype][1]
                ),
            ),
        )

    def compile_words(self):
        loss, configuration = self.case.program.loss, self.case.configuration
        if loss.kind == "output":
            text = f"output:{loss.value}"
        elif loss.kind == "mse":
            text = f"mse:output={loss.value},target={loss.target}"
        else:
            text = (
                f"cross-entropy:logits={loss.value},labels={loss.target}"
                f",ignore={loss.ignore},shift={loss.shift}"
            )
        frozen = self.names.get(configuration.frozen, ((), False))[0]
        trained = [
            n
            for p in self.case.program.trained()
            if p != configuration.frozen
            for n in self.names[p][0]
        ]
        return [
            SHARDC,
            self.model,
            "--loss",
            text,
            "-o",
            self.trainer,
            *configuration.compile_flags(self.case.program.batch, frozen, trained),
        ]

    def environment(self):
        if not self.case.configuration.target.startswith("cuda"):
            return {}
        return emulated_cuda.environment(self.case.configuration.ranks())

    def run_words(self):
        words = [
            self.trainer,
            "--steps",
            "1",
            "--lr",
            "0",
            "--export-gradients",
            self.gradients,
            "--metrics",
            self.metrics,
            "--export-safetensors",
            self.weights,
        ]
        for name, path in self.data.items():
            words += ["--data", f"{name}={path}"]
        return words + self.case.configuration.run_flags()


def execute(words, folder, settings=None):
    """The output, or a Finding. settings: variables of the environment."""
    limit = EMULATED_LIMIT if settings else LIMIT
    settings = settings or {}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": folder, **settings}
    what = os.path.basename(words[0])
    try:
        process = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=limit, env=environment
        )
    except subprocess.TimeoutExpired:
        return Finding("hang", f"{what} ran for more than {limit} s")
    output = process.stderr + process.stdout
    if process.returncode < 0 or process.returncode > 2:
        name = (
            signal.Signals(-process.returncode).name
            if process.returncode < 0
            else str(process.returncode)
        )
        return Finding("crash", f"{what} ended with {name}: {last_line(output)}", output)
    if RAW.search(output):
        return Finding(
            "message",
            f"{what}: {next(l for l in output.splitlines() if RAW.search(l))[:300]}",
            output,
        )
    if process.returncode:
        return Finding("refused", f"{what}: {last_line(output)}", output)
    return output


def last_line(text):
    lines = (
        [l for l in text.strip().splitlines() if "error" in l] or text.strip().splitlines() or [""]
    )
    return lines[-1][:400]


class Judge:
    """torch: also by torch, all elements; else by differences, along directions."""

    def __init__(self, torch=False, directions=2):
        self.torch, self.directions = torch, directions

    def judge(self, case, folder, dressed=True):
        """None, or what is wrong."""
        work = Work(case, folder, dressed)
        compiled = execute(work.compile_words(), folder)
        if isinstance(compiled, Finding):
            if compiled.kind == "refused" and (
                KNOWN_LIMITS.search(compiled.text) or self.has_nothing_to_train(case, compiled)
            ):
                return None
            return compiled
        ran = execute(work.run_words(), folder, work.environment())
        while isinstance(ran, Finding) and (
            unused := re.search(r"--data (\S+): the model has no such input", ran.text)
        ):
            # What the loss takes nothing but the shape from is no input of the trainer.
            del work.data[unused.group(1)]
            ran = execute(work.run_words(), folder, work.environment())
        if isinstance(ran, Finding):
            return ran
        with open(work.metrics) as file:
            step = json.loads(file.readline())
        return self.compare(
            case, work, step["loss"], read_safetensors(work.gradients), compiled + ran
        )

    @staticmethod
    def has_nothing_to_train(case, refusal):
        """Whether the loss really does not change with any parameter, where the
        compiler says so."""
        if "expects a trainable parameter that reaches the loss" not in refusal.text:
            return False
        written = Written(case.program, case.configuration.parts())
        return all(
            slope == 0 or not smooth
            for name in case.program.trained()
            if name != case.configuration.frozen
            for slope, smooth, _ in [
                written.slope(
                    name,
                    np.random.default_rng(1).standard_normal(
                        case.program.parameters[name][1].shape
                    ),
                )
            ]
        )

    def compare(self, case, work, loss, exported, output):
        gradients, finding = self.gradients(case, work, exported, output)
        if finding:
            return finding
        finding = self.numbers(case, loss, gradients)
        if finding and case.configuration.precision != "float64":
            finding = self.numbers(case, loss, gradients, seeds=24)
        if finding and case.program.may_fold():
            # What is computed while compiling is the compiler's own affair where it is rounded more
            # than once, or made of what is no constant in the file.
            finding = self.numbers(case, loss, gradients, seeds=24, folds=False) and finding
        return finding or self.weights(case.program, work)

    def numbers(self, case, loss, gradients, seeds=3, folds=True):
        """None, or a finding. seeds: how many runs say what rounding does; folds as of Written."""
        program, parts = case.program, case.configuration.parts()
        precision = re.match(r"(?:param=)?(\w+)", case.configuration.precision).group(1)
        unit = ROUNDING[precision] if precision != "float64" else 0
        written = Written(program, parts, np.longdouble, folds=folds)
        expected = float(written.loss)
        noisy = [
            Written(program, parts, np.float64, unit * 4, seed, folds)
            for seed in range(seeds if unit else 0)
        ]
        self.exact = TAKEN if program.takes_constants else EXACT
        # Of constants that float32 has rounded, large numbers that cancel show more.
        share = 0.1 if program.takes_constants else 1e-3
        allowed = self.exact * max(abs(expected), share * sum_of_sizes(written))
        if noisy:
            allowed = 8 * max(abs(float(n.loss) - expected) for n in noisy) + 16 * unit * max(
                1, abs(expected)
            )
        if not abs(loss - expected) <= allowed:
            if self.is_at_a_step(program, case.configuration, loss, expected):
                return None
            return Finding("loss", f"is {loss!r}, expected {expected!r}, bound {allowed:.3g}")
        if self.torch:
            return self.by_torch(case, written, gradients, unit, expected, seeds, folds)
        return self.by_differences(case, written, noisy, gradients, unit, expected)

    @staticmethod
    def is_at_a_step(program, configuration, loss, expected):
        """Whether errors of a last place move the loss as far: log(exp(x)) > x is
        decided by rounding."""
        shaken = [
            float(Written(program, configuration.parts(), np.float64, 2.0**-51, seed).loss)
            for seed in range(6)
        ]
        return abs(loss - expected) <= 4 * max(abs(s - expected) for s in shaken)

    def gradients(self, case, work, exported, output):
        """{parameter: gradient}, as the trainer exported them; or what is missing."""
        result, frozen, left = {}, case.configuration.frozen, dict(exported)
        warned = "\n".join(l for l in output.splitlines() if "warning" in l)
        for name in case.program.trained():
            names, turned = work.names[name]
            found = [n for n in names if n in left]
            if name == frozen:
                if found:
                    return result, Finding("lost", f"'{name}' is frozen and has a gradient")
                continue
            if not found:
                if not any(f"'{n}'" in warned for n in names):
                    return result, Finding(
                        "lost",
                        f"'{name}' has no gradient and no warning names it",
                        "\n".join(exported),
                    )
                continue
            values = left.pop(found[0])
            result[name] = np.asarray(values.T if turned else values, np.float64)
            if result[name].shape != case.program.parameters[name][1].shape:
                return result, Finding("gradient", f"of '{name}' has shape {list(values.shape)}")
        extra = [n for n in left if not any(n in names for names, _ in work.names.values())]
        if extra:
            return result, Finding("lost", f"'{extra[0]}' has a gradient and is no parameter")
        return result, None

    @staticmethod
    def weights(program, work):
        """A step with learning rate 0 leaves every parameter as it is, and exports it under its
        name, as PyTorch has it."""
        exported = read_safetensors(work.weights)
        for name in program.trained():
            names, turned = work.names[name]
            for found in names & set(exported):
                values = np.asarray(exported[found], np.float64)
                expected = program.parameters[name][1]
                if exported[found].dtype == np.float32:  # master weights
                    expected = rounded(expected, "f32")
                if not np.array_equal(values.T if turned else values, expected):
                    return Finding(
                        "weights",
                        (
                            f"'{found}' was exported with other values or another shape,"
                            f" {list(values.shape)}"
                        ),
                    )
        return None

    def by_differences(self, case, written, noisy, gradients, unit, loss):
        largest = max((np.max(np.abs(g), initial=0) for g in gradients.values()), default=0)
        random = np.random.default_rng(case.seed)
        for name, gradient in gradients.items():
            if not np.all(np.isfinite(gradient)):
                return Finding("gradient", f"of '{name}' is not finite")
            for index in range(min(self.directions, max(1, gradient.size))):
                direction = random.standard_normal(gradient.shape)
                if index:  # one element
                    direction = np.zeros(gradient.shape)
                    direction.flat[random.integers(gradient.size)] = 1
                slope, smooth, doubt = written.slope(name, direction)
                if not smooth:
                    continue
                got, size = float(np.sum(gradient * direction)), float(np.linalg.norm(direction))
                allowed = self.exact * size * np.linalg.norm(gradient) + 1e-10 * size * (
                    1 + largest + abs(loss)
                )
                allowed += doubt
                if unit:
                    others = [n.slope(name, direction)[0] for n in noisy]
                    spread = max((abs(o - slope) if np.isfinite(o) else np.inf) for o in others)
                    allowed = 16 * spread + 64 * unit * size * (
                        np.linalg.norm(gradient) + 0.1 * largest + 0.05
                    )
                if not abs(got - slope) <= allowed:
                    return Finding(
                        "gradient",
                        (
                            f"of '{name}' along a direction is {got!r}, expected {slope!r}, bound"
                            f" {allowed:.3g}"
                        ),
                    )
        return None

    def by_torch(self, case, written, gradients, unit, loss, seeds, folds):
        program, parts = case.program, case.configuration.parts()
        theirs, expected = by_torch(program, parts, folds=folds)
        if not abs(theirs - loss) <= 1e-11 * max(1, abs(loss), 1e-3 * sum_of_sizes(written)):
            if self.is_at_a_step(program, case.configuration, theirs, loss):
                return None
            return Finding("reference", f"loss is {theirs!r} by torch, {loss!r} by numpy")
        largest = max((np.max(np.abs(g), initial=0) for g in expected.values()), default=0)
        shaken = (
            [
                by(program, parts, unit * 4, seed, folds)[1]
                for by in (by_torch, rounded_by_torch)
                for seed in range(seeds)
            ]
            if unit
            else []
        )
        scale = float(case.configuration.run.get("--loss-scale", 1))
        overflows = scale > 1 and scale * largest_by_torch(program, parts) > LARGEST_FLOAT16 / 2
        for name, gradient in gradients.items():
            if overflows and not np.all(np.isfinite(gradient)):
                continue  # such a step is skipped
            true = expected[name]
            size = np.max(np.abs(true), initial=0)
            allowed = self.exact * size + 1e-3 * self.exact * (1 + largest)
            size_of = lambda off: np.max(np.abs(off), initial=0)
            if unit:
                # An error may leave where a function is defined.
                spread = max(
                    (n for n in (np.linalg.norm(s[name] - true) for s in shaken) if np.isfinite(n)),
                    default=np.inf,
                )
                allowed = 16 * spread + 64 * unit * (np.linalg.norm(true) + 0.1 * largest + 0.05)
                size_of = np.linalg.norm
            finding = self.first_wrong(written, name, gradient, true, size_of, allowed)
            if finding and finding.kind == "seam":
                # Where elements are equal in several windows, each decides by itself, and all of
                # them together may choose nothing that lies between the two sides.
                ties = [
                    np.abs(by_torch(program, parts, 2.0**-51, seed, folds)[1][name] - true)
                    for seed in range(6)
                ]
                if np.all(np.abs(gradient - true) <= allowed + 4 * np.max(ties, axis=0)):
                    continue
            if finding:
                return finding
        return None

    @staticmethod
    def first_wrong(written, name, gradient, true, size_of, allowed):
        """None, or what is wrong of a gradient whose error may have a size. Of elements where the
        loss has a kink it may be any derivative between those to both sides: torch has one
        convention, docs/seams.md says which of them shardc has."""
        left = gradient.copy()
        for _ in range(min(left.size, MOST_KINKS)):
            off = np.abs(left - true)
            if size_of(off) <= allowed:
                return None
            where = np.unravel_index(np.argmax(np.nan_to_num(off, nan=np.inf)), true.shape)
            got, expected = gradient[where], true[where]
            left[where] = expected
            direction = np.zeros(true.shape)
            direction[where] = 1
            slope, smooth, doubt = written.slope(name, direction)
            text = (
                f"of '{name}' at {list(map(int, where))} is {got!r}, expected {expected!r}, bound"
                f" {allowed:.3g}"
            )
            if not smooth:
                least, most = written.one_sided_slopes(name, direction)
                slack = allowed + 1e-5 * (abs(least) + abs(most))
                if not least - slack <= got <= most + slack:
                    return Finding("seam", f"{text}; to both sides {least!r} and {most!r}")
            elif abs(slope - expected) > 1e-6 * (1 + abs(slope)):
                return Finding("reference", f"{text}; by differences {slope!r}")
            elif not abs(slope - got) <= allowed + doubt:
                return Finding("gradient", text)
        if size_of(np.abs(left - true)) <= allowed:
            return None
        return Finding("seam", f"of '{name}' at more than {MOST_KINKS} places; the last: {text}")


def sum_of_sizes(written):
    """How large the numbers are that the loss is made of."""
    return max(
        (
            float(np.max(np.abs(v), initial=0))
            for e in written.values
            for v in e.values()
            if isinstance(v, np.ndarray) and v.dtype.kind == "f" and np.all(np.isfinite(v))
        ),
        default=0,
    )
