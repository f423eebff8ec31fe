"""The kinds of defects that plans of whole matrices can have: who makes what of which, and who runs
which entries."""
import copy

from plan_edits import Edit, body, kind


class MatrixMutation(Edit):
    """Each kind returns whether it could be made."""

    def matrix_owner(self):
        """On one of its ways."""
        entry, i = self.matrix_start()
        if entry is None:
            return False
        body(entry).owners[i] = self.other_rank(body(entry).owners[i])
        return True

    def matrix_owner_both_ways(self):
        entry, i = self.matrix_start("gather_matrices_start")
        if entry is None:
            return False
        gather = body(entry)
        owner = self.other_rank(gather.owners[i])
        for back in self.entries:
            if kind(back) == "scatter_matrices_start" and body(back).units == gather.units:
                body(back).owners[i] = owner
                self.touch(back, near=True)
        gather.owners[i] = owner
        return True

    def matrix_slots_swapped(self):
        entry, i = self.matrix_start()
        if entry is None:
            return False
        slots = body(entry).slots
        others = [j for j in range(len(slots)) if slots[j] != slots[i]]
        if not others:
            return False
        j = self.rng.choice(others)
        slots[i], slots[j] = slots[j], slots[i]
        return True

    def matrices_exchanged(self):
        """Two of one shape, on one of their ways."""
        entry, i = self.matrix_start()
        if entry is None:
            return False
        owners, slots = body(entry).owners, body(entry).slots
        shapes = [list(body(entry).matrices[slot].shape) for slot in slots]
        others = [j for j in range(len(slots)) if j != i and shapes[j] == shapes[i]]
        if not others:
            return False
        j = self.rng.choice(others)
        owners[i], owners[j] = owners[j], owners[i]
        slots[i], slots[j] = slots[j], slots[i]
        return True

    def matrix_moved(self):
        """By a row."""
        entry, i = self.matrix_start()
        if entry is None:
            return False
        columns = body(entry).matrices[body(entry).slots[i]].shape[1]
        body(entry).offsets[i] = max(0, body(entry).offsets[i] + self.rng.choice([-1, 1]) * columns)
        return True

    def matrix_left_out(self):
        entry, i = self.matrix_start()
        if entry is None:
            return False
        start = body(entry)
        del start.unit_of[i], start.offsets[i], start.owners[i], start.slots[i]
        return True

    def ranks_changed(self):
        """One less, one more, or another one."""
        entry = self.pick(where=lambda e: e.ranks)
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        own = set(entry.ranks)
        gone = {self.rng.choice(sorted(own))} if self.rng.random() < 0.7 else set()
        if self.rng.random() < 0.5 or not gone:
            own |= {self.other_rank(self.rng.choice(sorted(own)))}
        entry.ranks[:] = sorted(own - gone)
        return True

    def ranks_changed_everywhere(self):
        """Of all that the same ranks run."""
        entry = self.pick(where=lambda e: e.ranks)
        if entry is None:
            return False
        alike = [e for e in self.entries if e.ranks == entry.ranks]
        self.touch(*alike, near=True)
        self.what = entry.name
        other = self.other_rank(entry.ranks[0])
        for e in alike:
            e.ranks[:] = sorted({*e.ranks[1:], other})
        return True

    def some_ranks_alone(self):
        """An entry of all ranks, which one does not run any more."""
        entry = self.pick(where=lambda e: not e.ranks)
        self.touch(entry, near=True)
        self.what = entry.name
        gone = self.rng.randrange(self.plan.mesh.ranks)
        entry.ranks[:] = [rank for rank in range(self.plan.mesh.ranks) if rank != gone]
        return True

    def direction_of_another_unit(self):
        entry = self.pick("optimizer_step", where=lambda e: e.optimizer_step.HasField("direction"))
        if entry is None:
            return False
        step = entry.optimizer_step
        others = [
            e.optimizer_step.direction
            for e in self.entries
            if kind(e) == "optimizer_step" and e.optimizer_step.unit != step.unit
        ]
        others = [d for d in others if d.shape == step.direction.shape]
        self.touch(entry, near=True)
        self.what = entry.name
        if others and self.rng.random() < 0.7:
            step.direction.CopyFrom(self.rng.choice(others))
        else:
            step.ClearField("direction")
        return True

    def direction_not_brought_back(self):
        entry, _ = self.matrix_start("scatter_matrices_start")
        return entry is not None and self.without(entry)

    def direction_made_twice(self):
        entry = self.pick("matrix_direction")
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.entries.insert(self.place(entry), copy.deepcopy(entry))
        return True
