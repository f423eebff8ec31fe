"""Expected numbers: the loss of a step by the written reference, derivatives of it by differences,
and by torch where that is there.

A step is cut into parts, one for each rank and micro-batch; part p takes the samples [p batch, (p +
1) batch). docs/running.md says how the losses of the parts become one."""
import numpy as np

import numpy_ops_carried  # noqa: F401  (registers its operators)
import numpy_ops_fourier  # noqa: F401
import numpy_ops_moves  # noqa: F401
import numpy_ops_recurrent  # noqa: F401
import numpy_ops_reductions  # noqa: F401
import numpy_ops_sampling  # noqa: F401
import numpy_ops_windows  # noqa: F401
from numpy_ops import OPS, Call
from numpy_ops_quantize import through
from program import FLOATS, TYPES, rounded

STEP = 1e-6  # of differences; in 80-bit floats it leaves 12 digits


def as_array(dtype, values, wide):
    return np.array(values, wide) if dtype in FLOATS else np.array(values, TYPES[dtype][1])


def folded(value, dtype, wide):
    """What the compiler works out has the file's type."""
    if isinstance(value, list):
        return [folded(v, dtype, wide) for v in value]
    return np.asarray(rounded(value, dtype), wide) if dtype in FLOATS and dtype != "f64" else value


def step_noise(value, key, relative):
    """Relative errors of a rounding, the same whenever the same place is evaluated."""
    if relative == 0 or not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    numbers = np.random.default_rng(key)
    errors = relative * numbers.uniform(-1, 1, value.shape).astype(value.dtype)
    return np.asarray(value * (1 + errors))  # of a scalar numpy makes no array


# Stands before the name of what is quantized: for what is learned of it.
LEARNED = "learned of "


