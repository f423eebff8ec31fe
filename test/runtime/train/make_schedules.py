#!/usr/bin/env python3
"""Writes Schedules.inc: learning rates of transformers' and torch's own schedulers, for
ScheduleTest.cpp.

Needs torch 2 and transformers 5; not run by the tests. Each is {name, schedule, learning rates of
its first steps}.
"""
import os
import sys
import warnings

import torch
import transformers
from torch.optim import lr_scheduler
from transformers import get_scheduler

STEPS = 44
PEAK = 3e-3


def rates(make):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=PEAK)
    scheduler = make(optimizer)
    result = []
    for _ in range(STEPS):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return result


def of_transformers(name, warmup, steps, **numbers):
    return rates(
        lambda optimizer: get_scheduler(
            name, optimizer, warmup, steps, scheduler_specific_kwargs=numbers
        )
    )


def of_torch(kind, **numbers):
    return rates(lambda optimizer: getattr(lr_scheduler, kind)(optimizer, **numbers))


def warmup_stable_decay(warmup, steps, decay, **numbers):
    return of_transformers("warmup_stable_decay", warmup, steps, num_decay_steps=decay, **numbers)


def cases():
    hf = of_transformers
    wsd = "WarmupStableDecay"
    yield "linear", "Linear", {"warmupSteps": 5, "totalSteps": 40}, hf("linear", 5, 40)
    yield "cosine", "Cosine", {"warmupSteps": 5, "totalSteps": 44}, hf("cosine", 5, 44)
    yield "cosine, waves", "Cosine", {"warmupSteps": 4, "totalSteps": 44, "cycles": 1.25}, hf(
        "cosine", 4, 44, num_cycles=1.25
    )
    yield "cosine_with_min_lr", "Cosine", {
        "warmupSteps": 5,
        "totalSteps": 44,
        "minimum": 3e-4,
    }, hf("cosine_with_min_lr", 5, 44, min_lr=3e-4)
    yield "polynomial", "Polynomial", {
        "warmupSteps": 3,
        "totalSteps": 40,
        "power": 2.5,
        "minimum": 1e-5,
    }, hf("polynomial", 3, 40, power=2.5, lr_end=1e-5)
    yield "polynomial, defaults", "Polynomial", {"totalSteps": 40, "minimum": 1e-7}, hf(
        "polynomial", 0, 40
    )
    yield "PolynomialLR", "Polynomial", {"totalSteps": 30, "power": 1.5}, of_torch(
        "PolynomialLR", total_iters=30, power=1.5
    )
    yield "cosine_with_restarts", "CosineWithRestarts", {
        "warmupSteps": 5,
        "totalSteps": 40,
        "cycles": 3,
    }, hf("cosine_with_restarts", 5, 40, num_cycles=3)
    yield "cosine_with_restarts, one", "CosineWithRestarts", {"totalSteps": 40, "cycles": 1}, hf(
        "cosine_with_restarts", 0, 40
    )
    yield "CosineAnnealingWarmRestarts", "CosineWithRestarts", {
        "totalSteps": 44,
        "cycles": 4,
        "minimum": 2e-4,
    }, of_torch("CosineAnnealingWarmRestarts", T_0=11, eta_min=2e-4)
    yield "inverse_sqrt", "InverseSqrt", {"warmupSteps": 6, "timescale": 6}, hf(
        "inverse_sqrt", 6, None
    )
    yield "inverse_sqrt, timescale", "InverseSqrt", {"warmupSteps": 6, "timescale": 17}, hf(
        "inverse_sqrt", 6, None, timescale=17
    )
    yield "inverse_sqrt, no warm-up", "InverseSqrt", {"timescale": 10000}, hf(
        "inverse_sqrt", 0, None
    )
    shapes = (("linear", "Linear"), ("cosine", "Cosine"), ("1-sqrt", "OneMinusSqrt"))
    for name, shape in shapes:
        for ratio in (0, 0.125):
            yield f"warmup_stable_decay {name} {ratio}", wsd, {
                "minimum": PEAK * ratio,
                "warmupSteps": 7,
                "warmupStartFactor": ratio,
                "stableSteps": 40 - 7 - 12,
                "decaySteps": 12,
                "decayShape": f"Schedule::Shape::{shape}",
                "warmupShape": f"Schedule::Shape::{shape}",
            }, warmup_stable_decay(7, 40, 12, warmup_type=name, decay_type=name, min_lr_ratio=ratio)
    yield "warmup_stable_decay, waves", wsd, {
        "stableSteps": 9,
        "decaySteps": 20,
        "cycles": 1.5,
    }, warmup_stable_decay(0, None, 20, num_stable_steps=9, num_cycles=1.5)


# In the order in which Schedule declares them.
FIELDS = (
    "minimum warmupSteps warmupStartFactor totalSteps power cycles timescale stableSteps decaySteps"
    " decayShape warmupShape"
).split()


def main():
    warnings.simplefilter("ignore")
    lines = [
        f"// Written by make_schedules.py with torch {torch.__version__.split('+')[0]} and"
        f" transformers {transformers.__version__}."
    ]
    for name, kind, fields, values in cases():
        assert set(fields) <= set(FIELDS), fields
        schedule = f".kind = Schedule::Kind::{kind}, .peak = {PEAK!r}" + "".join(
            f", .{key} = {fields[key]}" for key in FIELDS if key in fields
        )
        lines.append(f'{{"{name}", {{{schedule}}}, {{{", ".join(map(repr, values))}}}}},')
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Schedules.inc")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
