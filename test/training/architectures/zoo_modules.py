"""Modules that people write themselves, and torchvision's, tiny."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, LONGEST = 97, 32, 64


class Block(nn.Module):
    """A block of nanoGPT."""

    def __init__(self, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(dropout)
        )
        self.dropout = dropout

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).split(WIDTH, dim=2)
        q, k, v = (each.view(b, t, 4, c // 4).transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True
        )
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class NanoGpt(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(dropout) for _ in range(2))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, ids):
        x = self.drop(self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class LstmLanguageModel(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True, dropout=dropout)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])


class EncoderLanguageModel(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 48, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)))


def convolution(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.SiLU()
    )


class UNet(nn.Module):
    """As diffusion models have it: group norms, attention at the bottom, skips."""

    def __init__(self, dropout):
        super().__init__()
        self.first, self.down = convolution(3, 8), nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.middle = convolution(16, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last, self.out = convolution(16, 8), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        skip = self.first(x)
        x = self.middle(self.down(skip))
        flat = x.flatten(2).transpose(1, 2)
        flat = flat + self.drop(self.attention(flat, flat, flat, need_weights=False)[0])
        x = self.up(flat.transpose(1, 2).reshape(x.shape))
        return self.out(self.last(torch.cat([x, skip], 1)))


class Translator(nn.Module):
    """nn.Transformer as PyTorch's tutorial has it: both sequences of one length here."""

    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 4, 2, 2, 48, dropout, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, decoder_input_ids):
        length = decoder_input_ids.shape[1]
        mask = torch.full((length, length), -1e9, device=ids.device).triu(1)
        # None, the default, compares the mask's numbers, which no export can.
        how = {"tgt_mask": mask, "tgt_is_causal": False}
        x = self.transformer(self.embed(ids), self.embed(decoder_input_ids), **how)
        return self.head(x)


def vision_resnet(dropout):
    from torchvision.models.resnet import BasicBlock, ResNet

    return ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5, width_per_group=64)


def vision_mobilenet(dropout):
    from torchvision.models import mobilenet_v3_small

    return mobilenet_v3_small(num_classes=5, dropout=dropout, width_mult=0.25)


def vision_transformer(dropout):
    from torchvision.models import VisionTransformer

    return VisionTransformer(32, 8, 2, 4, 32, 48, dropout, dropout, num_classes=5)


def vision_swin(dropout):
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer(
        [4, 4], 16, [1, 1], [2, 2], [4, 4], 2, dropout, dropout, 0, num_classes=5
    )
