"""Dropout of PyTorch that draws what trainers draw (docs/randomness.md): its masks are those of
dropout_masks.py, for sites in the order in which forward comes to them."""
import contextlib
import functools
import inspect
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

from dropout_masks import attention_masks, masks


class Sites:
    """Of one run: `step` counts from 0, and every forward begins with the first site. Samples lie
    outermost. A matrix has one row of each, or as many as one of `lengths`; another is a table that
    is not broadcast yet. `attentions`: the sites that are part of an attention."""

    def __init__(self, samples, lengths=(), attentions=(), seed=0):
        self.samples, self.seed, self.step, self.next = samples, seed, 0, 0
        self.attentions = attentions
        self.rows = {samples * length for length in (1, *lengths)}

    def begin(self, step):
        self.step, self.next = step, 0

    def mask(self, like, rate):
        site, self.next = self.next, self.next + 1
        rate = float(np.float64(str(np.float32(rate))))  # as it was written
        is_table = like.dim() < 3 and like.shape[0] not in self.rows
        if is_table or like.shape[0] % self.samples:
            samples, shape = None, tuple(like.shape)
        else:
            samples, shape = range(self.samples), (like.numel() // self.samples,)
        if site in self.attentions:
            keys = like.shape[-1]
            rows = (math.prod(shape) // keys, keys)
            drawn = attention_masks(self.seed, self.step, site, rate, samples, rows)
        else:
            drawn = masks(self.seed, self.step, site, rate, samples, shape)
        return torch.from_numpy(np.ascontiguousarray(drawn)).reshape(like.shape).to(like.dtype)

    def dropout(self, input, p=0.5, training=True, inplace=False):
        return input * self.mask(input, p) if training and p > 0 else input

    def attention(
        self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options
    ):
        """scaled_dot_product_attention as it is written down in torch's documentation."""
        scale = options.get("scale") or 1 / math.sqrt(query.shape[-1])
        if options.get("enable_gqa"):
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
            value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
        scores = query @ key.transpose(-2, -1) * scale
        if is_causal:
            kept = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~kept, float("-inf"))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        elif attn_mask is not None:
            scores = scores + attn_mask
        return self.dropout(scores.softmax(-1), dropout_p) @ value

    def drop_path(self, input, drop_prob=0.0, training=False, *rest):
        """Whole samples, as timm, transformers and torchvision drop them."""
        if drop_prob == 0.0 or not training:
            return input
        shape = (input.shape[0],) + (1,) * (input.dim() - 1)
        return input * self.mask(input.new_zeros(shape), drop_prob)

    def stochastic_depth(self, input, p, mode, training=True):
        return self.drop_path(input, p, training)

    def lstm(self, module, input):
        """Layer by layer, from zeros: within torch's operator of all layers no mask can be put."""
        directions = 2 if module.bidirectional else 1
        weights = module._flat_weights
        per_layer = len(weights) // module.num_layers
        batch = input.shape[0 if module.batch_first else 1]
        zeros = input.new_zeros(directions, batch, module.hidden_size)
        states = []
        for layer in range(module.num_layers):
            own = weights[layer * per_layer : (layer + 1) * per_layer]
            input, *state = torch._VF.lstm(
                *(input, (zeros, zeros), own, module.bias, 1, 0.0, module.training),
                *(module.bidirectional, module.batch_first),
            )
            states.append(state)
            if layer + 1 < module.num_layers:
                input = self.dropout(input, module.dropout, module.training)
        return input, tuple(torch.cat(parts) for parts in zip(*states))


# Functions of modules, under their names there.
OF_MODULES = {"drop_path": "drop_path", "stochastic_depth": "stochastic_depth"}


@contextlib.contextmanager
def drawn_by(sites, model):
    """While it lasts, what torch and this model drop is what `sites` says."""
    changes = [
        (F, "dropout", sites.dropout),
        (F, "scaled_dot_product_attention", sites.attention),
        (torch, "dropout", lambda input, p, train: sites.dropout(input, p, train)),
    ]
    for module in list(sys.modules.values()):
        for name, own in OF_MODULES.items():
            if inspect.isfunction(vars(module).get(name)):
                changes.append((module, name, getattr(sites, own)))
    for each in model.modules():
        if type(each).__name__.endswith("DropPath"):
            own = lambda x, of=each: sites.drop_path(x, of.drop_prob, of.training)
            changes.append((each, "forward", own))
        elif isinstance(each, torch.nn.LSTM):
            changes.append((each, "forward", functools.partial(sites.lstm, each)))
    kept = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for each in changes:
        setattr(*each)
    try:
        yield
    finally:
        for each in kept:
            setattr(*each)
