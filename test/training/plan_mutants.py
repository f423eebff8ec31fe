#!/usr/bin/env python3
"""Seeded defects of plans, and what shardc-check says of each.

    plan_mutants.py [--count N] [--seed S] [--quiet]

A mutant changes the plan of a trainer in one place, as a defect of a pass could. It is run: where
it ends otherwise than the trainer, or with other bits, in steps of one micro-batch or of two, it
changes a result, and must be caught. The first finding should name the entry or the buffer that
was changed, or where that is gone or moved, one that has to do with the same memory.
"""
import argparse
import collections
import copy
import os
import random
import re
import subprocess
import sys
import tempfile

from edited_plan import edit, plan_classes
from reference import BUILD, SHARDC, models

CHECK = os.path.join(BUILD, "bin", "shardc-check")
# Model, mesh, samples of a rank, flags.
TRAINERS = (
    ("mlp-tiny-loss", "2", 8, ["--units", "size:17kB"]),
    ("gpt2-tiny", "2x2", 2, ["--strategy", "hybrid_opt", "--units", "block"]),
    ("s2-llama-tiny-mask", "4", 2, ["--reshard-after-forward", "2", "--units", "block"]),
    ("gpt2-tiny", "2x2", 2, ["--strategy", "hybrid", "--accumulate", "unsharded"]),
)
REFERENCE = ["--strategy", "none", "--remat", "none", "--disable-pass", "step-write-in-place"]
STARTS = "all_gather_start reduce_scatter_start all_reduce_start all_gather_updates_start".split()


def kind(entry):
    return entry.WhichOneof("kind")


def body(entry):
    return getattr(entry, kind(entry))


def tensors(entry):
    """(field, tensor) of an entry."""
    if kind(entry) is None:
        return
    for field, value in body(entry).ListFields():
        if field.message_type and field.message_type.name == "Tensor":
            yield from (
                ((field.name, one) for one in value)
                if field.label == field.LABEL_REPEATED
                else [(field.name, value)]
            )


