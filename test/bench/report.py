"""The tables of a bench run: a row for each side, and the targets with what was reached."""
import statistics
from dataclasses import asdict, dataclass

# Over FSDP2 as it comes, a rank per processor.
SPEED = {"W1": 1.6, "W2": 1.5, "W3": 1.4, "W4": 5.0, "W5": 1.3, "W6": 1.5}
SPEED_TUNED, SPEED_CROWDED, SPEED_BF16 = (
    1.15,
    2.0,
    1.0,
)  # over the best tuned one; more ranks than processors; bf16 on both sides
GEMM_SHARE, PSS, FIRST_STEP = 0.82, 0.6, 0.5


@dataclass(frozen=True)
class Target:
    what: str
    value: float
    limit: float
    at_least: bool = True
    unit: str = ""

    @property
    def met(self):
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def row(self):
        sign = ">=" if self.at_least else "<="
        met = "met" if self.met else "MISSED"
        return f"{self.what:64} {self.value:9.2f} {sign} {self.limit:<7g} {self.unit:4} {met}"

    def json(self):
        return {**asdict(self), "met": self.met}


def print_targets(targets):
    if targets:
        print(f"\n{'target':64} {'measured':>9}")
    for target in targets:
        print(target.row())


def spread(values):
    values = sorted(values)
    return statistics.median(values), values[0], values[-1]


HEADER = (
    f"{'train':6} {'who':18} {'step ms [min, max]':>28} {'units/s':>9} {'FLOP/s of GEMM':>15} "
    f"{'GEMM GF/s':>10} {'PSS MiB':>8} {'peak RSS':>9} {'first step s':>13} {'foreign':>8}"
)


class Result:
    """The rounds of one workload: a run of every side in each round."""

    def __init__(self, workload, ranks, processors, warmup, rounds):
        self.workload = workload
        self.ranks = ranks
        self.processors = processors
        self.warmup = warmup
        self.rounds = rounds

    def runs(self, who):
        return [run for round in self.rounds for run in round if run["who"] == who]

    def names(self):
        return [run["who"] for run in self.rounds[0]]

    def median(self, who, key):
        return statistics.median(run[key] for run in self.runs(who))

    def steps(self, who):
        """Seconds: the median step of each run."""
        return [run.measured(self.warmup) for run in self.runs(who)]

    def share_of_gemm(self, who):
        return statistics.median(
            self.workload.flops / step / 1e9 / run["gemm"]
            for step, run in zip(self.steps(who), self.runs(who))
        )

    def ratios(self, ours, theirs):
        """Throughput of ours over theirs, round by round."""
        return [b / a for a, b in zip(self.steps(ours), self.steps(theirs))]

    def print_rows(self):
        for who in self.names():
            median, least, most = (1e3 * s for s in spread(self.steps(who)))
            step = f"{median:.1f} [{least:.1f}, {most:.1f}]"
            busy = sum(not run["idle"] for run in self.runs(who))
            rate = self.workload.tokens / median * 1e3
            foreign = max(run["foreign"] for run in self.runs(who))
            print(
                f"{self.workload.name:6} {who:18} {step:>28} {rate:9.0f} "
                f"{self.share_of_gemm(who):15.1%} {self.median(who, 'gemm'):10.0f} "
                f"{self.median(who, 'pss_mib'):8.0f} {self.median(who, 'peak_rss_mib'):9.0f} "
                f"{self.median(who, 'first_step'):13.2f} {foreign:8.1%}"
                + (f"  {busy} of {len(self.rounds)} runs began on a busy machine" if busy else ""),
                flush=True,
            )

    def pairs(self):
        """(ours, theirs) of one precision."""
        return [
            ("shardc bf16" if who == "FSDP2 bf16" else "shardc", who)
            for who in self.names()
            if not who.startswith("shardc")
        ]

    def print_ratios(self):
        for ours, theirs in self.pairs():
            median, least, most = spread(self.ratios(ours, theirs))
            print(
                f"{self.workload.name}: throughput of {ours} over {theirs}:"
                f" {median:.2f} [{least:.2f}, {most:.2f}]; PSS"
                f" {self.median(ours, 'pss_mib') / self.median(theirs, 'pss_mib'):.2f}"
            )

    def targets(self, has_bf16):
        name, found = f"{self.workload.name}, {self.ranks} ranks", []
        crowded = self.ranks > self.processors
        ratio = {theirs: spread(self.ratios(ours, theirs))[0] for ours, theirs in self.pairs()}
        tuned = [who for who in ratio if who.startswith("FSDP2 tuned")]
        if "FSDP2 eager" in ratio:
            found.append(
                Target(
                    f"{name}: throughput over FSDP2 eager",
                    ratio["FSDP2 eager"],
                    SPEED_CROWDED if crowded else SPEED[self.workload.name],
                    unit="x",
                )
            )
            found.append(
                Target(
                    f"{name}: PSS over FSDP2 eager's",
                    self.median("shardc", "pss_mib") / self.median("FSDP2 eager", "pss_mib"),
                    PSS,
                    False,
                    "x",
                )
            )
        if tuned and not crowded:
            best = min(tuned, key=ratio.get)
            found.append(
                Target(f"{name}: throughput over {best}", ratio[best], SPEED_TUNED, unit="x")
            )
        if "FSDP2 bf16" in ratio and has_bf16:
            found.append(
                Target(
                    f"{name}: throughput in bf16 over FSDP2 bf16",
                    ratio["FSDP2 bf16"],
                    SPEED_BF16,
                    unit="x",
                )
            )
        elif {"shardc", "shardc bf16"} <= set(self.names()):  # products of bf16 are float32's here
            found.append(
                Target(
                    f"{name}: throughput in bf16 over float32's",
                    spread(self.ratios("shardc bf16", "shardc"))[0],
                    1.0,
                    unit="x",
                )
            )
        if "shardc" in self.names() and not crowded:
            if self.workload.sequence > 1:
                found.append(
                    Target(
                        f"{name}: FLOP/s over the GEMM library's",
                        self.share_of_gemm("shardc"),
                        GEMM_SHARE,
                    )
                )
            if self.workload.is_quick:
                found.append(
                    Target(
                        f"{name}: start of the process to the end of the first step",
                        self.median("shardc", "first_step"),
                        FIRST_STEP,
                        False,
                        "s",
                    )
                )
        return found
