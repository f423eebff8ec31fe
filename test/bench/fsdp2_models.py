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


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Bottleneck(nn.Module):
    """Of ResNet: 1x1, 3x3, 1x1, with a projection where the sizes change."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv_1, self.norm_1 = convolution(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv_2, self.norm_2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv_3, self.norm_3 = convolution(width, outputs, 1), nn.BatchNorm2d(outputs)
        self.project = None
        if stride != 1 or inputs != outputs:
            self.project = nn.Sequential(
                convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        h = F.relu(self.norm_1(self.conv_1(x)))
        h = F.relu(self.norm_2(self.conv_2(h)))
        shortcut = x if self.project is None else self.project(x)
        return F.relu(self.norm_3(self.conv_3(h)) + shortcut)


class ResNet(Model):
    """Of bottlenecks, with batch norms of each rank's own samples."""

    def __init__(self, image, width, layers, classes):
        super().__init__()
        self.stem, self.norm = convolution(3, width, 7, 2), nn.BatchNorm2d(width)
        blocks, inputs = [], width
        for stage, count in enumerate(layers):
            for i in range(count):
                blocks.append(Bottleneck(inputs, width << stage, 2 if stage and i == 0 else 1))
                inputs = 4 * width << stage
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inputs, classes)

    def fill_buffers(self):
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.reset_running_stats()

    def logits(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=(2, 3)))


class VisionBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm_2 = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 4 * dim)
        self.fc_proj = nn.Linear(4 * dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.proj(attention(q, k, v, causal=False))
        return x + self.fc_proj(F.gelu(self.fc(self.norm_2(x))))


class VisionTransformer(Model):
    """Patches, a class token, learned positions, pre-norm blocks."""

    def __init__(self, image, patch, dim, heads, layers, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, dim))
        self.blocks = nn.ModuleList(VisionBlock(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def logits(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])
