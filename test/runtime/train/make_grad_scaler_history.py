#!/usr/bin/env python3
"""Writes GradScalerHistory.inc: how torch's own GradScaler moves its scale, for
LossScalerTest.cpp to replay.

Needs torch 2; not run by the tests. Each history is {initial scale, growth interval, number of
steps, steps whose gradient is not finite, {step, scale of that step} where the scale differs from
that of the step before}.
"""
import os
import random
import sys

import torch

RANDOM = random.Random(5)
HISTORIES = (  # initial scale, growth interval, steps, steps that are not finite
    (65536.0, 2000, 6500, (0, 1, 5, 2004, 2005, 6006)),
    (65536.0, 3, 200, tuple(i for i in range(200) if RANDOM.random() < 0.3)),
    (65536.0, 1, 60, tuple(i for i in range(60) if RANDOM.random() < 0.5)),
    (8.0, 2, 40, tuple(range(3, 12)) + (20, 22, 24)),
    (2.0**124, 2, 20, (13,)),  # would leave float32: stays
    (1000.0, 4, 50, (7, 8, 9, 10, 30)),  # not a power of two
)


def scales(initial, interval, steps, bad):
    """The scale of each step; the optimizer must have skipped the bad ones."""
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=initial, growth_interval=interval)
    result = []
    for step in range(steps):
        result.append(scaler.get_scale())
        before = parameter.detach().clone()
        slope = RANDOM.choice((float("inf"), float("nan"), -float("inf"))) if step in bad else 1e-3
        scaler.scale((parameter * torch.tensor([1e-3, slope, 0.0])).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, parameter.detach()) == (step in bad)
        optimizer.zero_grad()
    return result


def main():
    lines = [
        f"// Written by make_grad_scaler_history.py with torch {torch.__version__.split('+')[0]}."
    ]
    for initial, interval, steps, bad in HISTORIES:
        history = scales(initial, interval, steps, bad)
        changes = [
            f"{{{i}, {s.hex()}}}" for i, s in enumerate(history) if i == 0 or s != history[i - 1]
        ]
        lines.append(
            f"{{{initial.hex()}, {interval}, {steps}, {{{', '.join(map(str, bad))}}},"
            f" {{{', '.join(changes)}}}}},"
        )
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "GradScalerHistory.inc"),
        "w",
        encoding="utf-8",
    ) as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