class Written:
    """The program by numpy. noise: parameters and float results are wrong by as much, relatively,
    which shows what rounding to a type can do. folds: what is known while compiling has the file's
    types."""

    def __init__(self, program, parts, wide=np.longdouble, noise=0.0, seed=0, folds=True):
        self.program = program
        self.parts = parts
        self.wide = wide
        self.noise = noise
        self.seed = seed
        kept = program.needed([program.loss.value])
        self.known = program.known() if folds else set()
        self.nodes = [n for n in program.nodes if any(o in kept for o in n.outputs)]
        shared = {name: as_array(t, v, wide) for name, (t, v) in program.constants.items()}
        for name, (dtype, values) in program.parameters.items():
            shared[name] = step_noise(as_array(dtype, values, wide), (seed, hash_of(name)), noise)
        self.values = []
        for part in range(parts):
            environment = dict(shared)
            for name, given in program.inputs.items():
                rows = slice(part * program.batch, (part + 1) * program.batch)
                environment[name] = as_array(given.dtype, given.values[rows], wide)
            self.run(self.nodes, environment, part)
            self.values.append(environment)
        self.loss = self.combined(self.values)
        self.readers = {}

    def run(self, nodes, environment, part, base=None):
        """base: what there was before a parameter was changed. What was quantized then moves with
        what is learned of it."""
        with np.errstate(all="ignore"):
            for node in nodes:
                inputs = [environment[i] if i else None for i in node.inputs]
                call = Call(node, inputs, self.program.opset, self.wide)
                results = OPS[node.op](call)
                if (learned := through(call)) is not None:
                    environment[LEARNED + node.outputs[0]] = learned
                source = LEARNED + node.inputs[0] if node.inputs else LEARNED
                if base is not None and node.op == "DequantizeLinear" and source in base:
                    results = [base[node.outputs[0]] + environment[source] - base[source]]
                for at, (name, result) in enumerate(zip(node.outputs, results)):
                    if name:
                        result = result if isinstance(result, list) else np.asarray(result)
                        if name in self.known:
                            environment[name] = folded(result, self.program.types[name], self.wide)
                            continue
                        key = (self.seed, part, hash_of(node.outputs[0]), at)
                        environment[name] = step_noise(result, key, self.noise)

    def combined(self, environments):
        loss = self.program.loss
        if loss.kind == "output":
            return sum(e[loss.value].reshape(()) for e in environments) / self.parts
        total, count = self.wide(0), 0
        for part, environment in enumerate(environments):
            scores = environment[loss.value]
            labels = loss.labels[part * self.program.batch : (part + 1) * self.program.batch]
            if loss.kind == "mse":
                difference = scores - labels.astype(self.wide)
                total, count = total + np.sum(difference * difference), count + labels.size
                continue
            if loss.shift:
                scores, labels = scores[..., : -loss.shift, :], labels[..., loss.shift :]
            valid = labels != loss.ignore
            shifted = scores - np.max(scores, -1, keepdims=True)
            logs = shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True))
            picked = np.take_along_axis(
                logs, np.where(valid, labels, 0)[..., None].astype(np.int64), -1
            )[..., 0]
            total, count = total - np.sum(np.where(valid, picked, 0)), count + int(np.sum(valid))
        return total / count

    def with_parameter(self, name, values):
        """The loss with other values of one parameter."""
        if name not in self.readers:
            reached, nodes = {name}, []
            for node in self.nodes:
                if reached.intersection(node.inputs):
                    reached.update(o for o in node.outputs if o)
                    nodes.append(node)
            self.readers[name] = nodes
        environments = []
        for part, base in enumerate(self.values):
            environment = dict(base)
            environment[name] = values
            self.run(self.readers[name], environment, part, base)
            environments.append(environment)
        return self.combined(environments)

    def slope(self, name, direction):
        """(derivative along a direction, whether the loss is smooth there, how far it may be off).

        Where a second derivative jumps, as ELU's, no step is short enough for the rule that takes
        both differences together; what they differ by bounds its error."""
        at = as_array("f64", self.program.parameters[name][1], self.wide)
        direction = np.asarray(direction, self.wide)
        value = {
            h: self.with_parameter(name, at + self.wide(h * STEP) * direction)
            for h in (-4, -1, 1, 4)
        }
        if not all(np.isfinite(v) for v in value.values()):
            return np.nan, False, np.inf
        central = {h: (value[h] - value[-h]) / (2 * h * self.wide(STEP)) for h in (1, 4)}
        jump = {
            h: abs(value[h] + value[-h] - 2 * self.loss) / (h * self.wide(STEP)) for h in (1, 4)
        }
        scale = max(abs(central[1]), abs(central[4]), abs(self.loss), 1)
        smooth = (
            jump[1] <= 1e-9 * scale + jump[4] / 2 and abs(central[1] - central[4]) <= 1e-9 * scale
        )
        slope = (16 * central[1] - central[4]) / 15
        return float(slope), bool(smooth), float(abs(central[1] - central[4]))

    def one_sided_slopes(self, name, direction):
        """The smaller and the larger of the derivatives to both sides."""
        at = as_array("f64", self.program.parameters[name][1], self.wide)
        direction = np.asarray(direction, self.wide)
        value = {
            h: self.with_parameter(name, at + self.wide(h * STEP) * direction)
            for h in (-2, -1, 1, 2)
        }
        sides = [
            (4 * value[h] - value[2 * h] - 3 * self.loss) / (2 * h * self.wide(STEP))
            for h in (-1, 1)
        ]
        return float(min(sides)), float(max(sides))


def hash_of(text):
    """A number of a name that is the same in every run."""
    result = 0
    for character in text:
        result = (result * 131 + ord(character)) % (1 << 61)
    return result


SUMS = {"sum", "mean", "mm", "bmm"}


def rounding_mode(noise, seed):
    """Every result of arithmetic is wrong by up to `noise`, relatively, in backward as in forward;
    a sum relatively to that of the sizes of its terms."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    exact = {
        "gather",
        "index",
        "index_select",
        "cat",
        "clone",
        "where",
        "constant_pad_nd",
        "stack",
        "flip",
        "repeat",
        "zeros_like",
        "ones_like",
        "new_zeros",
        "slice_backward",
        "select_backward",
        "_to_copy",
        "copy",
        "neg",
        "abs",
        "sign",
        "relu",
        "threshold_backward",
        "masked_fill",
    }
    numbers = np.random.default_rng(seed)

    class Rounding(TorchDispatchMode):
        largest = 0.0  # of all numbers that there were

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            result = function(*arguments, **(keywords or {}))
            # What shares memory with an operand is a view, or was written in place.
            shares = any(r.alias_info for r in function._schema.returns)
            if (
                isinstance(result, torch.Tensor)
                and result.is_floating_point()
                and not shares
                and (name := function._schema.name.split("::")[-1]) not in exact
            ):
                draws = np.asarray(noise * numbers.uniform(-1, 1, tuple(result.shape)))
                size = result
                if name in SUMS:
                    sizes = [a.abs() if torch.is_tensor(a) else a for a in arguments]
                    size = function(*sizes, **(keywords or {}))
                result = result + size * torch.from_numpy(draws)
                self.largest = max([self.largest, *result.abs().flatten().tolist()])
            return result

    return Rounding()


def rounded_by_torch(program, parts, noise, seed, folds=True):
    """The same as by_torch, with a relative error in every result, backward's included."""
    with rounding_mode(noise, seed):
        return by_torch(program, parts, folds=folds)


