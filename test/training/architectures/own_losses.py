"""Trains what transformers has a loss of its own for, beside that loss in float64.

    python own_losses.py CASE

prints {mesh: [the largest difference of a loss, of a gradient]}. Needs what compare.py needs.
"""
import json
import os
import sys
import tempfile

import compare
import numpy as np
import torch
import transformers
import zoo
from shardc import sources
from shardc.export import export
from torch_exports import everything_in_float64

BERT = dict(**zoo.TEXT, **zoo.DRY)
DISTIL = dict(vocab_size=zoo.VOCABULARY, dim=32, hidden_dim=48, n_layers=2, n_heads=4)
DISTIL_DRY = dict(dropout=0.0, attention_dropout=0.0, qa_dropout=0.0)
VIT = dict(**zoo.PICTURES, **zoo.DRY)
SEVERAL, NUMBERS = "multi_label_classification", "regression"
# fmt: off
CASES = {
    "one number": ("BertForSequenceClassification", "BertConfig", dict(num_labels=1, **BERT)),
    "numbers": ("BertForSequenceClassification", "BertConfig",
                dict(num_labels=3, problem_type=NUMBERS, **BERT)),
    "numbers of images": ("ViTForImageClassification", "ViTConfig",
                          dict(num_labels=3, problem_type=NUMBERS, **VIT)),
    "several labels": ("RobertaForSequenceClassification", "RobertaConfig",
                       dict(num_labels=4, problem_type=SEVERAL, **BERT)),
    "several labels of images": ("ViTForImageClassification", "ViTConfig",
                                 dict(num_labels=4, problem_type=SEVERAL, **VIT)),
    "answers": ("BertForQuestionAnswering", "BertConfig", BERT),
    "answers by DistilBERT": ("DistilBertForQuestionAnswering", "DistilBertConfig",
                              dict(**DISTIL, **DISTIL_DRY)),
    "choices": ("BertForMultipleChoice", "BertConfig", BERT),
}
# fmt: on


def source_of(name):
    architecture, config, settings = CASES[name]
    config = getattr(transformers, config)(**settings)
    config.architectures = [architecture]
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        torch.manual_seed(1)
        return compare.moved(sources.open_source(folder, sources.Wanted()))


def data_of(source):
    """{input or labels: array} of one step."""
    draw = np.random.default_rng(7)
    sizes = compare.dims_of(source, zoo.BATCH)
    classes, data = source.module.config.num_labels, {}
    for key, tensor in source.inputs.items():
        of = source.dims[key]
        shape = [sizes[of[i]] if i in of else size for i, size in enumerate(tensor.shape)]
        if key.endswith("mask"):
            data[key] = np.ones(shape, np.int64)
            data[key][1::2, ..., -4:] = 0
        elif key.endswith("positions"):  # one is behind the sequence, and does not count
            data[key] = draw.integers(0, zoo.LENGTH, shape)
        elif key == "labels":
            data[key] = draw.integers(0, 2, shape).astype(np.float32)
        elif tensor.is_floating_point():
            data[key] = draw.standard_normal(shape).astype(np.float32)
        else:
            data[key] = draw.integers(3, zoo.VOCABULARY, shape)
    if "start_positions" in data:
        data["start_positions"][1] = zoo.LENGTH + 3
    if source.loss.startswith("mse"):
        data["labels"] = draw.standard_normal((zoo.BATCH, classes)).astype(np.float32)
    elif "labels" not in data and source.labels:
        data["labels"] = draw.integers(0, zoo.CHOICES, zoo.BATCH)
    return data


def torch_run(source, data, ranks):
    """(losses, {name: the first gradient}): of the means over each rank's samples, as DDP has."""
    module = source.module
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    module.double()
    data = {name: torch.from_numpy(values) for name, values in data.items()}
    data = {k: v.double() if v.is_floating_point() else v for k, v in data.items()}
    optimizer = torch.optim.AdamW(module.parameters(), **compare.SETTINGS)
    losses, gradients = [], {}
    with everything_in_float64():
        for step in range(zoo.STEPS):
            optimizer.zero_grad()
            parts = zip(*(values.chunk(ranks) for values in data.values()))
            own = [module(**dict(zip(data, part))).loss for part in parts]
            loss = sum(own) / ranks
            loss.backward()
            if step == 0:
                named = module.named_parameters()
                gradients = {n: p.grad.clone() for n, p in named if p.grad is not None}
            optimizer.step()
            losses.append(loss.item())
    module.float()
    module.load_state_dict(kept)
    return losses, gradients


def main():
    source, found = source_of(sys.argv[1]), {}
    data = data_of(source)
    for exporter in compare.EXPORTERS:
        with tempfile.TemporaryDirectory() as folder:
            made = export(source, os.path.join(folder, "model.onnx"), exporter)
            for mesh in (1, 2):
                wanted_losses, wanted = torch_run(source, data, mesh)
                losses, gradients, _ = compare.train(made, folder, mesh, mesh, data)
                loss = max(abs(a - b) / abs(b) for a, b in zip(losses, wanted_losses))
                found[f"{exporter}, mesh {mesh}"] = [
                    loss,
                    compare.difference(source, wanted, gradients),
                ]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
