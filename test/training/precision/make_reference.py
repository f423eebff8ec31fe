#!/usr/bin/env python3
"""Writes the runs that test_precision.py compares with: tiny models in bf16 and float16, written by
hand after docs/precision.md.

Needs torch 2 and onnx (for the initial values); not run by the tests.

    python make_reference.py

writes runs.json, and per run the master weights of the end, stored as float16.

Each run: float32 masters, a 16-bit working copy made anew each step, float32 gradients of
parameters, torch.optim.AdamW, clip_grad_norm_, and for float16 torch.amp.GradScaler, begun so high
that it has to find its scale.
"""
import json
import os
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch import nn

from rounding import Ops, heads, merged

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "models")
STEPS = 50
INITIAL_SCALE, GROWTH_INTERVAL = 2.0**24, 10  # of float16 runs
INFINITY = float("inf")


def causal(length):
    return torch.full((length, length), -INFINITY).triu(1)


def llama(ops, p, ids, labels, **_):
    """s2-llama-tiny-causal: 4 query heads share 2 key heads."""
    head_dim = 16
    length = ids.shape[1]
    frequency = 10000.0 ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angle = torch.outer(torch.arange(length).float(), frequency).repeat(1, 2)
    cos, sin = angle.cos(), angle.sin()  # buffers: float32

    def rope(x):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    x = ops.embedding(p["embed_tokens.weight"], ids)
    for i in range(4):
        w = lambda name: p[f"layers.{i}.{name}.weight"]
        x, residual = ops.two(x)
        y = ops.rms_norm(x, w("input_norm"), 1e-5)
        yq, rest = ops.two(y)
        yk, yv = ops.two(rest)
        q = heads(ops.linear(yq, w("attn.q_proj")), 4)
        k = heads(ops.linear(yk, w("attn.k_proj")), 2)
        v = heads(ops.linear(yv, w("attn.v_proj")), 2)
        a = ops.attention(ops.op(rope, q), ops.op(rope, k), v, causal(length))
        x = ops.add(residual, ops.linear(merged(a), w("attn.o_proj")))
        x, residual = ops.two(x)
        y, z = ops.two(ops.rms_norm(x, w("post_norm"), 1e-5))
        gate = ops.op(nn.functional.silu, ops.linear(y, w("mlp.gate_proj")))
        x = ops.add(
            residual, ops.linear(ops.mul(gate, ops.linear(z, w("mlp.up_proj"))), w("mlp.down_proj"))
        )
    return ops.cross_entropy(
        ops.rms_norm(x, p["norm.weight"], 1e-5), p["lm_head.weight"], labels, -100
    )


def shifted(x, labels):
    """The logits of position i are compared with the label at i + 1."""
    return x[:, :-1], labels[:, 1:]


def gpt2(ops, p, ids, labels, **_):
    """gpt2-tiny: weights are [in, out]; the head is the embedding."""
    length = ids.shape[1]
    table = p["transformer.wte.weight"]
    gelu = lambda x: nn.functional.gelu(x, approximate="tanh")
    x = ops.add(
        ops.embedding(table, ids), p["transformer.wpe.weight"][:length].expand(len(ids), -1, -1)
    )
    for i in range(3):
        w = lambda name: (
            p[f"transformer.h.{i}.{name}.weight"],
            p[f"transformer.h.{i}.{name}.bias"],
        )
        linear = lambda x, name: ops.linear(x, w(name)[0].T, w(name)[1])
        x, residual = ops.two(x)
        q, k, v = (
            heads(part, 4)
            for part in linear(ops.layer_norm(x, *w("ln_1")), "attn.c_attn").chunk(3, -1)
        )
        x = ops.add(linear(merged(ops.attention(q, k, v, causal(length))), "attn.c_proj"), residual)
        x, residual = ops.two(x)
        y = ops.op(gelu, linear(ops.layer_norm(x, *w("ln_2")), "mlp.c_fc"))
        x = ops.add(residual, linear(y, "mlp.c_proj"))
    x, labels = shifted(
        ops.layer_norm(x, p["transformer.ln_f.weight"], p["transformer.ln_f.bias"]), labels
    )
    return ops.cross_entropy(x, table, labels, -100)


