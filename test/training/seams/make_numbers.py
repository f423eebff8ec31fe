#!/usr/bin/env python3
"""Writes numbers.json: what torch computes for each case of table.py, values and gradients, in
float64 and float32 (of the narrow ones in float64).

    PYTHON_WITH_TORCH_AND_ONNX make_numbers.py
"""
import json
import math
import os

import table
import torch
import torch.nn.functional as F


def F_prelu(x, slope):
    """F.prelu takes one slope per channel: here the elements are the channels."""
    return F.prelu(x.reshape(1, -1), slope.reshape(-1)).reshape(x.shape)


def normalized(x, p):
    """ONNX's LpNormalization: "when the norm is zero, the output is defined to be zero"."""
    norm = torch.linalg.vector_norm(x, p, dim=-1, keepdim=True)
    return torch.where(
        norm == 0, torch.zeros_like(x), x / torch.where(norm == 0, torch.ones_like(norm), norm)
    )


def numbers(case, dtype):
    torch.set_default_dtype(dtype)
    leaves = {
        name: torch.tensor(values, dtype=dtype, requires_grad=True)
        for name, values in case.arrays().items()
    }
    value = eval(
        case.torch,
        {
            "torch": torch,
            "math": math,
            "F": F,
            "F_prelu": F_prelu,
            "normalized": normalized,
            "SIXTH": table.SIXTH,
            "EPSILON": table.EPSILON,
        },
        leaves,
    )
    value.backward(
        torch.tensor([table.weight(i) for i in range(value.numel())], dtype=dtype).reshape(
            value.shape
        )
    )
    return {
        "value": value.reshape(-1).tolist(),
        **{
            name: (
                (leaf.grad if leaf.grad is not None else torch.zeros_like(leaf))
                .reshape(-1)
                .tolist()
            )
            for name, leaf in leaves.items()
        },
    }


def main():
    found = {
        case.name: {
            name: numbers(case, dtype)
            for name, dtype in (("float64", torch.float64), ("float32", torch.float32))
        }
        for case in table.CASES
    }
    found.update(
        {case.name: {"float64": numbers(case, torch.float64)} for case in table.NARROW_CASES}
    )
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "numbers.json"), "w"
    ) as file:
        file.write(
            f'{{"torch": "{torch.__version__}",\n'
            + ",\n".join(f' "{name}": {json.dumps(entry)}' for name, entry in found.items())
            + "\n}\n"
        )


if __name__ == "__main__":
    main()
