"""GPT-2's architecture in plain torch, small, and with a table that holds only the tokens the story world uses.

The story world uses some two thousand of GPT-2's 50,257 tokens. All the others would be trained in exactly the same
way, by being pushed down, so here they share one row, and that row counts in the softmax as many times as it stands
for tokens. This is exact, and the table, the largest part of a model of this size, costs almost nothing. `export`
turns the parameters into the Hugging Face layout. Left out: dropout (the text never repeats), caching, and every
shape but GPT-2's.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Shape:
    """The sizes of the pocket model; `n_used` is how many token ids have a row of their own."""

    n_used: int
    n_ctx: int = 256
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 4
    d_vocab: int = 50257

    @property
    def n_unused(self) -> int:
        """How many tokens share the last row."""
        return self.d_vocab - self.n_used


class Attention(nn.Module):
    """Causal self-attention; the weights map a row vector, as in `x @ W_Q + b_Q`."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.n_heads = shape.n_heads
        for name in ("Q", "K", "V", "O"):
            setattr(self, f"W_{name}", nn.Parameter(torch.empty(shape.d_model, shape.d_model)))
            setattr(self, f"b_{name}", nn.Parameter(torch.zeros(shape.d_model)))

    def forward(self, x: Float[Tensor, "batch pos d_model"], mask: Float[Tensor, "pos pos"]):
        """Return what the heads add to the residual stream, and the attention pattern."""
        batch, pos, d_model = x.shape
        heads = (batch, pos, 3 * self.n_heads, d_model // self.n_heads)
        qkv = x @ torch.cat([self.W_Q, self.W_K, self.W_V], 1) + torch.cat([self.b_Q, self.b_K, self.b_V])
        q, k, v = qkv.view(heads).transpose(1, 2).chunk(3, 1)  # each [batch n_heads pos d_head]
        # Written out, because torch's fused attention is several times slower backwards in bfloat16 on a CPU.
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        pattern = torch.softmax(scores.float() + mask, -1)  # [batch n_heads query_pos key_pos]
        z = (pattern.to(v.dtype) @ v).transpose(1, 2).reshape(x.shape)
        return z @ self.W_O + self.b_O, pattern


class MLP(nn.Module):
    """One hidden layer of 4·d_model neurons with GPT-2's GELU."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.W_in = nn.Parameter(torch.empty(shape.d_model, 4 * shape.d_model))
        self.b_in = nn.Parameter(torch.zeros(4 * shape.d_model))
        self.W_out = nn.Parameter(torch.empty(4 * shape.d_model, shape.d_model))
        self.b_out = nn.Parameter(torch.zeros(shape.d_model))

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        return F.gelu(x @ self.W_in + self.b_in, approximate="tanh") @ self.W_out + self.b_out


class Block(nn.Module):
    """LayerNorm, attention, LayerNorm, MLP, each sublayer adding to the residual stream."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.ln1 = nn.LayerNorm(shape.d_model)
        self.attn = Attention(shape)
        self.ln2 = nn.LayerNorm(shape.d_model)
        self.mlp = MLP(shape)

    def forward(self, x: Float[Tensor, "batch pos d_model"], mask: Float[Tensor, "pos pos"]):
        added, pattern = self.attn(self.ln1(x), mask)
        x = x + added
        return x + self.mlp(self.ln2(x)), pattern


class Pocket(nn.Module):
    """The pocket GPT-2 over compact rows: 0 … n_used−1 are tokens, row n_used is each of the unused ones."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.W_E = nn.Parameter(torch.empty(shape.n_used + 1, shape.d_model))
        self.W_pos = nn.Parameter(torch.empty(shape.n_ctx, shape.d_model))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.n_layers))
        self.ln_final = nn.LayerNorm(shape.d_model)
        self.register_buffer("mask", torch.full((shape.n_ctx, shape.n_ctx), -torch.inf).triu(1), persistent=False)
        multiplicity = torch.zeros(shape.n_used + 1)
        multiplicity[-1] = math.log(shape.n_unused)
        self.register_buffer("log_multiplicity", multiplicity, persistent=False)

    def residuals(self, rows: Int[Tensor, "batch pos"]):
        """The residual stream before the first block and after each, and each block's attention pattern."""
        pos = rows.shape[1]
        stream, patterns = [F.embedding(rows, self.W_E) + self.W_pos[:pos]], []
        for block in self.blocks:
            x, pattern = block(stream[-1], self.mask[:pos, :pos])
            stream.append(x)
            patterns.append(pattern)
        return stream, patterns

    def unembed(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... row"]:
        """Logits; the last one is that of all unused tokens together, so that softmax is the full model's."""
        return self.ln_final(x) @ self.W_E.T + self.log_multiplicity

    def forward(self, rows: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos row"]:
        return self.unembed(self.residuals(rows)[0][-1])


# Standard deviations of the first weights; W_O and W_out are divided by √(2·n_layers) besides, as in GPT-2.
_STD = {"W_E": 0.2, "W_Q": 1 / 16, "W_K": 1 / 16, "W_V": 0.04, "W_O": 0.02, "W_in": 0.02, "W_out": 0.02}


def init_weights(model: Pocket, generator: torch.Generator) -> None:
    """Normal weights, wider than GPT-2's in three places; positions start as sines and cosines.

    GPT-2's 0.02 everywhere suits d_model = 768 and long training. Here embeddings so small drown in the stream: after
    150 steps the sum of the two had an rms of 0.05, and what each block added one of 2 to 8, so nothing after the first
    layer could see the token. With 0.2 both were 0.3. The final LayerNorm's gain starts at 0.15 (or each token would
    predict itself), W_Q and W_K with scores of about 1. W_pos is learned like everything else; starting it as
    sinusoids, for which "one position back" is a rotation, lets heads find the previous token sooner than from noise.
    """
    for name, parameter in model.named_parameters():
        last = name.rsplit(".", 1)[-1]
        if last in _STD:
            scale = math.sqrt(2 * model.shape.n_layers) if last in ("W_O", "W_out") else 1.0
            parameter.data.normal_(0, _STD[last] / scale, generator=generator)
    model.ln_final.weight.data.fill_(0.15)
    n_ctx, d_model = model.W_pos.shape
    angle = 2 * torch.arange(n_ctx)[:, None] * (1000 ** (-torch.arange(0, d_model, 2) / d_model))
    model.W_pos.data.copy_(_STD["W_E"] * math.sqrt(2) * torch.cat([angle.sin(), angle.cos()], 1))
