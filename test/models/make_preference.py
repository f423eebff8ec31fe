#!/usr/bin/env python3
"""Writes preference-tiny: direct preference optimization (Rafailov et al., 2023) of a tiny Llama
beside a frozen reference, each of which the graph runs for the chosen and for the rejected answers;
data, and PyTorch's training run (README.md).

    PYTHON_WITH_TORCH_TRANSFORMERS_AND_ONNXSCRIPT make_preference.py [FOLDER]
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from make_vision import RECIPE, STEPS
from recorded import write_run
from torch_exports import everything_in_float64

BATCH, SAMPLES, LENGTH, WORDS, LAYERS, BETA = 4, 16, 12, 64, 3, 0.5


class Preference(nn.Module):
    def __init__(self):
        super().__init__()
        config = LlamaConfig(
            vocab_size=WORDS,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=LAYERS,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=LENGTH,
            use_cache=False,
            attn_implementation="eager",
        )
        self.policy, self.reference = LlamaForCausalLM(config), LlamaForCausalLM(config)
        self.reference.requires_grad_(False)

    def score(self, model, ids):
        """The logarithm of an answer's probability."""
        logs = F.log_softmax(model(input_ids=ids).logits[:, :-1], -1)
        return torch.gather(logs, 2, ids[:, 1:, None]).squeeze(-1).sum(-1)

    def forward(self, chosen, rejected):
        margins = [
            self.score(model, chosen) - self.score(model, rejected)
            for model in (self.policy, self.reference)
        ]
        return -F.logsigmoid(BETA * (margins[0] - margins[1])).mean()


def make():
    torch.manual_seed(18)
    return Preference()


def run(dtype, chosen, rejected):
    """(losses, norms, first gradients, policy at the end)"""
    model = make().to(dtype)
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), RECIPE["lr"], weight_decay=0.01)
    losses, norms, first = [], [], {}
    for step in range(STEPS):
        picked = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        loss = model(chosen[picked], rejected[picked])
        loss.backward()
        if step == 0:
            first = {n: p.grad.numpy().copy() for n, p in trained.items()}
        norms.append(float(nn.utils.clip_grad_norm_(trained.values(), RECIPE["clip"])))
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, norms, first, {n: p.detach().numpy() for n, p in trained.items()}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(folder, "preference-tiny")
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    generator = torch.Generator().manual_seed(19)
    answers = [torch.randint(WORDS, (SAMPLES, LENGTH), generator=generator) for _ in range(2)]
    for name, ids in zip(("chosen", "rejected"), answers):
        np.save(os.path.join(folder, "data", f"{name}.npy"), ids.numpy())
    program = torch.onnx.export(
        make(),
        tuple(ids[:BATCH] for ids in answers),
        dynamo=True,
        optimize=False,
        input_names=["chosen", "rejected"],
        output_names=["loss"],
        dynamic_shapes=[{0: torch.export.Dim("batch")}] * 2,
    )
    for node in program.model.graph:
        # What shardc reads; a stack trace has paths of the machine that exported.
        for key in set(node.metadata_props) - {
            "pkg.torch.onnx.fx_node",
            "pkg.torch.onnx.name_scopes",
        }:
            node.metadata_props.pop(key)
        for value in node.outputs:
            value.metadata_props.clear()
    program.save(os.path.join(folder, "model.onnx"), external_data=False)
    of_float32 = run(torch.float32, *answers)
    with everything_in_float64():  # the rotary tables, too
        of_float64 = run(torch.float64, *answers)
    recipe = {**RECIPE, "batch": BATCH, "loss": "graph output", "freeze": r"^reference\."}
    write_run(folder, "", recipe, of_float32, of_float64)


if __name__ == "__main__":
    main()
