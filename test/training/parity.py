#!/usr/bin/env python3
"""shardc against PyTorch's recorded runs: a table of model x mesh x precision.

Each figure stands beside its bound.

Columns: the worst relative deviation from PyTorch's float64 run of the losses and of the gradient
norms over all steps, of the first step's gradients per tensor, and of the final parameters per
tensor (from PyTorch's float32 run).

Bounds. float64: 1e-7 (graphs carry some constants in float32), or a twentieth of the distance
between PyTorch's own float32 and float64 runs. float32: three times PyTorch's own distance from its
float64 run, at least 1e-6. First gradients, float64: 1e-7 of the tensor's largest, or 1e-9 of the
model's largest where the true gradient is zero; float32: 1e-4 of the tensor's largest, or 1e-6 of
the model's. Final parameters: 1e-3 of the tensor's largest, where the true gradient is not zero.
"""
import argparse
import os
import sys
import tempfile

import numpy as np

from reference import CommandFailed, models, read_metrics, read_safetensors

COLUMNS = ("losses", "norms", "gradients", "parameters")


def worst_relative(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return float("inf")
    deviation = np.abs(got - want) / np.maximum(np.abs(want), 1e-300)
    return float("inf") if np.isnan(deviation).any() else float(deviation.max(initial=0.0))


def curve_bound(float32, float64, precision):
    own = worst_relative(float32, float64)
    return max(1e-7, own / 20) if precision == "float64" else max(1e-6, 3 * own)


def comparable(reference):
    """Per parameter, the elements whose true gradient is not zero; elsewhere it is rounding noise,
    which AdamW turns into steps.

    Zero are, for instance, the key part of an attention bias, and queries and keys where a
    sequence has one element.
    """
    largest = max(np.abs(g).max(initial=0) for g in reference.values())
    return {name: np.abs(g) >= 1e-9 * largest for name, g in reference.items()}


def gradient_bounds(precision):
    """Of the tensor's largest, and of the model's largest."""
    return (1e-7, 1e-9) if precision == "float64" else (1e-4, 1e-6)


def gradient_deviation(got, want, precision):
    """Worst deviation in units of the bound's relative part, so that one bound serves all
    tensors."""
    largest = max(np.abs(g).max(initial=0) for g in want.values())
    relative, absolute = gradient_bounds(precision)
    worst = 0.0
    for name, reference in want.items():
        if name not in got or got[name].shape != reference.shape:
            return float("inf"), relative
        deviation = np.abs(got[name].astype(np.float64) - reference).max(initial=0)
        allowed = max(relative * np.abs(reference).max(initial=0), absolute * largest)
        worst = max(worst, deviation / allowed * relative)
    return float("inf") if np.isnan(worst) else worst, relative


def parameter_deviation(got, want, mask):
    worst = 0.0
    for name, reference in want.items():
        if name not in got or got[name].shape != reference.shape:
            return float("inf")
        largest = max(np.abs(reference).max(initial=0), 1e-12)
        worst = max(
            worst,
            float(
                (np.abs(got[name].astype(np.float64) - reference) * mask[name]).max(initial=0)
                / largest
            ),
        )
    return worst


def measure(model, mesh, precision, folder, flags=()):
    """{column: (deviation, bound)} of one run."""
    trainer, metrics, gradients, final = (
        os.path.join(folder, f) for f in ("m.trainer", "m.jsonl", "g.safetensors", "f.safetensors")
    )
    model.compile(trainer, mesh, precision, *flags)
    model.train(
        trainer,
        "--metrics",
        metrics,
        "--export-gradients",
        gradients,
        "--export-safetensors",
        final,
    )
    steps, _ = read_metrics(metrics)
    r = model.reference
    want = read_safetensors(os.path.join(model.folder, r["grads_step0"]))
    lost = set(r["lost_parameters"])
    want = {name: g for name, g in want.items() if name not in lost}
    parameters = {
        n: p
        for n, p in read_safetensors(os.path.join(model.folder, r["final_params"])).items()
        if n not in lost
    }
    return {
        "losses": (
            worst_relative([s["loss"] for s in steps], r["loss_f64"]),
            curve_bound(r["loss"], r["loss_f64"], precision),
        ),
        "norms": (
            worst_relative([s["grad_norm"] for s in steps], r["grad_norm_f64"]),
            curve_bound(r["grad_norm"], r["grad_norm_f64"], precision),
        ),
        "gradients": gradient_deviation(read_safetensors(gradients), want, precision),
        "parameters": (
            parameter_deviation(read_safetensors(final), parameters, comparable(want)),
            1e-3,
        ),
    }


def meshes(model, asked):
    return [m for m in asked if model.batch % m == 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "models",
        nargs="*",
        help="names of models (default: every s0, s1, s2, s4, gpt2, mlp and vision model found)",
    )
    parser.add_argument("--mesh", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--precision", nargs="+", default=["float64", "float32"])
    args = parser.parse_args()
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
    print(
        f"{'model':42} {'mesh':>4} {'type':>7}  "
        + "  ".join(f"{c:>10} {'(bound)':>9}" for c in COLUMNS)
    )
    for name, model in chosen.items():
        for mesh in meshes(model, args.mesh):
            for precision in args.precision:
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        row = measure(model, mesh, precision, folder)
                    except CommandFailed as error:
                        failures += 1
                        print(f"{name:42} {mesh:4} {precision:>7}  {error}", flush=True)
                        continue
                bad = [c for c in COLUMNS if not row[c][0] <= row[c][1]]
                failures += bool(bad)
                print(
                    f"{name:42} {mesh:4} {precision:>7}  "
                    + "  ".join(f"{row[c][0]:10.1e} ({row[c][1]:7.1e})" for c in COLUMNS)
                    + (f"  FAIL {', '.join(bad)}" if bad else ""),
                    flush=True,
                )
    print(f"{failures} rows out of bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
