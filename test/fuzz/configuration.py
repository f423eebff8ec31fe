"""How a case is compiled and run: mesh, strategy, units, precision and the rest, drawn so that
they go together."""
import dataclasses
import re


@dataclasses.dataclass
class Configuration:
    mesh: str = "1"
    micro_batches: int = 1
    precision: str = "float64"
    compile: dict = dataclasses.field(default_factory=dict)  # flag: value, or "" for a switch
    run: dict = dataclasses.field(default_factory=dict)
    frozen: str = ""  # a parameter that is not trained
    symbolic: bool = True  # the batch is a symbolic dim
    target: str = ""  # what the trainer runs on; shardc's default

    def for_target(self, target):
        """The same, without the flags that only another target has."""
        self.target = target
        if target.startswith("cuda"):
            for flag in ("--cpu", "--threads-per-rank"):
                self.compile.pop(flag, None)
        return self

    def ranks(self):
        result = 1
        for size in self.mesh.split("x"):
            result *= int(size)
        return result

    def parts(self):
        return self.ranks() * self.micro_batches

    def settle(self, chance, program):
        """What depends on the program."""
        self.symbolic = chance.random() < 0.7
        trained = program.trained()
        if len(trained) > 2 and chance.random() < 0.15:
            self.frozen = chance.choice(trained)

    def compile_flags(self, batch, frozen_names, trained_names):
        """frozen_names: what the frozen parameter may be called; trained_names: what the others
        may."""
        # The loss of a case is the mean of what ranks and micro-batches compute.
        words = ["--mesh", self.mesh, "--precision", self.precision, "--batch-sums", "rank"]
        words += ["--target", self.target] if self.target else []
        for flag, value in self.compile.items():
            if value.startswith("scope:") and not any(
                name.startswith("layers.") for name in trained_names
            ):
                continue  # would match nothing
            words += [flag, value] if value else [flag]
        if self.frozen:
            words += ["--freeze", f"^({'|'.join(map(re.escape, sorted(frozen_names)))})$"]
        return words + (["--dim", f"batch={batch}"] if self.symbolic else [])

    def run_flags(self):
        words = ["--grad-accumulation", str(self.micro_batches)] if self.micro_batches > 1 else []
        for flag, value in self.run.items():
            words += [flag, value]
        return words


def draw_configuration(chance):
    mesh = chance.choices(
        ("1", "2", "3", "4", "2x2", "1x2", "2x1", "replicate=1,shard=3"),
        (30, 25, 10, 10, 15, 3, 3, 1),
    )[0]
    mesh = "1x3" if mesh.startswith("replicate") else mesh
    micro_batches = chance.choices((1, 2, 3), (7, 2, 1))[0]
    result = Configuration(
        mesh, micro_batches if mesh != "4" and mesh != "2x2" else min(micro_batches, 2)
    )
    result.precision = chance.choices(
        ("float64", "float32", "bf16", "float16", "param=bf16,reduce=bf16,keep="), (74, 12, 6, 5, 3)
    )[0]
    if result.precision == "float16":
        result.run["--loss-scale"] = "256"  # one step tells nothing where a larger one overflows
    flags = result.compile
    strategies = (
        ("full", "grad_op", "hybrid", "hybrid_grad_op", "hybrid_opt", "opt", "none")
        if "x" in mesh
        else ("full", "grad_op", "opt", "none")
    )
    strategy = chance.choice(strategies) if chance.random() < 0.6 else ""
    if strategy:
        flags["--strategy"] = strategy
    if chance.random() < 0.4:
        flags["--units"] = chance.choice(
            ("auto", "block", "one", "size:200B", "size:1kB", r"scope:layers\.\d+")
        )
    if strategy in ("", "full", "hybrid") and chance.random() < 0.3:
        flags["--reshard-after-forward"] = chance.choice(
            ("always", "never") + (("2",) if mesh == "4" else ())
        )
    elif strategy in ("", "full", "hybrid", "grad_op") and chance.random() < 0.2:
        flags["--reshard-after-backward"] = "never"
    if chance.random() < 0.3:
        flags["--prefetch"] = chance.choice(
            ("0", "1", "2", "5", "forward=0,backward=3", "auto", "auto")
        )
    if chance.random() < 0.5:
        flags["--remat"] = chance.choice(
            (
                "cheap",
                "none",
                "all",
                "selective",
                "unit",
                "time=20",
                "class:product,elementwise,norm",
            )
        )
    if chance.random() < 0.4:
        flags["--embedding"] = chance.choice(("rows", "rows", "table"))
    if chance.random() < 0.3:
        flags["--accumulate"] = chance.choice(("sharded", "unsharded"))
    if chance.random() < 0.3:
        flags["--optimizer"] = chance.choice(("sgd", "adam", "adamw"))
    if chance.random() < 0.1:
        flags["--cpu"] = "x86-64-v3"
    if chance.random() < 0.1:
        flags["--embed-weights"] = ""
    if chance.random() < 0.2:
        flags["--cluster"] = chance.choice(("dgx-h100", "cloud-l40s"))
    flags["--threads-per-rank"] = chance.choice(("1", "1", "1", "2"))
    return result