class Mutation:
    """One change of a plan; `names` are what a finding may name."""

    def __init__(self, plan, rng):
        self.plan, self.rng = plan, rng
        self.program = plan.train if rng.random() < 0.9 else plan.eval
        self.entries = self.program.entries
        self.names, self.what = set(), ""

    def touch(self, *entries, near=False):
        for entry in entries:
            self.names.add(entry.name)
            if near:
                mine = {tensor.buffer for _, tensor in tensors(entry)}
                for field in ("gathered",):
                    if kind(entry) and hasattr(body(entry), field):
                        mine.add(getattr(body(entry), field))
                token = (
                    getattr(body(entry), "token", None)
                    if "token" in str(entry) or kind(entry) in (*STARTS, "wait")
                    else None
                )
                for other in self.entries:
                    if token is not None and kind(other) in (*STARTS, "wait"):
                        if body(other).token == token:
                            self.names.add(other.name)
                            mine |= {tensor.buffer for _, tensor in tensors(other)}
                            if kind(other) == "all_gather_start":
                                mine.add(other.all_gather_start.gathered)
                for other in self.entries:
                    theirs = {tensor.buffer for _, tensor in tensors(other)}
                    if kind(other) in ("all_gather_start", "keep"):
                        theirs.add(body(other).gathered)
                    if mine & theirs:
                        self.names.add(other.name)
                self.names |= {self.plan.buffers[buffer].name for buffer in mine}
                units = [u.name for u in self.plan.units if entry.name.startswith(u.name + "/")]
                self.names |= {f"unit {name}" for name in units}
                if kind(entry) in ("optimizer_step", "all_gather_updates_start"):
                    name = self.plan.units[body(entry).unit].name
                    self.names |= {
                        e.name
                        for e in self.entries
                        if kind(e) in ("optimizer_step", "all_gather_updates_start")
                        and self.plan.units[body(e).unit].name == name
                    }

    def pick(self, *kinds, where=lambda entry: True):
        found = [e for e in self.entries if (not kinds or kind(e) in kinds) and where(e)]
        return self.rng.choice(found) if found else None

    def place(self, entry):
        return next(i for i, other in enumerate(self.entries) if other.name == entry.name)

    def remove(self, entry):
        del self.entries[self.place(entry)]

    def move(self, entry, to):
        moved = copy.deepcopy(entry)
        del self.entries[self.place(entry)]
        self.entries.insert(max(0, min(to, len(self.entries))), moved)

    def buffer(self, pools=("step", "gather")):
        ids = [
            i
            for i, b in enumerate(self.plan.buffers)
            if self.plan.pools[b.pool].name in pools and b.bytes
        ]
        return self.rng.choice(ids)

    def touch_buffer(self, index):
        self.names.add(self.plan.buffers[index].name)
        for program in (self.plan.train, self.plan.eval):
            for entry in program.entries:
                if any(tensor.buffer == index for _, tensor in tensors(entry)) or (
                    kind(entry) in ("all_gather_start", "keep") and body(entry).gathered == index
                ):
                    self.names.add(entry.name)

    # -- Kinds of defects: each returns whether it could be made ----------------------------------

    def offset_moved(self):
        index = self.buffer()
        buffer = self.plan.buffers[index]
        buffer.offset = max(0, buffer.offset + self.rng.choice([-256, -64, 64, 256, 1024]))
        self.touch_buffer(index)
        self.what = buffer.name
        return True

    def buffers_overlap(self):
        one, other = self.buffer(("step",)), self.buffer(("step",))
        if one == other:
            return False
        self.plan.buffers[one].offset = self.plan.buffers[other].offset
        self.touch_buffer(one)
        self.touch_buffer(other)
        self.what = f"{self.plan.buffers[one].name} on {self.plan.buffers[other].name}"
        return True

    def persistent_overlap(self):
        one, other = self.buffer(("persistent",)), self.buffer(("persistent",))
        if one == other:
            return False
        self.plan.buffers[one].offset = self.plan.buffers[other].offset
        self.touch_buffer(one)
        self.touch_buffer(other)
        return True

    def wait_dropped(self):
        return self.drop("wait")

    def drop(self, *kinds, where=lambda entry: True):
        entry = self.pick(*kinds, where=where)
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.remove(entry)
        return True

    def wait_doubled(self):
        entry = self.pick("wait")
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.entries.insert(self.place(entry) + self.rng.randint(1, 4), copy.deepcopy(entry))
        self.what = entry.name
        return True

    def wait_later(self):
        entry = self.pick("wait")
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.move(entry, self.place(entry) + self.rng.randint(1, 6))
        return True

    def start_early(self):
        entry = self.pick(*STARTS)
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.move(entry, self.place(entry) - self.rng.randint(1, 8))
        return True

    def wait_early(self):
        entry = self.pick("wait")
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.move(entry, self.place(entry) - self.rng.randint(1, 12))
        return True

    def collectives_swapped(self):
        one, other = self.pick(*STARTS), self.pick(*STARTS)
        if one is None or one.name == other.name:
            return False
        self.touch(one, other, near=True)
        self.what = f"{one.name}, {other.name}"
        i, j = self.place(one), self.place(other)
        first, second = copy.deepcopy(one), copy.deepcopy(other)
        self.entries[i].CopyFrom(second)
        self.entries[j].CopyFrom(first)
        return True

    def wrong_group(self):
        entry = self.pick(*STARTS, "keep")
        if entry is None:
            return False
        group = self.rng.randrange(len(self.plan.groups))
        if group == body(entry).group:
            return False
        self.touch(entry, near=True)
        self.what = f"{entry.name} over {self.plan.groups[group].name}"
        body(entry).group = group
        return True

    def group_changed(self):
        group = self.rng.choice(self.plan.groups)
        field = self.rng.choice(["stride", "size"])
        before = getattr(group, field)
        setattr(group, field, max(1, before * 2 if self.rng.random() < 0.5 else before // 2))
        self.names.add(group.name)
        self.what = f"{group.name}.{field}"
        return getattr(group, field) != before

    def wrong_unit(self):
        entry = self.pick("all_gather_start", "optimizer_step", "all_gather_updates_start", "keep")
        unit = self.rng.randrange(len(self.plan.units))
        if entry is None or body(entry).unit == unit:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        body(entry).unit = unit
        return True

    def gathered_elsewhere(self):
        entry = self.pick("all_gather_start")
        if entry is None:
            return False
        gathered = {e.all_gather_start.gathered for e in self.entries if kind(e) == kind(entry)}
        gathered -= {entry.all_gather_start.gathered}
        if not gathered:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        entry.all_gather_start.gathered = self.rng.choice(sorted(gathered))
        self.touch_buffer(entry.all_gather_start.gathered)
        return True

    def gather_missing(self):
        """A gather and its wait: what reads it has what was there before."""
        entry = self.pick("all_gather_start", "all_gather_updates_start")
        return entry is not None and self.without(entry)

    def reduction_missing(self):
        entry = self.pick("reduce_scatter_start", "all_reduce_start")
        return entry is not None and self.without(entry)

    def without(self, entry):
        self.touch(entry, near=True)
        self.what = entry.name
        token = body(entry).token
        for other in [e for e in self.entries if kind(e) in (*STARTS, "wait")]:
            if body(other).token == token:
                self.remove(other)
        return True

    def gather_late(self):
        """A gather and its wait behind the optimizer."""
        entry = self.pick("all_gather_start")
        if entry is None:
            return False
        self.touch(entry, near=True)
        token = entry.all_gather_start.token
        wait = next(e for e in self.entries if kind(e) == "wait" and e.wait.token == token)
        self.what = entry.name
        self.move(entry, len(self.entries))
        self.move(wait, len(self.entries))
        return True

    def entry_dropped(self):
        return self.drop(where=lambda e: kind(e) not in (*STARTS, "wait"))

    def entry_doubled(self):
        entry = self.pick("gemm", "launch", "optimizer_step", "accumulate", "embedding_grad")
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.entries.insert(self.place(entry), copy.deepcopy(entry))
        return True

    def entries_swapped(self):
        i = self.rng.randrange(len(self.entries) - 1)
        one, other = copy.deepcopy(self.entries[i]), copy.deepcopy(self.entries[i + 1])
        self.touch(one, other, near=True)
        self.what = f"{one.name}, {other.name}"
        self.entries[i].CopyFrom(other)
        self.entries[i + 1].CopyFrom(one)
        return True

    def operand_replaced(self):
        entry = self.pick(where=lambda e: any(True for _ in tensors(e)))
        _, tensor = self.rng.choice(list(tensors(entry)))
        alike = [
            other
            for e in self.entries
            for _, other in tensors(e)
            if list(other.shape) == list(tensor.shape)
            and other.dtype == tensor.dtype
            and (other.buffer, other.offset) != (tensor.buffer, tensor.offset)
        ]
        if not alike:
            return False
        other = self.rng.choice(alike)
        self.touch(entry, near=True)
        self.touch_buffer(other.buffer)
        self.what = entry.name
        tensor.buffer, tensor.offset = other.buffer, other.offset
        return True

    def transposition_flipped(self):
        def is_square(e):
            return e.gemm.a.shape[-1] == e.gemm.a.shape[-2] or (
                e.gemm.b.shape[-1] == e.gemm.b.shape[-2]
            )

        entry = self.pick("gemm", where=is_square) or self.pick("gemm")
        if entry is None:
            return False
        gemm = entry.gemm
        self.touch(entry)
        self.what = entry.name
        if gemm.b.shape[-1] == gemm.b.shape[-2]:
            gemm.transpose_b = not gemm.transpose_b
        else:
            gemm.transpose_a = not gemm.transpose_a
        return True

    def accumulate_flipped(self):
        entry = self.pick("gemm", where=lambda e: e.gemm.accumulate) or self.pick("gemm")
        if entry is None:
            return False
        entry.gemm.accumulate = not entry.gemm.accumulate
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def stride_wrong(self):
        entry = self.pick(where=lambda e: any(t.strides for _, t in tensors(e)))
        if entry is None:
            return False
        tensor = self.rng.choice([t for _, t in tensors(entry) if t.strides])
        dim = self.rng.randrange(len(tensor.strides))
        if tensor.shape[dim] < 2:
            return False
        tensor.strides[dim] = max(1, tensor.strides[dim] // 2)
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def shape_order(self):
        """Two dims of a view change places."""
        entry = self.pick(where=lambda e: any(len(t.shape) > 1 for _, t in tensors(e)))
        tensor = self.rng.choice([t for _, t in tensors(entry) if len(t.shape) > 1])
        if tensor.shape[0] == tensor.shape[1]:
            return False
        tensor.shape[0], tensor.shape[1] = tensor.shape[1], tensor.shape[0]
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def scale_changed(self):
        entry = self.pick("attention", "attention_grad", "fill")
        if entry is None:
            return False
        if kind(entry) == "fill":
            entry.fill.value += 1
        else:
            body(entry).scale = 1
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def flag_flipped(self):
        entry = self.pick("attention", "attention_grad", "round_sum", "all_reduce_start")
        if entry is None:
            return False
        if kind(entry) == "round_sum":
            entry.round_sum.norm = not entry.round_sum.norm
        elif kind(entry) == "all_reduce_start":
            if not entry.all_reduce_start.norms:
                return False
            entry.all_reduce_start.norms[-1] = not entry.all_reduce_start.norms[-1]
        else:
            body(entry).causal = not body(entry).causal
        self.touch(entry)
        self.what = entry.name
        return True

    def label_shift(self):
        entry = self.pick("cross_entropy", "cross_entropy_grad", "linear_cross_entropy")
        if entry is None:
            return False
        body(entry).shift = 1 - min(body(entry).shift, 1)
        self.touch(entry)
        self.what = entry.name
        return True

    def optimizer_slice(self):
        entry = self.pick("optimizer_step")
        if entry is None:
            return False
        tensor = entry.optimizer_step.gradient
        others = [e for e in self.entries if kind(e) == "optimizer_step" and e.name != entry.name]
        if others and self.rng.random() < 0.5:
            tensor.CopyFrom(self.rng.choice(others).optimizer_step.gradient)
        else:
            tensor.offset += 64
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def view_moved(self):
        entry = self.pick(where=lambda e: any(True for _ in tensors(e)))
        _, tensor = self.rng.choice(list(tensors(entry)))
        tensor.offset = max(0, tensor.offset + self.rng.choice([-64, 64]))
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def norm_lacks_a_unit(self):
        entry = self.pick("gradient_norm")
        if entry is None or len(entry.gradient_norm.units) < 2:
            return False
        i = self.rng.randrange(len(entry.gradient_norm.units))
        del entry.gradient_norm.gradients[i], entry.gradient_norm.units[i]
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def parameters_swapped(self):
        unit = self.rng.choice(self.plan.units)
        ids = list(unit.parameters)
        self.rng.shuffle(ids)
        for a in ids:
            for b in ids:
                one, other = self.plan.parameters[a], self.plan.parameters[b]
                if a < b and list(one.shape) == list(other.shape):
                    one.flat_offset, other.flat_offset = other.flat_offset, one.flat_offset
                    self.names |= {one.name, other.name}
                    for e in [*self.plan.train.entries, *self.plan.eval.entries]:
                        if e.name.startswith(unit.name + "/") or e.unit == unit.name:
                            self.names.add(e.name)
                    self.what = f"{one.name}, {other.name}"
                    return True
        return False

    def last_flipped(self):
        entry = self.pick("reduce_scatter_start", "exact_sum", "all_reduce_start", "accumulate")
        if entry is None:
            return False
        if entry.phase == "optimizer":
            entry.phase = "backward"
        else:
            entry.last = not entry.last
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def kernel_replaced(self):
        entry = self.pick("launch")
        if entry is None:
            return False
        own = self.plan.kernels[entry.launch.kernel]
        alike = [
            i
            for i, other in enumerate(self.plan.kernels)
            if i != entry.launch.kernel and other.argument_bytes == own.argument_bytes
        ]
        if not alike:
            return False
        entry.launch.kernel = self.rng.choice(alike)
        self.touch(entry)
        self.what = entry.name
        return True

    def inputs_swapped(self):
        def has_two(e):
            shapes = [list(t.shape) for t in e.launch.inputs]
            return len(shapes) > 1 and shapes[0] == shapes[1]

        entry = self.pick("launch", where=has_two)
        if entry is None:
            return False
        one, other = copy.deepcopy(entry.launch.inputs[0]), copy.deepcopy(entry.launch.inputs[1])
        entry.launch.inputs[0].CopyFrom(other)
        entry.launch.inputs[1].CopyFrom(one)
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def bias_dropped(self):
        entry = self.pick("gemm", where=lambda e: e.gemm.HasField("bias"))
        if entry is None:
            return False
        entry.gemm.ClearField("bias")
        self.touch(entry)
        self.what = entry.name
        return True

    def accumulator_dropped(self):
        entry = self.pick("reduce_scatter_start", where=lambda e: body(e).HasField("accumulator"))
        if entry is None:
            return self.drop("accumulate")
        self.touch(entry, near=True)
        entry.reduce_scatter_start.ClearField("accumulator")
        self.what = entry.name
        return True


NOT_KINDS = {
    "touch",
    "pick",
    "place",
    "remove",
    "move",
    "buffer",
    "touch_buffer",
    "drop",
    "without",
}
KINDS = [n for n in vars(Mutation) if not n.startswith("_") and n not in NOT_KINDS]


def mutants(plans, count, seed):
    """(trainer's number, kind, mutated plan, mutation), the kinds one after the other."""
    rng, made = random.Random(seed), 0
    while made < count:
        for name in KINDS:
            for _ in range(6):
                which = rng.randrange(len(plans))
                plan = copy.deepcopy(plans[which])
                mutation = Mutation(plan, rng)
                if getattr(mutation, name)() and plan != plans[which]:
                    made += 1
                    yield which, name, plan, mutation
                    break
            if made == count:
                return


class Bench:
    """The trainers, their references and what they compute."""

    def __init__(self, folder):
        self.folder, self.plans = folder, []
        known = models()
        self.models = [known[name] for name, *_ in TRAINERS]
        for i, (name, mesh, batch, flags) in enumerate(TRAINERS):
            ranks = eval(mesh.replace("x", "*"))
            model = known[name]
            model.compile(self.path(i), mesh, "float32", *flags, batch=batch * ranks)
            model.compile(self.path(i, "reference"), "1", "float32", *REFERENCE, batch=batch)
            edit(self.path(i), self.path(i, "same"), self.plans.append)
        self.expected = [self.run(i, self.path(i)) for i in range(len(TRAINERS))]
        assert not any(
            isinstance(end, str) for ends in self.expected for end in ends
        ), self.expected

    def path(self, i, what="trainer"):
        return os.path.join(self.folder, f"{i}.{what}")

    def run(self, i, trainer):
        """What three steps end with, of one micro-batch each and of two."""
        return [self.run_once(i, trainer, batches) for batches in (1, 2)]

    def run_once(self, i, trainer, batches):
        with tempfile.TemporaryDirectory() as folder:
            exported = os.path.join(folder, "f.safetensors")
            words = [trainer, "--steps", 2, "--lr", 1e-2, "--clip", 0.1, "--eval-every", 2]
            words += ["--export-safetensors", exported, "--grad-accumulation", batches]
            for name, path in self.models[i].data().items():
                words += ["--data", f"{name}={path}", "--eval-data", f"{name}={path}"]
            try:
                process = subprocess.run(
                    list(map(str, words)), capture_output=True, text=True, timeout=20
                )
            except subprocess.TimeoutExpired:
                return "does not end"
            if process.returncode:
                return f"exit code {process.returncode}: {process.stderr[-200:]}"
            with open(exported, "rb") as file:
                shown = re.findall(r"loss (\S+)", process.stdout)
                return shown, hash(file.read())

    def changes(self, i, plan):
        path = self.path(i, "mutant")
        edit(self.path(i), path, lambda of: of.CopyFrom(plan))
        changed = self.run(i, path)
        os.remove(path)
        return changed != self.expected[i]

    def check(self, i, plan):
        """The findings of a mutant."""
        path = self.path(i, "plan")
        with open(path, "wb") as file:
            file.write(plan.SerializeToString())
        process = subprocess.run(
            [CHECK, path, "--reference", self.path(i, "reference")], capture_output=True, text=True
        )
        if process.returncode not in (0, 1):
            return [f"shardc-check ended with {process.returncode}: {process.stderr}"]
        lines = [line.partition(": ")[2] for line in process.stderr.splitlines()]
        return [line for line in lines if not line.startswith("error: ")]


class Tally:
    def __init__(self):
        self.rows = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.missed, self.misnamed = [], []

    def add(self, kind, what, changes, findings, names):
        row = self.rows[kind]
        named = bool(findings) and any(name in findings[0] for name in names)
        for column, counts in enumerate((True, changes, bool(findings), named)):
            row[column] += counts
        if changes and not findings:
            self.missed.append(f"{kind}: {what}")
        if findings and not named:
            self.misnamed.append(f"{kind}: {what}: {findings[0]}")

    def total(self):
        return [sum(column) for column in zip(*self.rows.values())]


def measure(folder, count, seed, shows=lambda line: None):
    bench, tally = Bench(folder), Tally()
    for i in range(len(TRAINERS)):
        assert bench.check(i, bench.plans[i]) == [], TRAINERS[i]
    for which, name, plan, mutation in mutants(bench.plans, count, seed):
        findings = bench.check(which, plan)
        changes = bench.changes(which, plan)
        tally.add(name, f"{TRAINERS[which][0]} {mutation.what}", changes, findings, mutation.names)
        shows(f"{name} | {mutation.what} | {changes} | {findings[:1]}")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=320)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = measure(
            folder, args.count, args.seed, lambda line: args.quiet or print(line, flush=True)
        )
    print("\n| defect | mutants | change a result | caught | named |\n|---|---|---|---|---|")
    for name, row in tally.rows.items():
        print(f"| {name.replace('_', ' ')} | {' | '.join(map(str, row))} |")
    print(f"| all | {' | '.join(map(str, tally.total()))} |")
    print("\n".join(["not caught:", *tally.missed, "named otherwise:", *tally.misnamed]))
    return 1 if tally.missed else 0


if __name__ == "__main__":
    sys.exit(main())
