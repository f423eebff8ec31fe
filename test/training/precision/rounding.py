"""docs/precision.md in PyTorch: float32 tensors whose values are rounded to a 16-bit type where
the definition says.

A value of the 16-bit type is a float32 tensor that holds only values of that type. Nothing here
computes in 16 bits, so the numbers do not depend on how a library multiplies bfloat16.
"""
import math

import torch
from torch import nn


class RoundValue(torch.autograd.Function):
    """A result is rounded once. Its gradient arrives rounded."""

    @staticmethod
    def forward(ctx, x, dtype):
        return x.to(dtype).float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class RoundGradient(torch.autograd.Function):
    """What an op says of its operand's gradient is a result too."""

    @staticmethod
    def forward(ctx, x, dtype):
        ctx.dtype = dtype
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.to(ctx.dtype).float(), None


class TwoUses(torch.autograd.Function):
    """The gradients of two uses are added, and the sum is rounded."""

    @staticmethod
    def forward(ctx, x, dtype):
        ctx.dtype = dtype
        return x.clone(), x.clone()

    @staticmethod
    def backward(ctx, first, rest):
        return (first + rest).to(ctx.dtype).float(), None


class Attend(torch.autograd.Function):
    """softmax(scale q k^T + bias) v over [batch, heads, sequence, dim]; keys and values
    may have fewer heads.

    Backward reads the rounded output, as nn.attention_grad does: dS = P (dP - sum(dO O)).
    """

    @staticmethod
    def forward(ctx, q, k, v, bias, scale, dtype):
        group = q.shape[1] // k.shape[1]
        wide_k, wide_v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        probabilities = torch.softmax(scale * (q @ wide_k.transpose(-1, -2)) + bias, -1)
        output = (probabilities @ wide_v).to(dtype).float()
        ctx.save_for_backward(q, wide_k, wide_v, probabilities, output)
        ctx.scale, ctx.heads = scale, k.shape[1]
        return output

    @staticmethod
    def backward(ctx, gradient):
        q, k, v, probabilities, output = ctx.saved_tensors
        dot = (gradient * output).sum(-1, keepdim=True)
        scores = ctx.scale * probabilities * (gradient @ v.transpose(-1, -2) - dot)
        narrow = lambda x: x.unflatten(1, (ctx.heads, -1)).sum(2)
        return (
            scores @ k,
            narrow(scores.transpose(-1, -2) @ q),
            narrow(probabilities.transpose(-1, -2) @ gradient),
            None,
            None,
            None,
        )


class Ops:
    """The ops of a model in one 16-bit type. Parameters enter as float32 tensors of rounded values;
    their gradients are not rounded."""

    def __init__(self, dtype):
        self.dtype = dtype

    def round(self, x):
        return RoundValue.apply(x, self.dtype)

    def reads(self, x):
        return RoundGradient.apply(x, self.dtype)

    def two(self, x):
        return TwoUses.apply(x, self.dtype)

    def op(self, function, *values):
        return self.round(function(*(self.reads(x) for x in values)))

    def add(self, a, b):
        return self.op(torch.add, a, b)

    def mul(self, a, b):
        return self.op(torch.mul, a, b)

    def linear(self, x, weight, bias=None):
        return self.op(lambda x: nn.functional.linear(x, weight, bias), x)

    def layer_norm(self, x, weight, bias, epsilon=1e-5):
        return self.op(
            lambda x: nn.functional.layer_norm(x, weight.shape, weight, bias, epsilon), x
        )

    def rms_norm(self, x, weight, epsilon):
        return self.op(
            lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight, x
        )

    def embedding(self, table, ids):
        return nn.functional.embedding(ids, table)

    def attention(self, q, k, v, bias):
        """`bias`: float32, not rounded; -inf masks."""
        return Attend.apply(
            self.reads(q),
            self.reads(k),
            self.reads(v),
            bias,
            1 / math.sqrt(q.shape[-1]),
            self.dtype,
        )

    def cross_entropy(self, x, weight, labels, ignore, bias=None):
        """The fused head: logits, loss and the gradient of the logits stay float32."""
        logits = nn.functional.linear(self.reads(x), weight, bias)
        return nn.functional.cross_entropy(
            logits.flatten(0, -2), labels.flatten(), ignore_index=ignore
        )


def heads(x, count):
    """[batch, sequence, heads * dim] -> [batch, heads, sequence, dim]"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def merged(x):
    return x.transpose(1, 2).flatten(2)
