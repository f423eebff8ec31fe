"""The two sides of a comparison: each trains a prepared workload once and says what it took."""
import json
import os
import statistics
import subprocess
import sys

from fsdp2_peer import is_single
from machine import BIN, failed, gemm_rate, held_cpu, run, wait_until_idle
from workloads import LEARNING

HERE = os.path.dirname(os.path.abspath(__file__))
PEER_PYTHON = os.environ.get("PYTHON", sys.executable)  # one that has torch
LOSS = "cross-entropy:logits=logits,labels=labels"
# Two float32 runs of one recipe differ by how sums are ordered, and the steps carry it on; 16-bit
# ones by where they are rounded.
LOSS_TOLERANCE = {"float32": 5e-5, "bf16": 3e-2}


class Run(dict):
    """One run of one side: precision, seconds and losses of all steps, first_step (seconds),
    pss_mib and peak_rss_mib (of all ranks), gemm (GFLOP/s of the library right before and right
    after), idle (before it), foreign, steal."""

    def measured(self, warmup):
        return statistics.median(self["seconds"][warmup:])


def has_torch():
    return subprocess.run([PEER_PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


class Side:
    """`gemm`: the library's rate is measured on so many threads before and after every run."""

    def __init__(self, prepared, ranks, gemm):
        self.prepared, self.ranks, self.gemm = prepared, ranks, gemm

    def files(self):
        return [self.prepared.weights, *self.prepared.data.values()]

    def run(self, warmup, steps, wait):
        # Into the page cache, where the other side's run may have driven them out.
        for path in self.files():
            with open(path, "rb") as file:
                while file.read(1 << 24):
                    pass
        idle = wait_until_idle(wait)
        before = gemm_rate(self.gemm)
        if self.prepared.workload.is_quick:
            # An idle virtual machine gives free memory back to its host and gets it again page
            # by page, which a first step would wait for. What a run had is there still for the
            # one right behind it.
            self.train(0, 1)
        result = self.train(warmup, steps)
        result.update(who=self.who, idle=idle, gemm=(before + gemm_rate(self.gemm)) / 2)
        return result


class Shardc(Side):
    """The trainer that shardc writes, with its ranks as threads of `processes`, which the trainer
    starts itself."""

    def __init__(
        self, prepared, ranks, gemm, precision="float32", processes=1, mesh=None, strategy="full"
    ):
        super().__init__(prepared, ranks, gemm)
        self.precision = precision
        self.who = "shardc" if precision == "float32" else f"shardc {precision}"
        self.processes = processes
        if processes > 1:
            self.who += f" in {processes} processes"
        mesh = mesh or ranks
        self.trainer = os.path.join(prepared.folder, f"{precision}-{mesh}-{strategy}.trainer")
        run(
            os.path.join(BIN, "shardc"),
            prepared.graph,
            "--mesh",
            mesh,
            "--strategy",
            strategy,
            "--dim",
            f"batch={prepared.workload.batch // ranks}",
            "--loss",
            LOSS,
            "--precision",
            precision,
            "--cpu",
            held_cpu(),
            "--init",
            "random",
            "--quiet",
            "-o",
            self.trainer,
        )

    def files(self):
        return [self.trainer, *super().files()]

    def train(self, warmup, steps, saves=()):
        """`saves`: flags that say when it saves itself, and where."""
        metrics = os.path.join(self.prepared.folder, "metrics.jsonl")
        if os.path.exists(metrics):
            os.remove(metrics)  # the trainer would keep the last run's beside it
        data = [
            word
            for name, path in self.prepared.data.items()
            for word in ("--data", f"{name}={path}")
        ]
        ran = run(
            self.trainer,
            "--weights",
            self.prepared.weights,
            *data,
            "--steps",
            warmup + steps,
            "--lr",
            LEARNING["lr"],
            "--betas",
            ",".join(map(str, LEARNING["betas"])),
            "--weight-decay",
            LEARNING["weight_decay"],
            "--clip",
            LEARNING["clip"],
            "--metrics",
            metrics,
            *(("--nproc-per-node", self.processes) if self.processes > 1 else ()),
            *saves,
        )
        with open(metrics) as file:
            lines = [json.loads(line) for line in file]
        summary = next(line for line in lines if line.get("event") == "summary")
        each = [line for line in lines if "event" not in line]
        return Run(
            precision=self.precision,
            seconds=[line["step_seconds"] for line in each],
            losses=[line["loss"] for line in each],
            grad_norms=[line["grad_norm"] for line in each],
            first_step=summary["seconds_to_first_step"],
            pss_mib=summary["pss_bytes"] / 2**20,
            peak_rss_mib=summary["peak_rss_bytes"] / 2**20,
            gemm_share=summary["gemm_share"],
            data_seconds=[line["data_seconds"] for line in each],
            checkpoints=[line for line in lines if line.get("event") == "checkpoint"],
            foreign=ran.foreign,
            steal=ran.steal,
        )


class Fsdp2(Side):
    """fsdp2_peer.py, a process per rank."""

    def __init__(self, prepared, ranks, gemm, kind):
        super().__init__(prepared, ranks, gemm)
        self.kind = kind
        self.who = f"PyTorch {kind}" if is_single(kind) else f"FSDP2 {kind}"

    def train(self, warmup, steps, saves=()):
        ran = run(
            PEER_PYTHON,
            os.path.join(HERE, "fsdp2_peer.py"),
            "--workload",
            self.prepared.workload.name,
            "--kind",
            self.kind,
            "--ranks",
            self.ranks,
            "--folder",
            self.prepared.folder,
            "--warmup",
            warmup,
            "--steps",
            steps,
            *saves,
            TORCHINDUCTOR_CACHE_DIR=os.path.join(self.prepared.folder, "inductor"),
        )
        lines = [line for line in ran.out.splitlines() if line.startswith("{")]
        if not lines:
            failed(f"the FSDP2 peer ({self.kind}) left no result line")
        return Run(
            json.loads(lines[-1]),
            precision="bf16" if self.kind == "bf16" else "float32",
            foreign=ran.foreign,
            steal=ran.steal,
        )


def sides(prepared, ranks, peers, gemm):
    """The trainers first: one for each precision that is compared."""
    precisions = ["float32"] if not peers or set(peers) - {"bf16"} else []
    precisions += ["bf16"] if "bf16" in peers else []
    ours = [Shardc(prepared, ranks, gemm, p) for p in precisions]
    return ours + [Fsdp2(prepared, ranks, gemm, kind) for kind in peers]


def loss_mismatch(ours, theirs, tolerance):
    """What is wrong with the losses of two runs of one recipe, or None: step k may differ by
    tolerance * (1 + |loss|)."""
    if len(ours) != len(theirs):
        return f"{len(ours)} losses against {len(theirs)}"
    for step, (a, b) in enumerate(zip(ours, theirs), 1):
        if not abs(a - b) <= tolerance * (1 + abs(b)):  # NaN fails too
            return (
                f"the loss of step {step} is {a:.6f}, not {b:.6f} (tolerance {tolerance:g} * (1 +"
                " |loss|))"
            )
    return None