def bloom(ops, p, ids, labels, attention_mask):
    """s4-bloom-tiny: ALiBi over the positions that the mask counts, q, k and v per head.

    The norm behind the embedding is kept: the first block's norm reads its float32 result, the
    residual sum a rounded one.
    """
    length = ids.shape[1]
    table = p["transformer.word_embeddings.weight"]
    slopes = 2.0 ** (-2.0 * torch.arange(1, 5))
    places = (attention_mask.cumsum(-1) - 1) * attention_mask
    bias = slopes[None, :, None, None] * places[:, None, None, :].float()
    hidden = (attention_mask == 0)[:, None, None, :] | (causal(length) != 0)
    bias = torch.where(hidden, torch.tensor(-INFINITY), bias.expand(-1, -1, length, -1))
    gelu = lambda x: x * 0.5 * (1 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))
    pair = lambda name: (p[f"transformer.{name}.weight"], p[f"transformer.{name}.bias"])
    norm = lambda x, name: nn.functional.layer_norm(x, x.shape[-1:], *pair(name), 1e-5)
    first = norm(ops.reads(ops.embedding(table, ids)), "word_embeddings_layernorm")
    for i in range(4):
        w = lambda name: pair(f"h.{i}.{name}")
        if i == 0:
            residual, y = ops.round(first), ops.round(norm(first, "h.0.input_layernorm"))
        else:
            x, residual = ops.two(x)
            y = ops.layer_norm(x, *w("input_layernorm"))
        fused = ops.linear(y, *w("self_attention.query_key_value"))
        q, k, v = (fused.unflatten(-1, (4, 3, 16))[..., j, :].transpose(1, 2) for j in range(3))
        a = merged(ops.attention(q, k, v, bias))
        x = ops.add(residual, ops.linear(a, *w("self_attention.dense")))
        x, residual = ops.two(x)
        y = ops.op(
            gelu,
            ops.linear(ops.layer_norm(x, *w("post_attention_layernorm")), *w("mlp.dense_h_to_4h")),
        )
        x = ops.add(residual, ops.linear(y, *w("mlp.dense_4h_to_h")))
    x, labels = shifted(ops.layer_norm(x, *pair("ln_f")), labels)
    return ops.cross_entropy(x, table, labels, -100)


def classifier(ops, p, x, labels):
    """s0-mlp-transformer-tiny: one vector per sample, so each softmax is 1 and attention
    returns its values."""
    pair = lambda name: (p[f"{name}.weight"], p[f"{name}.bias"])
    x = ops.linear(ops.round(x), *pair("embed"))
    for i in range(4):
        w = lambda name: pair(f"blocks.{i}.{name}")
        x, residual = ops.two(x)
        fused = ops.linear(
            ops.layer_norm(x, *w("norm1")),
            p[f"blocks.{i}.attn.in_proj_weight"],
            p[f"blocks.{i}.attn.in_proj_bias"],
        )
        x = ops.add(residual, ops.linear(fused[..., 128:], *w("attn.out_proj")))
        x, residual = ops.two(x)
        y = ops.op(nn.functional.gelu, ops.linear(ops.layer_norm(x, *w("norm2")), *w("mlp.0")))
        x = ops.add(residual, ops.linear(y, *w("mlp.2")))
    return ops.cross_entropy(
        ops.layer_norm(x, *pair("norm")), p["head.weight"], labels, -100, p["head.bias"]
    )


RUNS = {
    "s2-llama-tiny-causal": llama,
    "gpt2-tiny": gpt2,
    "s4-bloom-tiny-dynamo": bloom,
    "s0-mlp-transformer-tiny-dynamo": classifier,
}
TYPES = {"bf16": torch.bfloat16, "float16": torch.float16}


def initial_values(folder):
    """{PyTorch's name: float32 values} of the graph."""
    graph = onnx.load(os.path.join(folder, "model.onnx")).graph
    stored = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    with open(os.path.join(folder, "name_map.json")) as file:
        entries = json.load(file)
    return {
        name: torch.tensor(
            stored[e["initializer"]].T if e["transposed"] else stored[e["initializer"]]
        )
        for name, e in entries.items()
        if "tied_to" not in e
    }


