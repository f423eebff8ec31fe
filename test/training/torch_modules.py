"""Small modules, one for each habit of PyTorch's exporters: what they fold, merge, tie,
transpose and leave out."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 60


class EncoderClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 16)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=True), 2
        )
        self.head = nn.Linear(16, VOCABULARY)

    def forward(self, input_ids):
        return self.head(self.encoder(self.embed(input_ids)))


class Norms(nn.Module):
    """A perceptron with batch norm."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.net(x)


class HeadFirst(nn.Module):
    """A tied head that is registered before the embedding."""

    def __init__(self, head_first=True):
        super().__init__()
        if head_first:
            self.head = nn.Linear(8, VOCABULARY, bias=False)
        self.embed = nn.Embedding(VOCABULARY, 8)
        if not head_first:
            self.head = nn.Linear(8, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, input_ids):
        return self.head(torch.tanh(self.embed(input_ids)))


class OwnLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) / i**0.5)

    def forward(self, x):
        return x @ self.weight.T


class OwnLinears(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.net = nn.Sequential(OwnLinear(i, h), nn.Tanh(), OwnLinear(h, o))

    def forward(self, x):
        return self.net(x)


class TwoNorms(nn.Module):
    """Two norms that start equal, one of which reads a parameter."""

    def __init__(self):
        super().__init__()
        self.embed, self.rel = nn.Embedding(VOCABULARY, 8), nn.Embedding(6, 8)
        self.norm1, self.norm2, self.head = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, input_ids):
        return self.head(
            torch.tanh(
                self.norm1(self.embed(input_ids)).mean(1) + self.norm2(self.rel.weight).mean(0)
            )
        )


class Equal(nn.Module):
    """Two matrices that start equal and are not tied."""

    def __init__(self, n):
        super().__init__()
        self.inner = nn.Linear(16, n)
        self.query, self.key = nn.Linear(n, n, bias=False), nn.Linear(n, n, bias=False)
        self.key.weight.data.copy_(self.query.weight.data)
        self.head = nn.Linear(n, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.key(torch.tanh(self.query(self.inner(x))))))


class Shared(nn.Module):
    """One Linear, used twice."""

    def __init__(self, n):
        super().__init__()
        self.inner, self.a, self.head = nn.Linear(16, n), nn.Linear(n, n), nn.Linear(n, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.a(torch.tanh(self.a(self.inner(x))))))


class Bag(nn.Module):
    def __init__(self, padding=None, frozen=False):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 8, padding_idx=padding)
        self.embed.weight.requires_grad_(not frozen)
        self.head = nn.Linear(8, 4)

    def forward(self, input_ids):
        return self.head(torch.tanh(self.embed(input_ids)).mean(1))


class Detach(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 8), nn.Linear(8, 4)

    def forward(self, x):
        h = self.a(x)
        return self.head(torch.sigmoid(h) * h.detach())


class NoGrad(nn.Module):
    """A part of which no gradient is taken."""

    def __init__(self):
        super().__init__()
        self.target, self.a, self.head = nn.Linear(16, 8), nn.Linear(16, 8), nn.Linear(8, 4)

    def forward(self, x):
        with torch.no_grad():
            y = torch.sigmoid(self.target(x))
        return self.head(torch.tanh(self.a(x)) * y)


