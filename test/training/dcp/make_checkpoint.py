#!/usr/bin/env python3
"""Writes what PyTorch's distributed checkpoint leaves of a run in its middle, and what PyTorch
makes of a checkpoint of ours. Needs torch with safetensors, and a built shardc (SHARDC_BUILD),
whose initial values the runs begin with.

torch/, torch-2/: saved by one process, and by two with fully_shard. steps.json: the losses of their
steps, and the parameters in the end. shardc/: saved by four ranks of a trainer. read.json: SHA-256
of each tensor that PyTorch's consolidation makes of shardc/model. next.safetensors: the parameters
one step of AdamW behind shardc/, whose state is that of shardc/optim.

  make_checkpoint.py [FOLDER]
"""
import glob
import hashlib
import json
import os
import shutil
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from reference import MODELS, Model, command, read_safetensors  # noqa: E402

SAVED, STEPS, RATE = 3, 6, 1e-2
MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
FLAT = StateDictOptions(flatten_optimizer_state_dict=True)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)
        )

    def forward(self, x):
        return self.layers(x)


def data_flags():
    return [word for name, path in MLP.data().items() for word in ("--data", f"{name}={path}")]


def initial_values():
    with tempfile.TemporaryDirectory() as folder:
        trainer, values = os.path.join(folder, "t"), os.path.join(folder, "v")
        MLP.compile(trainer, 1, "float32")
        command(trainer, *data_flags(), "--steps", 0, "--export-safetensors", values)
        return {n: torch.tensor(v) for n, v in read_safetensors(values).items()}


def save(state, folder):
    writer = dcp.HuggingFaceStorageWriter(path=folder, save_distributed=True)
    dcp.save(state, storage_writer=writer)


def state_tensors(network, optimizer):
    state = get_optimizer_state_dict(network, optimizer, options=FLAT)
    return {k: v for k, v in state.items() if isinstance(v, torch.Tensor)}


def train_step(network, optimizer, step, rank=0, ranks=1):
    """One on this rank's part of the step's samples; the mean of its losses."""
    data = MLP.data()
    x, labels = torch.tensor(np.load(data["x"])), torch.tensor(np.load(data["labels"]))
    part = MLP.batch // ranks
    rows = [(step * MLP.batch + rank * part + i) % len(x) for i in range(part)]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(network(x[rows]), labels[rows])
    loss.backward()
    optimizer.step()
    return loss.item()


def train(rank, ranks, values, folder, store):
    """Saves to FOLDER; rank 0 of one process also writes steps.json beside it."""
    torch.set_num_threads(1)
    network = Mlp()
    network.load_state_dict(values)
    if ranks > 1:
        dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=ranks)
        mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
        fully_shard(network, mesh=mesh)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        if step == SAVED:
            save(get_model_state_dict(network), os.path.join(folder, "model"))
            save(state_tensors(network, optimizer), os.path.join(folder, "optim"))
            if ranks > 1:
                break
        losses.append(train_step(network, optimizer, step, rank, ranks))
    if ranks > 1:
        dist.destroy_process_group()
        return
    last = {n: p.flatten()[:5].tolist() for n, p in network.state_dict().items()}
    with open(os.path.join(folder, "..", "steps.json"), "w", encoding="utf-8") as file:
        json.dump(
            {"torch": torch.__version__, "losses": losses, "parameters": last}, file, indent=1
        )
        file.write("\n")


def save_with_shardc(folder):
    """In a folder of its own: manifests have paths and the command line."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(MLP.folder, os.path.join(work, MLP.name))
        here = os.getcwd()
        os.chdir(work)
        try:
            model = Model(MLP.name)
            model.compile("./t", "2x2", "float32", "--strategy", "hybrid_opt")
            data = [w for n, p in model.data().items() for w in ("--data", f"{n}={p}")]
            command("./t", *data, "--lr", RATE, "--steps", SAVED, "--checkpoint-dir", "c")
        finally:
            os.chdir(here)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(work, "c", f"step-{SAVED:08}"), folder)


def consolidated(folder):
    """SHA-256 of each tensor."""
    names = sorted(Mlp().state_dict())
    with tempfile.TemporaryDirectory() as output:
        consolidate_safetensors_files(folder, output, {n: 1 + i % 2 for i, n in enumerate(names)})
        found = {}
        for path in glob.glob(os.path.join(output, "*.safetensors")):
            found.update(load_file(path))
    return {n: hashlib.sha256(found[n].numpy().tobytes()).hexdigest() for n in names}


def next_step(folder):
    """The parameters, one step behind those that were saved."""
    network = Mlp()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE)
    model = network.state_dict()
    reader = lambda part: dcp.HuggingFaceStorageReader(path=os.path.join(folder, part))
    dcp.load(model, storage_reader=reader("model"))
    network.load_state_dict(model)
    # Where there is no state yet, this makes some, of zeros: tensors to read into.
    state = get_optimizer_state_dict(network, optimizer, options=FLAT)
    tensors = {k: torch.full_like(v, float("nan")) for k, v in state.items() if torch.is_tensor(v)}
    dcp.load(tensors, storage_reader=reader("optim"))
    set_optimizer_state_dict(network, optimizer, {**state, **tensors}, options=FLAT)
    train_step(network, optimizer, SAVED)
    return {n: p.contiguous() for n, p in network.state_dict().items()}


def main(folder):
    values = initial_values()
    for ranks, name in ((1, "torch"), (2, "torch-2")):
        where = os.path.join(folder, name)
        shutil.rmtree(where, ignore_errors=True)
        with tempfile.TemporaryDirectory() as store:
            arguments = (ranks, values, where, os.path.join(store, "s"))
            torch.multiprocessing.spawn(train, arguments, nprocs=ranks)
    ours = os.path.join(folder, "shardc")
    save_with_shardc(ours)
    with open(os.path.join(folder, "read.json"), "w", encoding="utf-8") as file:
        hashes = consolidated(os.path.join(ours, "model"))
        json.dump({"torch": torch.__version__, "consolidated": hashes}, file, indent=1)
        file.write("\n")
    save_file(next_step(ours), os.path.join(folder, "next.safetensors"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE)
