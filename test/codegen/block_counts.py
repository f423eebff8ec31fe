#!/usr/bin/env python3
"""Counts what a block launches on a GPU, forward and backward.

    block_counts.py SHARDC MODEL.onnx UNIT KERNELS PRODUCTS [FLAGS...]

Fails where the entries of the unit UNIT in @train are more than KERNELS generated kernels, or more
than PRODUCTS products, or copies of any number; `-` is no bound. UNIT is that of a block in the
middle of a model, whose neighbours are like it.
"""
import collections
import re
import subprocess
import sys


def entries(plan, unit):
    """(phase, kind, kernel) of each entry of the training program that is the unit's."""
    program = plan.split('step.program "train"', 1)[1].split("step.program", 1)[0]
    for line in program.splitlines():
        entry = re.match(r"\s*(?:%\S+ = )?step\.(\w+)", line)
        of = re.search(r'step\.unit = "([^"]+)"', line)
        if not entry or not of or of[1] != unit:
            continue
        phase = re.search(r'step\.phase = "([^"]+)"', line)[1]
        kernel = re.search(r"@kernels::@(\w+)", line)
        yield phase, entry[1], kernel[1] if kernel else ""


def main(shardc, model, unit, kernels, products, *flags):
    words = [shardc, model, "--target", "cuda:sm_90", "--compile-to", "plan", "-q", *flags]
    plan = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    counts, names = collections.Counter(), collections.defaultdict(list)
    for phase, kind, kernel in entries(plan, unit):
        if phase == "optimizer":
            continue
        counts[kind] += 1
        names[phase].append(kernel or kind)
    for phase, each in names.items():
        print(f"{phase}: {' '.join(each)}")
    print(f"{counts['launch']} kernels, {counts['gemm']} products, {counts['copy']} copies")
    bounds = {"launch": kernels, "gemm": products, "copy": "0"}
    if not counts["launch"] or not counts["gemm"]:
        sys.exit(f"unit {unit} has no kernels or no products")
    for kind, most in bounds.items():
        if most != "-" and counts[kind] > int(most):
            sys.exit(f"unit {unit} has {counts[kind]} of {kind}, more than {most}")


if __name__ == "__main__":
    main(*sys.argv[1:])
