"""Exports of torch_models.py as PyTorch's exporters write them, and PyTorch's own runs of these
models. Needs torch and transformers.

    python torch_exports.py FOLDER

reads lines "MODEL VALUES EXPORT" from standard input and answers each with an empty line when
FOLDER/MODEL.VALUES.EXPORT has model.onnx and graph.json: its inputs, the sizes of their dims, the
names of its tensors (or error.txt: what the exporter said), and FOLDER/MODEL.VALUES the data
(NAME.npy, labels.npy) and PyTorch's run in float64: run.json (the loss of each step and after the
last), gradients.safetensors of the first step and final.safetensors.
"""
import contextlib
import json
import logging
import os
import re
import sys
import unittest.mock
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from torch_models import BATCH, LENGTH, MODELS, make

RANKS, STEPS = 2, 5
SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}

# --------------------------------------------------------------------------------------------------
# Exports.


def dynamo(model, inputs, axes, path, **options):
    torch.onnx.export(
        model,
        (),
        path,
        kwargs=inputs,
        dynamo=True,
        input_names=list(inputs),
        output_names=["logits"],
        dynamic_shapes=axes,
        verbose=False,
        **options,
    )


def legacy(model, inputs, axes, path, **options):
    arguments = tuple(inputs.values())
    if list(inputs) == ["input_ids", "decoder_input_ids"]:
        arguments = (inputs["input_ids"], None, inputs["decoder_input_ids"])
    torch.onnx.export(
        model,
        arguments,
        path,
        dynamo=False,
        input_names=list(inputs),
        output_names=["logits"],
        dynamic_axes=axes,
        **options,
    )


EXPORTS = {
    "dynamo": dynamo,
    "dynamo-unoptimized": lambda *given: dynamo(*given, optimize=False),
    "legacy": lambda *given: legacy(
        *given, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False
    ),
    "legacy-defaults": legacy,
}


def export(name, values, exporter, folder):
    case, model = MODELS[name], make(name, values)
    inputs, _, axes = case.data()
    if case.legacy_mask and exporter.startswith("legacy"):
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        axes["attention_mask"] = axes["input_ids"]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    try:
        EXPORTS[exporter](model, {k: v[:2] for k, v in inputs.items()}, axes, path)
    except Exception as error:  # the exporter's own
        lines = [l for l in str(error).splitlines() if l.strip()] or [""]
        with open(os.path.join(folder, "error.txt"), "w") as file:
            file.write(f"{type(error).__name__}: {lines[0][:300]}")
        return
    graph = onnx.load(path, load_external_data=False).graph
    listed = re.findall(r"target='([^']+)'", " ".join(p.value for p in graph.metadata_props))
    with open(os.path.join(folder, "graph.json"), "w") as file:
        json.dump(
            {
                "dims": {
                    d: t.shape[i] // (RANKS if i == 0 else 1)
                    for n, t in inputs.items()
                    for i, d in axes[n].items()
                },
                "inputs": [v.name for v in graph.input],
                # Tracing is a forward pass, of which running statistics take their part.
                "traced": exporter.startswith("legacy"),
                "names": sorted(
                    {i.name for i in graph.initializer}
                    | {o for n in graph.node for o in n.output}
                    | set(listed)
                ),
            },
            file,
        )


# --------------------------------------------------------------------------------------------------
# PyTorch's own run.


def hard_sigmoid_as_written(input, inplace=False):
    """With the slope that HardSigmoid has in a file, whose attributes are float32."""
    return (input * float(np.float32(1 / 6)) + 0.5).clamp(0, 1)


@contextlib.contextmanager
def everything_in_float64():
    """Models that compute a part "in float32" on purpose do it in float64."""
    patch = unittest.mock.patch.object
    with (
        patch(F, "hardsigmoid", hard_sigmoid_as_written),
        patch(torch, "float32", torch.float64),
        patch(torch, "float", torch.float64),
        patch(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


def of_ranks(model, inputs, rows):
    """The logits of all samples, each rank's by themselves. Running statistics become the mean of
    what each rank has made of them."""
    statistics = {
        n: b for n, b in model.named_buffers() if n.endswith(("running_mean", "running_var"))
    }
    before = {n: b.clone() for n, b in statistics.items()}
    after = {n: torch.zeros_like(b) for n, b in statistics.items()}
    logits = []
    for rank in range(RANKS):
        for n, buffer in statistics.items():
            buffer.data = before[n].clone()  # no write that autograd would see
        logits.append(model(**{k: v[rank * rows : (rank + 1) * rows] for k, v in inputs.items()}))
        for n, buffer in statistics.items():
            after[n] += buffer / RANKS
    for n, buffer in statistics.items():
        buffer.data = after[n]
    return torch.cat(logits), before


def run(name, values, folder):
    """Trains in float64 on all samples; each rank's by themselves, the loss is the mean over
    all."""
    case, model = MODELS[name], make(name, values)
    inputs, labels, _ = case.data()
    os.makedirs(folder, exist_ok=True)
    for n, tensor in {
        **inputs,
        "labels": labels,
        "attention_mask": torch.ones(BATCH, LENGTH, dtype=torch.int64),
    }.items():
        np.save(os.path.join(folder, n + ".npy"), tensor.numpy())
    model = model.double()
    inputs = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
    rows = BATCH // RANKS
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], **SETTINGS)
    dump = lambda tensors, file: save_file(
        {k: v.detach().clone().contiguous() for k, v in tensors.items()}, os.path.join(folder, file)
    )
    names = {}
    for n, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), []).append(n)
    losses = []
    with everything_in_float64():
        for step in range(STEPS + 1):
            logits, statistics = of_ranks(model, inputs, rows)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
            losses.append(loss.item())
            if step == STEPS:
                break
            optimizer.zero_grad()
            loss.backward()
            if step == 0:
                dump(
                    {n: p.grad for n, p in model.named_parameters() if p.grad is not None},
                    "gradients.safetensors",
                )
            optimizer.step()
    # The last forward pass was for the loss alone.
    kept = {n: statistics.get(n, b) for n, b in model.named_buffers() if n in model.state_dict()}
    dump({**dict(model.named_parameters()), **kept}, "final.safetensors")
    with open(os.path.join(folder, "run.json"), "w") as file:
        json.dump(
            {
                "losses": losses,
                "trained": [
                    n for n, p in model.named_parameters() if p.requires_grad and p.grad is not None
                ],
                "unused": [
                    n for n, p in model.named_parameters() if p.requires_grad and p.grad is None
                ],
                "frozen": [n for n, p in model.named_parameters() if not p.requires_grad],
                "buffers": [n for n, b in model.named_buffers()],
                "statistics": sorted(statistics),
                "names": {n: names[id(p)] for n, p in model.named_parameters()},
            },
            file,
        )


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # exporters print, from C++ too
    for line in sys.stdin:
        name, values, exporter = line.split()
        where = os.path.join(folder, f"{name}.{values}")
        if not os.path.exists(where):
            run(name, values, where)
        if not os.path.exists(f"{where}.{exporter}"):
            export(name, values, exporter, f"{where}.{exporter}")
        print(file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
