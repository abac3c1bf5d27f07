"""A call that would do the exercise is seen however it is reached; what may be used raises no alarm."""

import _thread
import asyncio
import concurrent.futures
import contextlib
import cProfile
import pstats
import threading
from multiprocessing.pool import ThreadPool

import pytest
import torch
import torch.nn.functional as F

from utils.exercises import exercise
from utils.grading import check
from utils.grading.watch import COSTLY, FAMILIES, MODULES, NotAllowed, watching

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


def by_transformers():
    """What GPT-2 itself computes attention with when it is told to be eager."""
    from transformers.models.gpt2.modeling_gpt2 import eager_attention_forward

    layer = torch.nn.Module()
    layer.attn_dropout = torch.nn.Dropout(0.0)
    eager_attention_forward(layer.eval(), x[None], x[None], x[None], None, scaling=0.5)


def by_transformers_activation():
    from transformers.activations import NewGELUActivation

    NewGELUActivation()(x)


def by_transformer_lens():
    from transformer_lens.utilities.activation_functions import gelu_new

    gelu_new(x)


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
    "eye or diag": {
        "torch.eye": lambda: torch.eye(4),
        "with out=": lambda: torch.eye(4, out=torch.empty(4, 4)),
        "torch.diag": lambda: torch.diag(torch.ones(4)),
        "method": lambda: torch.ones(4).diag(),
        "diag_embed": lambda: torch.diag_embed(torch.ones(4)),
        "diagflat": lambda: torch.diagflat(torch.ones(4)),
        "torch.ops": lambda: torch.ops.aten.eye(4),
        "all places compared with all": lambda: torch.arange(20_000)[:, None] == torch.arange(20_000),
        "module": lambda: torch.nn.init.eye_(torch.empty(4, 4)),
    },
    "code of transformers": {"its attention": by_transformers, "its activation": by_transformers_activation},
    "code of transformer_lens": {"its softcap": by_transformer_lens},
    "tokenizer libraries": {"GPT-2's": by_tokenizer},
}


WAYS = [(name, way) for name, ways in CALLS.items() for way in ways]


@pytest.mark.parametrize("name, way", WAYS)
def test_seen(name, way):
    with watching((name,)) as watch, pytest.raises(NotAllowed) if name in COSTLY else contextlib.nullcontext():
        CALLS[name][way]()
    assert watch.seen == [name]


def test_a_costly_call_never_begins():
    """A table of a million by a million, which no machine could hold."""
    verdict = check("02.10", lambda tokens, d_vocab: torch.eye(10**6)[tokens])
    assert verdict.stage == "allowed" and "eye" in verdict.message and "10 GB" in verdict.message


def test_a_comparison_with_the_places_of_a_row_is_no_identity():
    with watching(tuple(COSTLY)) as watch:
        _ = torch.arange(2)[:, None] == torch.arange(20_000)
        _ = torch.arange(6).reshape(2, 3)[..., None] == torch.arange(20_000)
        _ = torch.arange(4)[:, None] == torch.arange(4)
        _ = torch.arange(20_000) == 3
    assert watch.seen == []


def test_a_costly_call_is_seen_where_its_end_is_caught():
    def answer(tokens, d_vocab):
        try:
            return torch.eye(d_vocab)[tokens]
        except Exception:
            return torch.nn.functional.one_hot(tokens, d_vocab).float()

    assert check("02.10", answer).stage == "allowed"


def by_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def by_pool(call):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


def by_raw_thread(call):
    done = threading.Event()
    _thread.start_new_thread(lambda: (call(), done.set()), ())
    done.wait()


@pytest.mark.parametrize("start", [by_thread, by_pool, by_raw_thread])
@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "MultiheadAttention", "softmax", "torch.optim"])
def test_seen_in_a_thread(name, start):
    call = next(iter(CALLS[name].values()))
    with watching((name,)) as watch:
        start(call)
    assert watch.seen == [name]


def by_submit(pool, call):
    pool.submit(call).result()


def by_map(pool, call):
    list(pool.map(lambda _: call(), [0]))


def by_asyncio(pool, call):
    async def inside():
        await asyncio.get_running_loop().run_in_executor(pool, call)

    asyncio.run(inside())


HANDED = {
    "executor, submit": (concurrent.futures.ThreadPoolExecutor, by_submit),
    "executor, map": (concurrent.futures.ThreadPoolExecutor, by_map),
    "executor, asyncio": (concurrent.futures.ThreadPoolExecutor, by_asyncio),
    "pool, apply": (ThreadPool, lambda pool, call: pool.apply(call)),
    "pool, map": (ThreadPool, by_map),
    "pool, starmap": (ThreadPool, lambda pool, call: pool.starmap(call, [()])),
    "pool, imap": (ThreadPool, lambda pool, call: list(pool.imap(lambda _: call(), [0]))),
    "pool, imap_unordered": (ThreadPool, lambda pool, call: list(pool.imap_unordered(lambda _: call(), [0]))),
}


@pytest.mark.parametrize("how", HANDED)
@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "torch.optim"])
def test_seen_in_a_pool_that_an_earlier_cell_started(name, how):
    kind, hand = HANDED[how]
    with kind(1) as pool:
        by_map(pool, lambda: None)  # its thread runs
        with watching((name,)) as watch:
            hand(pool, next(iter(CALLS[name].values())))
        assert watch.seen == [name]
        with watching((name,)) as watch:
            hand(pool, lambda: x + 1)
        assert watch.seen == []


def test_threads_start_as_they_did_afterwards():
    def now():
        return threading._start_new_thread, _thread.start_new_thread, concurrent.futures.ThreadPoolExecutor.submit

    before = now()
    with watching(("softmax",)):
        assert not any(a is b for a, b in zip(before, now(), strict=True))
    assert now() == before and all(name not in vars(ThreadPool) for name in ("apply_async", "imap"))


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


def test_an_answer_is_graded_while_a_notebook_profiles_it():
    """%prun runs a cell under cProfile, whose object sys.setprofile does not take back."""
    profile = cProfile.Profile()
    assert profile.runcall(check, "08.6", exercise("08.6").solution).passed
    assert "try_answer" in {name for _, _, name in pstats.Stats(profile).stats}


def test_the_profiler_is_put_back():
    import sys

    with watching(("torch.optim",)):
        assert sys.getprofile() is not None
    assert sys.getprofile() is None
