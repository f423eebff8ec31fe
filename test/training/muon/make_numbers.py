#!/usr/bin/env python3
"""Writes numbers.json: what torch.optim.Muon (PyTorch 2.15) makes of random matrices and
gradients in float64, in a few steps.

torch computes its Newton-Schulz iteration in bfloat16 whatever the parameters are. Here the
conversion keeps float64, so that the formula shows, and not the rounding.
"""
import json
import os

import torch

STEPS, RATE, DECAY = 4, 0.02, 0.1
SHAPES = ((6, 6), (4, 9), (9, 4), (1, 5), (5, 1))
CASES = (
    {},
    {"momentum": 0.8, "nesterov": False},
    {"ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"},
)


def main():
    torch.bfloat16 = torch.float64  # what Muon's code asks for by this name
    generator = torch.Generator().manual_seed(3)
    draw = lambda shape: torch.randn(shape, generator=generator, dtype=torch.float64)
    cases = []
    for options in CASES:
        for shape in SHAPES:
            parameter = torch.nn.Parameter(draw(shape))
            case = {"options": options, "begin": parameter.tolist(), "gradients": []}
            optimizer = torch.optim.Muon([parameter], lr=RATE, weight_decay=DECAY, **options)
            for _ in range(STEPS):
                parameter.grad = draw(shape)
                case["gradients"].append(parameter.grad.tolist())
                optimizer.step()
            case["end"] = parameter.tolist()
            case["momentum_buffer"] = optimizer.state[parameter]["momentum_buffer"].tolist()
            cases.append(case)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numbers.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "rate": RATE, "decay": DECAY, "cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
