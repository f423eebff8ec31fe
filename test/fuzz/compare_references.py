"""Holds the two references against each other on random programs, without the compiler: losses to
1e-11, gradients to 1e-8.

    compare_references.py A..B"""
import sys

import numpy as np

from evaluate import Written, by_torch
from fuzz import seeds_of
from generate import generate


def main(seeds):
    wrong = seams = 0
    for seed in seeds_of(seeds):
        case = generate(seed)
        parts = case.configuration.parts()
        written = Written(case.program, parts)
        loss, gradients = by_torch(case.program, parts)
        if abs(loss - float(written.loss)) > 1e-11 * max(1, abs(loss)):
            wrong += 1
            print(f"seed {seed}: loss {loss!r} by torch, {float(written.loss)!r} written")
        for name, gradient in gradients.items():
            direction = np.random.default_rng(seed).standard_normal(gradient.shape)
            slope, smooth, _ = written.slope(name, direction)
            seams += not smooth
            if smooth and abs(slope - np.sum(gradient * direction)) > 1e-8 * (
                1 + np.max(np.abs(gradient))
            ):
                wrong += 1
                print(
                    f"seed {seed}: gradient of '{name}' along a direction"
                    f" {np.sum(gradient * direction)!r} by torch, {slope!r} by differences"
                )
    print(f"{len(seeds_of(seeds))} programs, {wrong} differences, {seams} directions at seams")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