def largest_by_torch(program, parts):
    with rounding_mode(0, 0) as mode:
        by_torch(program, parts)
    return mode.largest


def by_torch(program, parts, noise=0.0, seed=0, folds=True):
    """(loss, {parameter: gradient}) by torch in float64. noise: of each parameter and result of a
    node; folds as of Written."""
    import torch

    import torch_ops_carried  # noqa: F401
    import torch_ops_fourier  # noqa: F401
    import torch_ops_moves  # noqa: F401
    import torch_ops_quantize  # noqa: F401
    import torch_ops_recurrent  # noqa: F401
    import torch_ops_sampling  # noqa: F401
    import torch_ops_windows  # noqa: F401
    from torch_ops import OPS as TORCH, tensor

    torch.set_num_threads(1)
    kept = program.needed([program.loss.value])
    known = program.known() if folds else set()
    nodes = [n for n in program.nodes if any(o in kept for o in n.outputs)]
    parameters = {
        name: torch.from_numpy(step_noise(tensor(v, t).numpy(), (seed, hash_of(name)), noise))
        .clone()
        .requires_grad_()
        for name, (t, v) in program.parameters.items()
        if name in kept
    }
    constants = {name: tensor(v, t) for name, (t, v) in program.constants.items() if name in kept}
    total, count, loss = 0, 0, program.loss
    for part in range(parts):
        rows = slice(part * program.batch, (part + 1) * program.batch)
        environment = {
            **parameters,
            **constants,
            **{
                name: tensor(given.values[rows], given.dtype)
                for name, given in program.inputs.items()
            },
        }
        for node in nodes:
            results = TORCH[node.op](
                Call(
                    node,
                    [environment[i] if i else None for i in node.inputs],
                    program.opset,
                    np.float64,
                )
            )
            for at, (name, result) in enumerate(zip(node.outputs, results)):
                if (
                    name in known
                    and isinstance(result, torch.Tensor)
                    and result.is_floating_point()
                ):
                    result = torch.from_numpy(
                        np.array(folded(result.detach().numpy(), program.types[name], np.float64))
                    )
                elif (
                    name
                    and noise
                    and isinstance(result, torch.Tensor)
                    and result.is_floating_point()
                ):
                    numbers = np.random.default_rng((seed, part, hash_of(node.outputs[0]), at))
                    result = result * torch.from_numpy(
                        np.asarray(1 + noise * numbers.uniform(-1, 1, tuple(result.shape)))
                    )
                if name:
                    environment[name] = result
        scores = environment[loss.value]
        if loss.kind == "output":
            total, count = total + scores.reshape(()), count + 1
            continue
        labels = torch.from_numpy(np.array(loss.labels[rows]))
        if loss.kind == "mse":
            total = total + torch.nn.functional.mse_loss(
                scores, labels.to(scores.dtype), reduction="sum"
            )
            count += labels.numel()
            continue
        if loss.shift:
            scores, labels = scores[..., : -loss.shift, :], labels[..., loss.shift :]
        total = total + torch.nn.functional.cross_entropy(
            scores.reshape(-1, scores.shape[-1]),
            labels.reshape(-1),
            ignore_index=loss.ignore,
            reduction="sum",
        )
        count += int((labels != loss.ignore).sum())
    result = total / count
    if result.requires_grad:
        result.backward()
    return float(result.detach()), {
        name: np.zeros(p.shape) if p.grad is None else p.grad.numpy()
        for name, p in parameters.items()
    }
