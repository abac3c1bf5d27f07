"""A call that would do the exercise is seen however it is reached; what may be used raises no alarm."""

import pytest
import torch
import torch.nn.functional as F

from utils.grading.watch import FAMILIES, MODULES, watching

x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
my_softmax = torch.softmax
_fetched = getattr(F, "soft" + "max")


class Wrapped(torch.nn.Module):
    def forward(self, x):
        return torch.nn.Softmax(-1)(x)


def by_adam():
    p = torch.nn.Parameter(x.clone())
    p.grad = torch.ones_like(p)
    torch.optim.AdamW([p]).step()


def by_adam_function():
    from torch.optim.adamw import adamw

    p, m, v = x.clone(), torch.zeros_like(x), torch.zeros_like(x)
    numbers = dict(beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)
    adamw([p], [x], [m], [v], [], [torch.tensor(1.0)], foreach=False, **numbers)


def by_tokenizer():
    from utils.reference import tokenizer

    return tokenizer().encode("a cat")


CALLS = {
    "softmax": {
        "torch.softmax": lambda: torch.softmax(x, -1),
        "method": lambda: x.softmax(-1),
        "F.softmax": lambda: F.softmax(x, -1),
        "alias": lambda: my_softmax(x, 0),
        "getattr": lambda: _fetched(x, 0),
        "module": lambda: Wrapped()(x),
        "torch.ops": lambda: torch.ops.aten.softmax.int(x, -1),
        "torch.ops below": lambda: torch.ops.aten._softmax(x, -1, False),
        "torch.special": lambda: torch.special.softmax(x, -1),
        "vmap": lambda: torch.vmap(lambda row: row.softmax(-1))(x),
        "jit": lambda: torch.jit.trace(lambda t: t.softmax(-1), x, check_trace=False)(x),
    },
    "log_softmax": {"method": lambda: x.log_softmax(-1), "special": lambda: torch.special.log_softmax(x, -1)},
    "logsumexp": {"method": lambda: x.logsumexp(-1), "special": lambda: torch.special.logsumexp(x, -1)},
    "scaled_dot_product_attention": {
        "F": lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        "torch.ops": lambda: torch.ops.aten.scaled_dot_product_attention(x, x, x),
        "torch._C": lambda: torch._C._nn.scaled_dot_product_attention(x, x, x),
    },
    "MultiheadAttention": {
        "module": lambda: torch.nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x),
        "encoder layer": lambda: torch.nn.TransformerEncoderLayer(4, 2, batch_first=True)(x),
    },
    "layer_norm": {
        "F": lambda: F.layer_norm(x, (4,)),
        "module": lambda: torch.nn.LayerNorm(4)(x),
        "torch.ops": lambda: torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5),
    },
    "group_norm": {"F": lambda: F.group_norm(x, 1), "instance": lambda: F.instance_norm(x)},
    "batch_norm": {
        "F": lambda: F.batch_norm(x, None, None, training=True),
        "module": lambda: torch.nn.BatchNorm1d(3)(x),
    },
    "rms_norm": {"F": lambda: F.rms_norm(x, (4,)), "module": lambda: torch.nn.RMSNorm(4)(x)},
    "gelu": {"F": lambda: F.gelu(x, approximate="tanh"), "module": lambda: torch.nn.GELU()(x)},
    "cosine_similarity": {"F": lambda: F.cosine_similarity(x, x), "module": lambda: torch.nn.CosineSimilarity()(x, x)},
    "cross_entropy": {
        "F": lambda: F.cross_entropy(x[0], torch.tensor([0, 1, 2])),
        "module": lambda: torch.nn.CrossEntropyLoss()(x[0], torch.tensor([0, 1, 2])),
    },
    "nll_loss": {"F": lambda: F.nll_loss(x[0], torch.tensor([0, 1, 2]))},
    "torch.optim": {"class": by_adam, "function": by_adam_function},
    "clip_grad": {"function": lambda: torch.nn.utils.clip_grad_norm_([torch.nn.Parameter(x)], 1.0)},
    "tokenizer libraries": {"GPT-2's": by_tokenizer},
}


@pytest.mark.parametrize("name, way", [(name, way) for name, ways in CALLS.items() for way in ways])
def test_seen(name, way):
    with watching((name,)) as watch:
        CALLS[name][way]()
    assert watch.seen == [name]


def test_every_name_is_tried():
    assert set(CALLS) == set(FAMILIES) | set(MODULES)


def test_no_false_alarm():
    """Everything forbidden anywhere, and an answer that uses what it may."""
    with watching(tuple(CALLS)) as watch:
        weights = x.exp() / x.exp().sum(-1, keepdim=True)
        centered = x - x.mean(-1, keepdim=True)
        (centered / (centered.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()).tanh().sigmoid()
        torch.einsum("abc,abd->acd", weights, x).relu().norm().clamp(max=1)
        F.linear(x, x[0]), F.embedding(torch.tensor([0, 1]), x[0]), F.one_hot(torch.tensor([0, 1]))
        sorted(x.flatten().tolist()), torch.topk(x, 2), torch.gather(x, 1, torch.zeros(2, 1, 4, dtype=torch.long))
    assert watch.seen == []


def test_the_profiler_is_put_back():
    import sys

    with watching(("torch.optim",)):
        assert sys.getprofile() is not None
    assert sys.getprofile() is None
