#!/usr/bin/env python3
"""Writes torch/: what PyTorch's distributed checkpoint leaves of a run in its middle.

Also steps.json: the losses of the steps behind it, and the parameters in the end. Needs torch with
safetensors, and a built shardc (SHARDC_BUILD), whose initial values the run begins with.

  make_checkpoint.py
"""
import json
import os
import sys
import tempfile

import numpy as np
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from reference import MODELS, Model, command, read_safetensors  # noqa: E402

SAVED, STEPS, RATE = 3, 6, 1e-2


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.layers(x)


def initial_values(model):
    with tempfile.TemporaryDirectory() as folder:
        trainer, values = os.path.join(folder, "t"), os.path.join(folder, "v")
        model.compile(trainer, 1, "float32")
        data = [w for n, p in model.data().items() for w in ("--data", f"{n}={p}")]
        command(trainer, *data, "--steps", 0, "--export-safetensors", values)
        return {n: torch.tensor(v) for n, v in read_safetensors(values).items()}


def save(state, folder):
    writer = dcp.HuggingFaceStorageWriter(path=folder, save_distributed=True)
    dcp.save(state, storage_writer=writer)


def main():
    model = Model(os.path.join(MODELS, "mlp-tiny-loss"))
    network = Mlp()
    network.load_state_dict(initial_values(model))
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    data = model.data()
    x, labels = torch.tensor(np.load(data["x"])), torch.tensor(np.load(data["labels"]))
    losses = []
    for step in range(STEPS):
        if step == SAVED:
            save(get_model_state_dict(network), os.path.join(HERE, "torch", "model"))
            options = StateDictOptions(flatten_optimizer_state_dict=True)
            state = get_optimizer_state_dict(network, optimizer, options=options)
            tensors = {k: v for k, v in state.items() if isinstance(v, torch.Tensor)}
            save(tensors, os.path.join(HERE, "torch", "optim"))
        rows = [(step * model.batch + i) % len(x) for i in range(model.batch)]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(x[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    last = {n: p.flatten()[:5].tolist() for n, p in network.state_dict().items()}
    with open(os.path.join(HERE, "steps.json"), "w", encoding="utf-8") as file:
        json.dump(
            {"torch": torch.__version__, "losses": losses, "parameters": last}, file, indent=1
        )
        file.write("\n")


if __name__ == "__main__":
    main()
