#!/usr/bin/env python3
"""Writes vision-cnn-tiny and vision-vit-tiny: the models as torch's exporter writes them, data,
and PyTorch's training run (reference.json, grads_step0.safetensors, final.safetensors; README.md
says what these are).

    PYTHON_WITH_TORCH_AND_ONNXSCRIPT make_vision.py [FOLDER]
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from recorded import write_run

BATCH, SAMPLES, STEPS, SIZE, CLASSES = 12, 48, 20, 16, 10
RECIPE = {
    "optimizer": "AdamW",
    "lr": 0.001,
    "betas": [0.9, 0.999],
    "eps": 1e-08,
    "weight_decay": 0.01,
    "clip": 1.0,
    "schedule": "constant",
    "warmup": 0,
    "warmup_start": 0.1,
    "steps": STEPS,
    "batch": BATCH,
    "data_order": "step k uses samples [k*batch, (k+1)*batch) modulo the number of samples",
    "loss": {"cross_entropy": {"ignore_index": -100, "shift": False}},
    "train_mode": True,
}


class Block(nn.Module):
    """ResNet's basic block."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = nn.Sequential(
            nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
        )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.down(x))


class Cnn(nn.Module):
    """A stem with a pool, a residual block, a depthwise and a grouped convolution, a dilated one
    with a group norm, and one transposed."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 1, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = Block(8, 12, 2)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.grouped = nn.Conv2d(12, 16, 3, padding=1, groups=4)
        self.dilated = nn.Conv2d(16, 16, 3, padding=2, dilation=2)
        self.norm = nn.GroupNorm(4, 16)
        self.average = nn.AvgPool2d(3, 1, 1)
        self.up = nn.ConvTranspose2d(16, 12, 3, 2, 1, output_padding=1)
        self.head = nn.Linear(12, CLASSES)

    def forward(self, x):
        x = self.block(self.pool(F.relu(self.bn(self.stem(x)))))
        x = F.gelu(self.grouped(F.silu(self.depthwise(x))))
        x = self.up(self.average(self.norm(self.dilated(x))))
        return self.head(x.relu().mean((2, 3)))


class Vit(nn.Module):
    """Patches by a convolution, a class token, learned positions, two pre-norm layers."""

    def __init__(self):
        super().__init__()
        width = 32
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.position = nn.Parameter(torch.randn(1, (SIZE // 4) ** 2 + 1, width) * 0.02)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 64, 0.0, F.gelu, batch_first=True, norm_first=True)
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


def make(kind):
    torch.manual_seed(7)
    model = kind()
    generator = torch.Generator().manual_seed(8)
    for name, parameter in model.named_parameters():
        if name.endswith("bias") or parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean += 0.3 * torch.randn(module.num_features, generator=generator)
            module.running_var += torch.rand(module.num_features, generator=generator)
            module.eval()
    return model


def run(kind, dtype, x, labels):
    """(losses, norms, first gradients, parameters at the end)"""
    model = make(kind).to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), RECIPE["lr"], weight_decay=0.01)
    losses, norms, first = [], [], {}
    for step in range(STEPS):
        picked = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[picked].to(dtype)), labels[picked])
        loss.backward()
        if step == 0:
            first = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), RECIPE["clip"])))
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, norms, first, {n: p.detach().numpy() for n, p in model.named_parameters()}


def write(name, kind, folder):
    folder = os.path.join(folder, name)
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(SAMPLES, 3, SIZE, SIZE, generator=generator)
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    np.save(os.path.join(folder, "data", "x.npy"), x.numpy())
    np.save(os.path.join(folder, "data", "labels.npy"), labels.numpy())
    torch.onnx.export(
        make(kind),
        (x[:BATCH],),
        os.path.join(folder, "model.onnx"),
        dynamo=True,
        optimize=False,
        external_data=False,
        input_names=["x"],
        output_names=["logits"],
        dynamic_shapes={"x": {0: torch.export.Dim("batch")}},
    )
    write_run(
        folder,
        "; norms of batches are in eval mode",
        RECIPE,
        run(kind, torch.float32, x, labels),
        run(kind, torch.float64, x, labels),
    )


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write("vision-cnn-tiny", Cnn, folder)
    write("vision-vit-tiny", Vit, folder)


if __name__ == "__main__":
    main()
