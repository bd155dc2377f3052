"""Ten small models in plain torch, for tests: each function returns (model, args).

They have what makes capture and placed runs hard: branches, tied weights, buffers, tuples, views,
expanded tensors, ops in place, loops that unroll, choices by data, dropout in training.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Inception(nn.Module):
    """Branches of convolutions with batch norms, concatenated."""

    def __init__(self, inside, outside):
        super().__init__()
        def conv(size, stride=1):
            return nn.Sequential(nn.Conv2d(inside, outside, size, stride, size // 2, bias=False),
                                 nn.BatchNorm2d(outside), nn.ReLU(inplace=True))
        self.branches = nn.ModuleList([conv(1), conv(3), conv(5)])

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches] + [F.max_pool2d(x, 3, 1, 1)], 1)


class Residual(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, width):
        super().__init__()
        self.c1, self.c2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.b1, self.b2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        y = self.b2(self.c2(y))
        y += x
        return F.relu_(y)


class Attention(nn.Module):
    """Multi-head attention with one product for queries, keys and values."""

    def __init__(self, width, heads, dropout=0.0, causal=False):
        super().__init__()
        self.heads, self.causal, self.drop = heads, causal, nn.Dropout(dropout)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(w // self.heads)
        if self.causal:
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        return self.out((self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(b, n, w))


class Layer(nn.Module):
    """Transformer layer, normalised first."""

    def __init__(self, width, heads, dropout=0.0, causal=False):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    """Vision transformer with a class token, which is expanded over the batch."""

    def __init__(self, width=48, depth=3, dropout=0.0):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width))
        self.layers = nn.Sequential(*[Layer(width, 4, dropout) for _ in range(depth)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.position
        return self.head(self.layers(x)[:, 0])


class Bert(nn.Module):
    """Encoder with positions from a buffer and an output tied to the embedding."""

    def __init__(self, words=64, width=32, depth=2, dropout=0.0):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.register_buffer("ids", torch.arange(128).unsqueeze(0))
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)
        self.layers = nn.ModuleList([Layer(width, 4, dropout) for _ in range(depth)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places(self.ids[:, :tokens.size(1)])
        x = self.drop(self.norm(x))
        for layer in self.layers:
            x = layer(x)
        return {"logits": self.head(x), "first": x[:, 0]}


class Llama(nn.Module):
    """Decoder with rotary tables in buffers, grouped heads (expanded) and gated layers."""

    def __init__(self, words=64, width=32, heads=4, groups=2, depth=2):
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        angle = torch.outer(torch.arange(128.0), 1e4 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1))
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList([nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "norm2": nn.LayerNorm(width),
            "q": nn.Linear(width, width, bias=False),
            "kv": nn.Linear(width, 2 * groups * size, bias=False),
            "o": nn.Linear(width, width, bias=False),
            "gate": nn.Linear(width, 2 * width, bias=False),
            "up": nn.Linear(width, 2 * width, bias=False),
            "down": nn.Linear(2 * width, width, bias=False)}) for _ in range(depth)])
        self.head = nn.Linear(width, words, bias=False)

    def turn(self, x):
        a, b = x.chunk(2, -1)
        n = x.size(-2)
        return x * self.cos[:n] + torch.cat([-b, a], -1) * self.sin[:n]

    def attend(self, layer, x):
        b, n, w = x.shape
        size = w // self.heads
        q = self.turn(layer["q"](x).view(b, n, self.heads, size).transpose(1, 2))
        k, v = layer["kv"](x).view(b, n, 2, self.groups, size).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = (t.unsqueeze(2).expand(-1, -1, self.heads // self.groups, -1, -1)
                .reshape(b, self.heads, n, size) for t in (self.turn(k), v))
        mask = torch.full((n, n), float("-inf")).triu(1)
        scores = (q @ k.transpose(-1, -2) / size ** 0.5 + mask).softmax(-1)
        return layer["o"]((scores @ v).transpose(1, 2).reshape(b, n, w))

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = x + self.attend(layer, layer["norm1"](x))
            y = layer["norm2"](x)
            x = x + layer["down"](F.silu(layer["gate"](y)) * layer["up"](y))
        return self.head(x)


class Tagger(nn.Module):
    """Bidirectional LSTM, which unrolls, over an embedding."""

    def __init__(self, words=50, width=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, dropout=0.1, bidirectional=True)
        self.head = nn.Linear(2 * width, 5)

    def forward(self, tokens):
        y, (h, _) = self.lstm(self.words(tokens))
        return self.head(y), h


class Experts(nn.Module):
    """Each token is weighted over its two best experts; all experts run."""

    def __init__(self, width=24, experts=4):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList([nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            for _ in range(experts)])

    def forward(self, x):
        weight, index = self.gate(x).softmax(-1).topk(2, -1)
        share = torch.zeros(x.size(0), len(self.experts)).scatter_(1, index, weight)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out += share[:, i:i + 1] * expert(x)
        return out


class Dlrm(nn.Module):
    """Embedding bags, pairwise products, two towers."""

    def __init__(self, tables=4, width=16):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(30, width, mode="sum")
                                     for _ in range(tables)])
        self.bottom = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, width))
        self.top = nn.Sequential(nn.Linear(width + (tables + 1) * tables // 2, 16), nn.ReLU(),
                                 nn.Linear(16, 1), nn.Sigmoid())
        self.pairs = torch.triu_indices(tables + 1, tables + 1, 1)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        z = torch.stack([x] + [t(sparse[:, i]) for i, t in enumerate(self.tables)], 1)
        products = torch.bmm(z, z.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, products], 1))


class Contract(nn.Module):
    """Contractions of three operands by einsum, and a broadcast."""

    def __init__(self, width=16):
        super().__init__()
        self.left, self.right = (nn.Parameter(torch.randn(width, width)) for _ in range(2))

    def forward(self, x):
        y = torch.einsum("bnw,wv->bnv", x, self.left)
        z = torch.einsum("bnv,vw,bmw->bnm", y, self.right, x)
        return torch.einsum("bnm,bmw->bnw", z.softmax(-1), x).sum(1, keepdim=True).expand_as(x)


class Decoder(nn.Module):
    """One step of decoding: a GRU cell, then attention over a cache that grows by one."""

    def __init__(self, width=24):
        super().__init__()
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(2 * width, width)

    def forward(self, x, state, cache):
        h = self.cell(x, state)
        cache = torch.cat([cache, h.unsqueeze(1)], 1)
        scores = torch.bmm(cache, h.unsqueeze(2)).squeeze(2).softmax(1)
        context = (scores.unsqueeze(2) * cache).sum(1)
        return self.out(torch.cat([h, context], 1)), h, cache


def tokens(words, *shape):
    return torch.randint(0, words, shape)


def inception():
    return nn.Sequential(Inception(3, 6), Inception(21, 6), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(39, 10)).eval(), (torch.randn(2, 3, 24, 24),)


def resnet():
    return nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), Residual(12), Residual(12), Residual(12),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10)).eval(), (
        torch.randn(2, 3, 32, 32),)


def vit():
    return ViT(dropout=0.1).eval(), (torch.randn(2, 3, 32, 32),)


def bert():
    return Bert(dropout=0.1).eval(), (tokens(64, 2, 12),)


def llama():
    return Llama().eval(), (tokens(64, 2, 10),)


def lstm():
    return Tagger().eval(), (tokens(50, 2, 8),)


def moe():
    return Experts().eval(), (torch.randn(12, 24),)


def dlrm():
    return Dlrm().eval(), (torch.randn(6, 8), tokens(30, 6, 4, 3))


def einsum():
    return Contract().eval(), (torch.randn(2, 6, 16),)


def decode_step():
    return Decoder().eval(), (torch.randn(2, 24), torch.randn(2, 24), torch.randn(2, 7, 24))


MODELS = {f.__name__: f for f in (inception, resnet, vit, bert, llama, lstm, moe, dlrm, einsum,
                                  decode_step)}
