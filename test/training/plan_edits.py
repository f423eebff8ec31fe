"""Finding and changing entries and buffers of a plan, one change at a time."""
import copy

ROW_STARTS = "gather_rows_start reduce_rows_start".split()
GROUP_STARTS = [
    *"all_gather_start reduce_scatter_start all_reduce_start all_gather_updates_start".split(),
    *ROW_STARTS,
]
MATRIX_STARTS = "gather_matrices_start scatter_matrices_start".split()
STARTS = GROUP_STARTS + MATRIX_STARTS


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


def memory(entry):
    """The buffers of an entry's operands."""
    yield from (tensor.buffer for _, tensor in tensors(entry))
    if kind(entry) in ("all_gather_start", "keep"):
        yield body(entry).gathered


def token(entry):
    return body(entry).token if kind(entry) in (*STARTS, "wait") else None


class Edit:
    """One change of a plan; `names` are what a finding may name."""

    def __init__(self, plan, rng):
        self.plan, self.rng = plan, rng
        self.program = plan.train if rng.random() < 0.9 else plan.eval
        self.entries = self.program.entries
        self.names, self.what = set(), ""

    def touch(self, *entries, near=False):
        """A finding may name these; with `near` also what works on the same memory."""
        self.names |= {entry.name for entry in entries}
        for entry in entries if near else ():
            mine = set(memory(entry))
            # A collective is its start and its wait.
            others = [e for e in self.entries if token(e) is not None and token(e) == token(entry)]
            mine.update(*map(memory, others))
            self.names |= {other.name for other in others}
            self.names |= {other.name for other in self.entries if mine & set(memory(other))}
            self.names |= {self.plan.buffers[buffer].name for buffer in mine}
            for unit in self.plan.units:
                if entry.name.startswith(unit.name + "/"):
                    self.names.add(f"unit {unit.name}")
            updates = ("optimizer_step", "all_gather_updates_start", "matrix_direction")
            units = list(body(entry).units) if kind(entry) in MATRIX_STARTS else []
            if kind(entry) in updates:
                units.append(body(entry).unit)
            for unit in units:
                self.names |= {
                    e.name for e in self.entries if kind(e) in updates and body(e).unit == unit
                }
                if kind(entry) in MATRIX_STARTS:
                    parameters = self.plan.units[unit].parameters
                    self.names |= {self.plan.parameters[p].name for p in parameters}

    def pick(self, *kinds, where=lambda entry: True):
        found = [e for e in self.entries if (not kinds or kind(e) in kinds) and where(e)]
        return self.rng.choice(found) if found else None

    def matrix_start(self, *kinds):
        """An all-to-all and the number of one of its matrices."""
        entry = self.pick(*(kinds or MATRIX_STARTS))
        if entry is None:
            return None, 0
        self.touch(entry, near=True)
        i = self.rng.randrange(len(body(entry).offsets))
        self.what = f"{entry.name}, matrix {i}"
        return entry, i

    def other_rank(self, rank):
        return (rank + self.rng.randrange(1, self.plan.mesh.ranks)) % self.plan.mesh.ranks

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
            self.names |= {entry.name for entry in program.entries if index in memory(entry)}

    def drop(self, *kinds, where=lambda entry: True):
        entry = self.pick(*kinds, where=where)
        if entry is None:
            return False
        self.touch(entry, near=True)
        self.what = entry.name
        self.remove(entry)
        return True

    def without(self, entry):
        self.touch(entry, near=True)
        self.what = entry.name
        own = token(entry)
        for other in [e for e in self.entries if token(e) == own]:
            self.remove(other)
        return True
