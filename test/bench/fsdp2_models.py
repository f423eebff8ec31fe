"""The workloads' models in PyTorch. test/models/bench/export.py writes their graphs, fsdp2_peer.py
trains them with FSDP2.

Every model has `blocks` (what is sharded together), `logits(input)` and `forward(input, labels)`,
the mean cross entropy.
"""
import torch
import torch.nn.functional as F
from torch import nn


def attention(q, k, v, causal):
    """[batch, heads, sequence, size] each, to [batch, sequence, heads * size]."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


class Model(nn.Module):
    def forward(self, input, labels):
        return F.cross_entropy(self.logits(input).flatten(0, -2).float(), labels.flatten())

    def fill_buffers(self):
        """Sets what is neither a parameter nor given: nothing here."""


class Gpt2Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln_2 = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 4 * dim)
        self.fc_proj = nn.Linear(4 * dim, dim)

    def forward(self, x):
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for t in self.qkv(self.ln_1(x)).chunk(3, dim=-1)
        )
        x = x + self.proj(attention(q, k, v, causal=True))
        return x + self.fc_proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(Model):
    """Learned positions, pre-norm blocks, a head tied to the token embedding."""

    def __init__(self, vocab, positions, dim, heads, layers, sequence):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(positions, dim)
        self.blocks = nn.ModuleList(Gpt2Block(dim, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)

    def logits(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


class LlamaBlock(nn.Module):
    def __init__(self, dim, ffn, heads, kv_heads):
        super().__init__()
        self.size, self.group = dim // heads, heads // kv_heads
        self.norm_1 = nn.RMSNorm(dim, eps=1e-5)
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, kv_heads * self.size, bias=False)
        self.v = nn.Linear(dim, kv_heads * self.size, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)
        self.norm_2 = nn.RMSNorm(dim, eps=1e-5)
        self.gate = nn.Linear(dim, ffn, bias=False)
        self.up = nn.Linear(dim, ffn, bias=False)
        self.down = nn.Linear(ffn, dim, bias=False)

    def forward(self, x, cos, sin):
        def rotate(t):
            low, high = t.chunk(2, dim=-1)
            return t * cos + torch.cat((-high, low), dim=-1) * sin

        h = self.norm_1(x)
        q, k, v = (
            linear(h).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for linear in (self.q, self.k, self.v)
        )
        # PyTorch's fused kernel for the CPU wants as many key as query heads.
        k = rotate(k).repeat_interleave(self.group, dim=1)
        v = v.repeat_interleave(self.group, dim=1)
        x = x + self.o(attention(rotate(q), k, v, causal=True))
        h = self.norm_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(Model):
    """RMSNorm, rotary positions, grouped key and value heads, SwiGLU, an untied head."""

    def __init__(self, vocab, dim, ffn, heads, kv_heads, layers, sequence):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(LlamaBlock(dim, ffn, heads, kv_heads) for _ in range(layers))
        self.norm = nn.RMSNorm(dim, eps=1e-5)
        self.head = nn.Linear(dim, vocab, bias=False)
        for name in ("cos", "sin"):
            self.register_buffer(name, torch.empty(sequence, dim // heads), persistent=False)

    def fill_buffers(self):
        length, size = self.cos.shape
        frequency = 10000.0 ** (-torch.arange(0, size, 2) / size)
        angle = torch.outer(torch.arange(length), frequency).repeat(1, 2)
        self.cos.copy_(angle.cos())
        self.sin.copy_(angle.sin())

    def logits(self, ids):
        x = self.embed(ids)
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm_1 = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 4 * dim)
        self.fc_proj = nn.Linear(4 * dim, dim)
        self.norm_2 = nn.LayerNorm(dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = self.norm_1(x + self.proj(attention(q, k, v, causal=False)))
        return self.norm_2(x + self.fc_proj(F.gelu(self.fc(x))))


class Encoder(Model):
    """Post-norm blocks without a mask, and a classifier over the mean of the sequence."""

    def __init__(self, dim, heads, layers, classes):
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(dim, heads) for _ in range(layers))
        self.head = nn.Linear(dim, classes)

    def logits(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))