class Folded(nn.Module):
    """A parameter of which only a function is used."""

    def __init__(self, function, shape=(8,)):
        super().__init__()
        self.function = function
        self.a, self.head = nn.Linear(16, 8), nn.Linear(8, 4)
        self.scale = nn.Parameter(
            (torch.rand(shape) + 0.3)
            * (1 if shape == () else torch.tensor([1.0, -1.0]).repeat(shape[0] // 2))
        )

    def forward(self, x):
        return self.head(torch.tanh(self.a(x)) * self.function(self.scale))


class FoldedTwice(nn.Module):
    """A parameter of which a function and the parameter itself are used."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 8), nn.Linear(8, 4)
        self.scale = nn.Parameter(torch.rand(8) + 0.3)

    def forward(self, x):
        return self.head(torch.tanh(self.a(x)) * self.scale.exp() + self.scale)


class Table(nn.Module):
    """A table of biases that is indexed by constants."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 8), nn.Linear(8, 4)
        self.table = nn.Parameter(torch.randn(7, 1))
        self.register_buffer(
            "places", torch.tensor([[0, 1, 2, 3], [1, 0, 1, 2], [4, 1, 0, 1], [6, 5, 1, 0]])
        )

    def forward(self, x):
        w = (x @ x.transpose(1, 2) + self.table[self.places].squeeze(-1)).softmax(-1)
        return self.head(torch.tanh(self.a(w @ x)))


class Computed(nn.Module):
    """A weight that is computed from two parameters."""

    def __init__(self):
        super().__init__()
        self.v, self.g = nn.Parameter(torch.randn(8, 16)), nn.Parameter(torch.rand(8, 1) + 1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(
            torch.tanh(F.linear(x, self.g * self.v / self.v.norm(dim=1, keepdim=True)))
        )


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.utils.parametrizations.weight_norm(nn.Linear(16, 8))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.a(x)))


class AtRoot(nn.Module):
    """Parameters that are no module's weight or bias."""

    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(0.7))
        self.mask_token = nn.Parameter(torch.randn(16))
        self.pe = nn.Parameter(torch.randn(4, 16) / 4)
        self.power = nn.Parameter(torch.tensor([1.5]))
        self.mask = nn.Parameter(torch.rand(16) + 0.5)
        self.slopes = nn.Parameter(torch.rand(4, 1) + 0.5)
        self.bias = nn.Parameter(torch.randn(1, 1, 4, 1) / 4)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        h = torch.where(x > 0.5, self.mask_token, x) + self.pe
        h = (torch.tanh(h).abs() + 0.1) ** self.power * self.mask
        h = (h * self.slopes).unsqueeze(1) + self.bias
        return self.head(h.squeeze(1)) * self.logit_scale


class AtIdentity(nn.Module):
    """Parameters that do nothing at first, by which the dynamo exporter's optimizer does not
    multiply, and which it does not add."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 8), nn.Linear(8, 4)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.shift = nn.Parameter(torch.tensor(0.0))
        self.divisor = nn.Parameter(torch.ones(1))
        nn.init.zeros_(self.a.bias)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(torch.tanh(self.a(x) * self.scale + self.shift) / self.divisor)


class OnePlus(nn.Module):
    """Norms that scale by 1 + weight, as Gemma's do; fresh ones are equal."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(16, 8), nn.Linear(8, 8), nn.Linear(8, 4)
        self.norm1, self.norm2 = nn.Parameter(torch.zeros(8)), nn.Parameter(torch.zeros(8))

    def forward(self, x):
        norm = (
            lambda h, weight: h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * (1 + weight)
        )
        return self.head(norm(torch.tanh(self.b(norm(self.a(x), self.norm1))), self.norm2))


class Transposes(nn.Module):
    """Parameters that are transposed before their use, by a product, twice, and before a Linear."""

    def __init__(self):
        super().__init__()
        self.once = nn.Parameter(torch.randn(16, 16) / 4)
        self.twice = nn.Parameter(torch.randn(16, 16) / 4)
        self.copied = nn.Parameter(torch.randn(8, 16) / 4)
        self.inner = nn.Parameter(torch.randn(8, 8) / 4)
        self.head = nn.Parameter(torch.randn(8, 4) / 4)

    def forward(self, x):
        x = torch.tanh(torch.tanh(x @ self.once.transpose(0, 1)) @ self.twice.T.T)
        return F.linear(
            torch.tanh(F.linear(x @ self.copied.T.contiguous(), self.inner.T)), self.head.t()
        )


