"""The kinds of defects that a plan can have, each made in a place that a seed chooses."""
import copy
import random

from matrix_defects import MatrixMutation
from plan_edits import GROUP_STARTS, ROW_STARTS, STARTS, body, kind, tensors, token


class Mutation(MatrixMutation):
    """Each kind returns whether it could be made."""

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
        entry = self.pick(*GROUP_STARTS, "keep")
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

    def other_rows(self):
        """Ids, rows or gradients of some positions in place of others."""
        entry = self.pick(*ROW_STARTS)
        if entry is None:
            return False
        field, tensor = self.rng.choice([t for t in tensors(entry) if t[0] != "workspace"])
        self.touch(entry, near=True)
        self.what = f"{entry.name}, {field}"
        tensor.offset += self.rng.choice([-8, 4, 8, 64])
        return tensor.offset >= 0

    def wrong_unit(self):
        entry = self.pick(
            "all_gather_start", "optimizer_step", "all_gather_updates_start", "keep", *ROW_STARTS
        )
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

    def gather_late(self):
        """A gather and its wait behind the optimizer."""
        entry = self.pick("all_gather_start")
        if entry is None:
            return False
        self.touch(entry, near=True)
        wait = next(e for e in self.entries if kind(e) == "wait" and token(e) == token(entry))
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

    def window_changed(self):
        """A query sees another number of keys before its own."""
        entry = self.pick("attention", "attention_grad")
        if entry is None:
            return False
        body(entry).left = 0 if body(entry).left < 0 else body(entry).left + 1
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def softcap_changed(self):
        entry = self.pick("attention", "attention_grad")
        if entry is None:
            return False
        body(entry).softcap = body(entry).softcap / 2 or 1
        self.touch(entry, near=True)
        self.what = entry.name
        return True

    def smoothing_changed(self):
        entry = self.pick("cross_entropy", "cross_entropy_grad", "linear_cross_entropy")
        if entry is None:
            return False
        body(entry).smoothing = 0.25 - body(entry).smoothing
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

    def first_flipped(self):
        """Runs in the first micro-batch alone, or in all where it should not."""
        found = [e for e in self.entries if e.first]
        entry = self.rng.choice(found) if found and self.rng.random() < 0.5 else self.pick()
        if entry is None:
            return False
        entry.first = not entry.first
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


KINDS = [
    name for kinds in (Mutation, MatrixMutation) for name in vars(kinds) if not name.startswith("_")
]


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
