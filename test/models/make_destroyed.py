#!/usr/bin/env python3
"""Writes destroyed/*.onnx: modules as torch's exporters write them with flags that people use, each
of which loses something that training needs. test_destroyed_exports.py says what, and what shardc
makes of it.

    PYTHON_WITH_TORCH_AND_ONNXSCRIPT make_destroyed.py [FOLDER [NAME ...]]
"""
import contextlib
import copy
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

TRAINING = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}


class OnePlus(nn.Module):
    """A scale of which 1 + weight is used, as Gemma's norms do."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.scale = nn.Parameter(0.1 * torch.randn(8))

    def forward(self, x):
        return self.fc(x) * (1 + self.scale)


class Scale(nn.Module):
    """A temperature that is learned as its logarithm, as CLIP's."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.logit_scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return self.fc(x) * self.logit_scale.exp()


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.utils.parametrizations.weight_norm(nn.Linear(8, 5))

    def forward(self, x):
        return self.fc(x)


class ConvNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 5)

    def forward(self, x):
        return self.head(self.bn(self.conv(x)).relu().mean((2, 3)))


class ZeroBiases(nn.Module):
    """Biases as transformers initializes them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 5)
        nn.init.zeros_(self.a.bias), nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return self.b(self.a(x).relu())


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.head = nn.Linear(8, 24), nn.Linear(8, 5)

    def forward(self, x):
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in parts)
        rate = 0.1 if self.training else 0.0
        heads = F.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        return self.head(heads.transpose(1, 2).flatten(2).mean(1))


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop, self.head = nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.drop(self.fc(x).relu()))


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(11, 8, padding_idx=3), nn.Linear(8, 5)

    def forward(self, ids):
        return self.head(self.embed(ids).mean(1))


class Positions(nn.Module):
    """A parameter that begins as a table of sines."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 5)
        angles = torch.arange(16)[:, None] / 10000 ** (torch.arange(4) / 4)
        self.pos = nn.Parameter(torch.cat([angles.sin(), angles.cos()], 1))

    def forward(self, x):
        return self.head((x + self.pos[: x.shape[1]]).mean(1))


class Copied(nn.Module):
    """Two projections that start equal."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.key = copy.deepcopy(self.query)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.query(x).tanh() * self.key(x))


class Masked(nn.Module):
    """A mask of a length that Python computed."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, ids):
        length = len(ids[0])
        hidden = self.embed(ids)
        mask = torch.full((length, length), float("-inf")).triu(1)
        weights = (hidden @ hidden.transpose(1, 2) + mask).softmax(-1)
        return self.head(weights @ hidden)


class Classes(nn.Module):
    """The class in place of the scores."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(x).argmax(-1)


class Detached(nn.Module):
    """What a caller reads and does not train."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(x).detach()


class Gates(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.slope = nn.GRU(8, 4, batch_first=True), nn.PReLU(4)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        return self.head(self.slope(self.gru(x)[0].transpose(1, 2)).mean(2))


class GroupNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Linear(4, 5)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).relu().mean((2, 3)))


def dynamo(module, example, path, optimize):
    torch.onnx.export(
        module.train(),
        (example,),
        path,
        dynamo=True,
        optimize=optimize,
        input_names=["x"],
        output_names=["logits"],
        dynamic_shapes=[{0: "batch"}],
        external_data=False,
        verbose=False,
    )


def tracing(module, example, path, axes=None, **options):
    torch.onnx.export(
        module.train(),
        (example,),
        path,
        dynamo=False,
        input_names=["x"],
        output_names=["logits"],
        dynamic_axes={"x": {0: "batch"} if axes is None else axes},
        **options,
    )


VECTORS, IMAGES = torch.zeros(2, 8), torch.zeros(2, 3, 8, 8)
SEQUENCES, IDS = torch.zeros(2, 6, 8), torch.zeros(2, 6, dtype=torch.int64)
BOTH = {0: "batch", 1: "sequence"}
EXPORTS = {
    "one-plus-traced": lambda path: tracing(OnePlus(), VECTORS, path),
    "one-plus-optimized": lambda path: dynamo(OnePlus(), VECTORS, path, True),
    "scale-traced": lambda path: tracing(Scale(), VECTORS, path),
    "scale-optimized": lambda path: dynamo(Scale(), VECTORS, path, True),
    "weight-norm-optimized": lambda path: dynamo(WeightNorm(), VECTORS, path, True),
    "conv-norm-traced": lambda path: tracing(ConvNorm(), IMAGES, path),
    "norm-in-eval-mode": lambda path: tracing(
        ConvNorm(), IMAGES, path, training=torch.onnx.TrainingMode.EVAL, do_constant_folding=False
    ),
    "zero-biases-optimized": lambda path: dynamo(ZeroBiases(), VECTORS, path, True),
    "attention-dropout-traced": lambda path: tracing(Attention(), SEQUENCES, path, **TRAINING),
    "dropout-opset-11": lambda path: tracing(
        Dropped(), VECTORS, path, opset_version=11, **TRAINING
    ),
    "padding-index-traced": lambda path: tracing(Padded(), IDS, path, **TRAINING),
    "positions-traced": lambda path: tracing(Positions(), SEQUENCES, path),
    "copied-traced": lambda path: tracing(Copied(), VECTORS, path),
    "copied-optimized": lambda path: dynamo(Copied(), VECTORS, path, True),
    "gates-traced": lambda path: tracing(Gates(), SEQUENCES, path),
    "group-norm-traced": lambda path: tracing(GroupNorm(), IMAGES, path),
    "fixed-batch": lambda path: tracing(OnePlus(), VECTORS, path, axes={}),
    "mask-traced": lambda path: tracing(Masked(), IDS, path, axes=BOTH),
    "classes": lambda path: dynamo(Classes(), VECTORS, path, False),
    "detached": lambda path: dynamo(Detached(), VECTORS, path, False),
}


def main(folder, *names):
    warnings.filterwarnings("ignore")
    os.makedirs(folder, exist_ok=True)
    for name, export in EXPORTS.items():
        if not names or name in names:
            torch.manual_seed(5)
            with contextlib.redirect_stdout(sys.stderr):
                export(os.path.join(folder, f"{name}.onnx"))


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    main(*(sys.argv[1:] or [os.path.join(here, "destroyed")]))
