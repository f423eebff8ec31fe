#!/usr/bin/env python3
"""Writes Plateaus.inc: learning rates of torch's ReduceLROnPlateau behind each of some evaluations,
for PlateauTest.cpp.

Needs torch 2; not run by the tests. Each is {name, settings, whether less is better, minimum,
values of evaluations, learning rates behind them}.
"""
import os
import random
import sys

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

PEAK = 3e-3
# In the order in which Plateau::Settings declares them.
FIELDS = ("factor", "patience", "threshold", "cooldown")


def rates(values, mode, minimum, **settings):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    scheduler = ReduceLROnPlateau(optimizer, mode, min_lr=minimum, **settings)
    result = []
    for value in values:
        optimizer.step()
        scheduler.step(value)
        result.append(optimizer.param_groups[0]["lr"])
    return result


def cases():
    """Losses that fall ever less, and noise; parts of right answers that rise."""
    numbers = random.Random(7)
    noisy = [2 / (1 + i) + 0.1 * numbers.random() for i in range(40)]
    rising = [1 - 0.6 / (1 + i) - 0.02 * numbers.random() for i in range(40)]
    still = [1.0] * 30
    slow = [1 - 1e-4 * i for i in range(30)]
    negative = [-v for v in noisy]
    yield "defaults", noisy, "min", 0, {}
    yield "no patience", noisy, "min", 0, {"patience": 0, "factor": 0.5}
    yield "cooldown", noisy, "min", 1e-5, {"patience": 1, "factor": 0.3, "cooldown": 3}
    yield "minimum", still, "min", 1e-3, {"patience": 2, "factor": 0.5}
    yield "smallest fall", still, "min", 0, {"patience": 0, "factor": 0.01}
    yield "threshold", slow, "min", 0, {"patience": 3, "threshold": 0.01, "factor": 0.5}
    yield "no threshold", slow, "min", 0, {"patience": 3, "threshold": 0, "factor": 0.5}
    yield "more is better", rising, "max", 0, {"patience": 2, "factor": 0.2}
    yield "negative", negative, "max", 0, {"patience": 2, "factor": 0.2}
    yield "to nothing", still, "min", 0, {"patience": 4, "factor": 0.0}


def main():
    lines = [f"// Written by make_plateaus.py with torch {torch.__version__.split('+')[0]}."]
    for name, values, mode, minimum, settings in cases():
        fields = ", ".join(f".{f} = {settings[f]!r}" for f in FIELDS if f in settings)
        found = rates(values, mode, minimum, **settings)
        numbers = (", ".join(map(repr, list)) for list in (values, found))
        less = "true" if mode == "min" else "false"
        lines.append(
            f'{{"{name}", {{{fields}}}, {less}, {minimum!r}, '
            + ", ".join(f"{{{text}}}" for text in numbers)
            + "},"
        )
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Plateaus.inc")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
