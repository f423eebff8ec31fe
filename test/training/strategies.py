#!/usr/bin/env python3
"""Every strategy against PyTorch's run: losses, norms, first gradients, final parameters.

Each with and without accumulation.

  strategies.py [MODEL...] [--mesh 2 4 2x2 2x4] [--strategy full ...] [--precision float64]

A global batch that PyTorch's run did not have (2x4 ranks with two micro-batches need one of 16) is
compared with the unsharded program, which parity.py compares with PyTorch.
"""
import argparse
import os
import sys
import tempfile

import parity
from reference import CommandFailed, models, read_metrics, read_safetensors

STRATEGIES = ("full", "grad_op", "hybrid", "hybrid_grad_op", "hybrid_opt", "opt", "none")
MESHES = ("2", "4", "2x2", "2x4")
# (micro-batches of a step, what they add up)
ACCUMULATIONS = ((1, "sharded"), (2, "sharded"), (2, "unsharded"))


def ranks_of(mesh):
    ranks = 1
    for size in mesh.split("x"):
        ranks *= int(size)
    return ranks


def fits(strategy, mesh):
    return "x" in mesh or not strategy.startswith("hybrid")


class Run:
    """One compilation and one run of a model, and what came out."""

    def __init__(
        self, model, mesh, precision, folder, flags=(), micro_batches=1, batch=None, steps=None
    ):
        trainer, metrics, gradients, final = (
            os.path.join(folder, f)
            for f in ("m.trainer", "m.jsonl", "g.safetensors", "f.safetensors")
        )
        batch = batch or model.batch
        model.compile(trainer, mesh, precision, *flags, batch=batch // micro_batches)
        run_flags = ["--grad-accumulation", micro_batches] if micro_batches > 1 else []
        model.train(
            trainer,
            "--metrics",
            metrics,
            "--export-gradients",
            gradients,
            "--export-safetensors",
            final,
            *run_flags,
            steps=steps,
        )
        self.steps, events = read_metrics(metrics)
        self.summary = events[-1]
        self.losses = [s["loss"] for s in self.steps]
        self.norms = [s["grad_norm"] for s in self.steps]
        self.gradients = read_safetensors(gradients)
        self.parameters = read_safetensors(final)


def against_pytorch(model, run, precision):
    """{column: (deviation, bound)}, as parity.py has them."""
    r = model.reference
    lost = set(r["lost_parameters"])
    want = {
        n: g
        for n, g in read_safetensors(os.path.join(model.folder, r["grads_step0"])).items()
        if n not in lost
    }
    final = {
        n: p
        for n, p in read_safetensors(os.path.join(model.folder, r["final_params"])).items()
        if n not in lost
    }
    return {
        "losses": (
            parity.worst_relative(run.losses, r["loss_f64"]),
            parity.curve_bound(r["loss"], r["loss_f64"], precision),
        ),
        "norms": (
            parity.worst_relative(run.norms, r["grad_norm_f64"]),
            parity.curve_bound(r["grad_norm"], r["grad_norm_f64"], precision),
        ),
        "gradients": parity.gradient_deviation(run.gradients, want, precision),
        "parameters": (
            parity.parameter_deviation(run.parameters, final, parity.comparable(want)),
            1e-3,
        ),
    }


def against_unsharded(run, unsharded, precision):
    bound = 1e-7 if precision == "float64" else 1e-4
    # Frozen parameters have no gradient, and keep their values to the bit.
    frozen = [n for n in unsharded.parameters if n not in unsharded.gradients]
    trained = {n: p for n, p in unsharded.parameters.items() if n in unsharded.gradients}
    return {
        "losses": (parity.worst_relative(run.losses, unsharded.losses), bound),
        "norms": (parity.worst_relative(run.norms, unsharded.norms), bound),
        "gradients": parity.gradient_deviation(run.gradients, unsharded.gradients, precision),
        "parameters": (
            parity.parameter_deviation(
                run.parameters, trained, parity.comparable(unsharded.gradients)
            ),
            1e-3,
        ),
        "frozen": (
            float(sum((run.parameters[n] != unsharded.parameters[n]).sum() for n in frozen)),
            0,
        ),
    }


def measure(model, mesh, strategy, accumulation, precision, folder, flags=(), steps=None):
    micro_batches, accumulate = accumulation
    batch = max(model.batch, ranks_of(mesh) * micro_batches)
    run = Run(
        model,
        mesh,
        precision,
        folder,
        ["--strategy", strategy, "--accumulate", accumulate, *flags],
        micro_batches,
        batch,
        steps,
    )
    # Flags that say what is trained change the numbers; those that say how do not.
    frozen = [
        f
        for pair in zip(flags[::2], flags[1::2])
        for f in pair
        if pair[0] in ("--freeze", "--trainable")
    ]
    if batch == model.batch and not frozen and steps is None:
        return against_pytorch(model, run, precision)
    return against_unsharded(
        run, Run(model, 1, precision, folder, frozen, 1, batch, steps), precision
    )


def cases(meshes=MESHES, strategies=STRATEGIES, accumulations=ACCUMULATIONS):
    return [(m, s, a) for m in meshes for s in strategies if fits(s, m) for a in accumulations]


def out_of_bounds(row):
    return [column for column, (deviation, bound) in row.items() if not deviation <= bound]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "models",
        nargs="*",
        help="names of models (default: every s0, s1, s2, s4, gpt2, mlp and vision model found)",
    )
    parser.add_argument("--mesh", nargs="+", default=MESHES)
    parser.add_argument("--strategy", nargs="+", default=STRATEGIES)
    parser.add_argument("--precision", default="float64")
    args, flags = parser.parse_known_args()
    chosen = {
        n: m
        for n, m in models().items()
        if (
            n in args.models
            if args.models
            else n.startswith(("s0", "s1", "s2", "s4", "gpt2", "mlp", "vision"))
        )
    }
    failures = 0
    for name, model in chosen.items():
        for mesh, strategy, accumulation in cases(args.mesh, args.strategy):
            label = f"{name:42} {mesh:4} {strategy:15} {accumulation[0]} {accumulation[1]:10}"
            with tempfile.TemporaryDirectory() as folder:
                try:
                    row = measure(
                        model, mesh, strategy, accumulation, args.precision, folder, flags
                    )
                except CommandFailed as error:
                    failures += 1
                    print(f"{label} {error}", flush=True)
                    continue
            bad = out_of_bounds(row)
            failures += bool(bad)
            print(
                f"{label} "
                + "  ".join(f"{d:9.1e} ({b:7.1e})" for d, b in row.values())
                + (f"  FAIL {', '.join(bad)}" if bad else ""),
                flush=True,
            )
    print(f"{failures} rows out of bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