class TransposedBiases(nn.Module):
    """Linears of transposed weights, whose biases start equal."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(16, 8) / 4)
        self.second = nn.Parameter(torch.randn(8, 8) / 3)
        self.bias = nn.Parameter(torch.zeros(8))
        self.other = nn.Parameter(torch.zeros(8))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(
            torch.tanh(
                F.linear(
                    torch.tanh(F.linear(x, self.first.T, self.bias)), self.second.T, self.other
                )
            )
        )


class Slopes(nn.Module):
    """PReLU, whose weight the exporter reshapes, and a temperature."""

    def __init__(self):
        super().__init__()
        self.a, self.act, self.head = nn.Linear(16, 16), nn.PReLU(16), nn.Linear(16, 4)
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.head(self.act(self.a(x))) / self.temperature


class Reshaped(nn.Module):
    """Parameters that are reshaped, expanded and permuted before their use."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(256) / 4)
        self.b = nn.Parameter(torch.randn(2, 8, 16) / 4)
        self.c = nn.Parameter(torch.randn(1, 16))
        self.d, self.head = nn.Parameter(torch.randn(16, 1, 1)), nn.Linear(16, 4)

    def forward(self, x):
        x = torch.tanh(x @ self.a.view(16, 16)) + self.c.expand(4, 16) + self.d.permute(1, 2, 0)
        return self.head(torch.tanh(x @ self.b.permute(2, 0, 1).reshape(16, 16)))


class Joined(nn.Module):
    """Weights that are joined before they are used."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        self.k = nn.Linear(16, 16)
        self.v = nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        weight = torch.cat([self.q.weight, self.k.weight, self.v.weight])
        bias = torch.cat([self.q.bias, self.k.bias, self.v.bias])
        q, k, v = F.linear(x, weight, bias).chunk(3, -1)
        return self.head((q @ k.transpose(1, 2)).softmax(-1) @ v)


class Stacked(nn.Module):
    """Matrices in one tensor, and one that is read both ways round."""

    def __init__(self):
        super().__init__()
        self.stack = nn.Parameter(torch.randn(3, 16, 16) / 4)
        self.both = nn.Parameter(torch.randn(16, 16) / 4)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for i in range(3):
            x = torch.tanh(x @ self.stack[i])
        return self.head((x @ self.both) @ self.both.T)


class Autoencoder(nn.Module):
    """A decoder that is the encoder's transpose."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 16) / 4)
        self.inner, self.outer = nn.Parameter(torch.randn(8) / 4), nn.Parameter(torch.randn(16) / 4)

    def forward(self, x):
        return F.linear(
            torch.tanh(F.linear(x, self.weight, self.inner)), self.weight.t(), self.outer
        )


class SquareTied(nn.Module):
    """Linears that share one square matrix, which a product reads too."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.head(torch.tanh(self.b(torch.tanh(self.a(x)))) @ self.a.weight)


class Towers(nn.Module):
    """Two towers and a scale, whose exponential is used."""

    def __init__(self):
        super().__init__()
        self.text, self.image = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, x):
        unit = lambda y: y / y.norm(dim=-1, keepdim=True)
        return self.logit_scale.exp() * unit(self.text(x)) @ unit(self.image(x)).transpose(-1, -2)


class Copies(nn.Module):
    """Layers that start as copies of one."""

    def __init__(self):
        super().__init__()
        block = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU())
        self.layers = nn.ModuleList([copy.deepcopy(block) for _ in range(3)])
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class LayerScale(nn.Module):
    """Vectors that start equal and belong to no module."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(2)])
        self.head = nn.Linear(16, 4)
        self.gamma = nn.ParameterList([nn.Parameter(torch.full((16,), 0.1)) for _ in range(2)])

    def forward(self, x):
        for layer, gamma in zip(self.layers, self.gamma):
            x = x + gamma * torch.tanh(layer(x))
        return self.head(x)


class Buffers(nn.Module):
    """Buffers that look as parameters do, and one that has a parameter's values."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 16), nn.Linear(16, 4)
        self.register_buffer("weight", torch.randn(16, 16) / 4)
        self.register_buffer("bias", torch.randn(16))
        self.register_buffer("average", self.a.weight.detach().clone())

    def forward(self, x):
        return self.head(
            torch.tanh(F.linear(self.a(x), self.weight, self.bias)) + F.linear(x, self.average)
        )


class Quantized(nn.Module):
    """Fake quantization of a weight and of activations, of which some are cut off."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 2.0**-6, 3, -128, 127)
        weight = torch.fake_quantize_per_tensor_affine(self.a.weight, 2.0**-9, 5, -128, 127)
        x = torch.tanh(F.linear(x, weight, self.a.bias))
        return self.head(torch.fake_quantize_per_tensor_affine(x, 2.0**-9, 0, 0, 255))
