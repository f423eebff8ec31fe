#!/usr/bin/env python3
"""Writes resnet-tiny: a residual network whose batch norms are in train mode, as torch's exporter
writes it, data, and PyTorch's training runs (README.md): of the whole batch at once, in two
micro-batches, and of two ranks whose running statistics are averaged after every step.

    PYTHON_WITH_TORCH_AND_ONNXSCRIPT make_batch_norm.py [FOLDER]
"""
import copy
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from make_vision import BATCH, CLASSES, Block, RECIPE, SAMPLES, SIZE, STEPS
from recorded import write_run, write_safetensors


class ResNet(nn.Module):
    """A stem, a residual block, a depthwise convolution with MobileNet's norm, one norm that is
    called twice, and one of vectors."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.block = Block(8, 12, 2)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False)
        self.twice = nn.BatchNorm2d(12, eps=1e-3, momentum=0.01)
        self.hidden = nn.Linear(12, 12, bias=False)
        self.vectors = nn.BatchNorm1d(12, affine=False)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, x):
        x = self.block(F.relu(self.bn(self.stem(x))))
        x = self.twice(F.silu(self.twice(self.depthwise(x))))
        return self.head(F.relu(self.vectors(self.hidden(x.mean((2, 3))))))


def make():
    torch.manual_seed(17)
    model = ResNet()
    generator = torch.Generator().manual_seed(18)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean += 0.3 * torch.randn(module.num_features, generator=generator)
            module.running_var += torch.rand(module.num_features, generator=generator)
    return model.train()


def running(model):
    return {n: b for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")}


def run(dtype, x, labels, parts=1, ranks=False):
    """(losses, norms, first gradients, parameters and running statistics at the end). The batch
    comes in so many parts: micro-batches, or ranks, each of which begins a step with the same
    statistics."""
    model = make().to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), RECIPE["lr"], weight_decay=0.01)
    losses, norms, first = [], [], {}
    for step in range(STEPS):
        picked = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        loss = 0.0
        before, after = copy.deepcopy(running(model)), []
        for part in picked.chunk(parts):
            if ranks:
                for name, buffer in running(model).items():
                    buffer.copy_(before[name])
            of_part = F.cross_entropy(model(x[part].to(dtype)), labels[part]) / parts
            of_part.backward()
            loss += float(of_part.detach())
            after.append(copy.deepcopy(running(model)))
        if ranks:
            for name, buffer in running(model).items():
                buffer.copy_(sum(each[name] for each in after) / parts)
        if step == 0:
            first = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), RECIPE["clip"])))
        optimizer.step()
        losses.append(loss)
    final = {n: p.detach().numpy() for n, p in model.named_parameters()}
    model.eval()
    with torch.no_grad():
        evaluated = float(F.cross_entropy(model(x.to(dtype)), labels))
    statistics = {n: b.numpy().copy() for n, b in running(model).items()}
    return losses, norms, first, final, statistics, evaluated


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(folder, "resnet-tiny")
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    generator = torch.Generator().manual_seed(19)
    x = torch.randn(SAMPLES, 3, SIZE, SIZE, generator=generator) * 1.5 + 0.25
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    np.save(os.path.join(folder, "data", "x.npy"), x.numpy())
    np.save(os.path.join(folder, "data", "labels.npy"), labels.numpy())
    torch.onnx.export(
        make(),
        (x[:BATCH],),
        os.path.join(folder, "model.onnx"),
        dynamo=True,
        optimize=False,
        external_data=False,
        input_names=["x"],
        output_names=["logits"],
        dynamic_shapes={"x": {0: torch.export.Dim("batch")}},
    )
    of_float32, of_float64 = (run(d, x, labels) for d in (torch.float32, torch.float64))
    in_parts = run(torch.float64, x, labels, parts=2)
    of_ranks = run(torch.float64, x, labels, parts=2, ranks=True)
    for name, each in (
        ("running", of_float64),
        ("running_micro_batches", in_parts),
        ("running_ranks", of_ranks),
    ):
        write_safetensors(os.path.join(folder, f"{name}.safetensors"), each[4])
    write_run(
        folder,
        "; norms of batches are in train mode",
        {**RECIPE, "batch_norm": "of the batch"},
        of_float32,
        of_float64,
        evaluated_f64=of_float64[5],
        loss_f64_in_two_parts=in_parts[0],
        evaluated_f64_in_two_parts=in_parts[5],
        evaluated_f64_of_two_ranks=of_ranks[5],
    )


if __name__ == "__main__":
    main()