class Model:
    """A model's graph, data and recipe."""

    def __init__(self, name):
        self.folder = os.path.join(MODELS, name)
        self.loss = RUNS[name]
        with open(os.path.join(self.folder, "reference.json")) as file:
            self.reference = json.load(file)
        self.recipe = self.reference["recipe"]
        folder = os.path.join(self.folder, "data")
        arrays = {
            f[:-4]: torch.tensor(np.load(os.path.join(folder, f)))
            for f in os.listdir(folder)
            if f.endswith(".npy")
        }
        self.data = {{"input_ids": "ids"}.get(n, n): v for n, v in arrays.items()}
        self.masters = {
            n: nn.Parameter(v.contiguous()) for n, v in initial_values(self.folder).items()
        }

    def forward(self, step, dtype):
        """(loss, working copy of the parameters)"""
        batch, labels = self.recipe["batch"], self.data["labels"]
        rows = [(step * batch + i) % len(labels) for i in range(batch)]
        working = {
            n: m.detach().to(dtype).float().requires_grad_() for n, m in self.masters.items()
        }
        return self.loss(Ops(dtype), working, **{n: v[rows] for n, v in self.data.items()}), working


def fingerprint(gradient):
    """Norm, and the product with a fixed vector, which tells places apart."""
    flat = gradient.double().flatten()
    return [
        flat.norm().item(),
        (flat @ torch.cos(torch.arange(len(flat), dtype=torch.float64))).item(),
    ]


def first_gradients(name, dtype):
    loss, working = Model(name).forward(0, dtype)
    loss.backward()
    return {n: fingerprint(w.grad) for n, w in working.items()}


def run(name, dtype, steps=STEPS):
    """(losses, loss scale of each step, masters by name)"""
    model = Model(name)
    recipe, masters = model.recipe, model.masters
    optimizer = torch.optim.AdamW(
        masters.values(), recipe["lr"], recipe["betas"], recipe["eps"], recipe["weight_decay"]
    )
    scaler = torch.amp.GradScaler(
        "cpu",
        init_scale=INITIAL_SCALE,
        growth_interval=GROWTH_INTERVAL,
        enabled=dtype == torch.float16,
    )
    losses, scales = [], []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = model.reference["lr"][step]
        loss, working = model.forward(step, dtype)
        scales.append(scaler.get_scale())
        scaler.scale(loss).backward()
        for n, master in masters.items():
            master.grad = working[n].grad
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(masters.values(), recipe["clip"])
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, scales, {n: m.detach().numpy() for n, m in masters.items()}


def check(name):
    """Without rounding the model is the one that reference.json was made with."""
    with open(os.path.join(MODELS, name, "reference.json")) as file:
        want = json.load(file)["loss"]
    got = run(name, torch.float32, 5)[0]
    if not np.allclose(got, want[:5], rtol=1e-5):
        sys.exit(f"{name}: losses without rounding are {got}, expected {want[:5]}")


def main():
    torch.set_num_threads(1)
    runs = {
        "steps": STEPS,
        "initial_scale": INITIAL_SCALE,
        "growth_interval": GROWTH_INTERVAL,
        "torch": torch.__version__,
        "runs": {},
    }
    for name in RUNS:
        check(name)
        for text, dtype in TYPES.items():
            losses, scales, masters = run(name, dtype)
            entry = runs["runs"].setdefault(name, {})
            entry[text] = {"losses": losses, "first_gradients": first_gradients(name, dtype)}
            if dtype == torch.float16:
                entry[text]["scales"] = scales
            np.savez(
                os.path.join(HERE, f"{name}.{text}.npz"),
                **{n: m.astype(np.float16) for n, m in masters.items()},
            )
            print(
                (
                    f"{name} {text}: {losses[0]:.6f} -> {losses[-1]:.6f}, scale {scales[0]:g} ->"
                    f" {scales[-1]:g}"
                ),
                flush=True,
            )
    with open(os.path.join(HERE, "runs.json"), "w") as file:
        json.dump(runs, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
